package integration

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// change is REDLOCK MASTERS.
func change(t *testing.T, addr string, words ...string) {
	t.Helper()
	reply := do(t, addr, append([]string{"REDLOCK", "MASTERS"}, words...)...)
	if strings.HasPrefix(reply, "-") {
		t.Fatalf("REDLOCK MASTERS %q: %s", words, reply)
	}
	t.Logf("REDLOCK MASTERS %q: %s", words, reply)
}

// TestTheSetOfMastersChangesUnderLoad: from three masters to five, a dead one
// replaced, and back to three others, while two proxies are at work and a lock
// is held all the time.
func TestTheSetOfMastersChangesUnderLoad(t *testing.T) {
	m := startMasters(t, 6)
	first := startProxy(t, m[:3]) // of three
	expect(t, dial(t, first.Addr), "+OK", acquire("held", "mine", lockTTL)...)
	first.Kill()

	p, other := startProxy(t, m), startProxy(t, m) // which know them all
	var unknown atomic.Int64                       // operations that a change met half-way
	count := func(reply string) bool {
		if orNoQuorum(reply) {
			unknown.Add(1)
		}
		return orReleased(reply)
	}
	loads := []*load{startLoad(t, p.Addr, 4, count), startLoad(t, other.Addr, 4, count)}
	check := func(size int) {
		t.Helper()
		for _, addr := range []string{p.Addr, other.Addr} {
			waitSize(t, addr, size)
			c := dial(t, addr)
			expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
			expect(t, c, `"mine"`, "GET", "held")
			expect(t, c, ":1", extend("held", "mine", lockTTL)...)
		}
	}
	check(3)
	change(t, p.Addr, "ADD", m[3].Addr())
	check(4)
	change(t, other.Addr, "ADD", m[4].Addr())
	check(5)
	m[0].Kill()
	change(t, p.Addr, "REPLACE", m[0].Addr(), m[5].Addr())
	check(5)
	change(t, other.Addr, "REMOVE", m[1].Addr())
	check(4)
	change(t, p.Addr, "REMOVE", m[2].Addr())
	check(3)
	m[1].Kill()
	m[2].Kill()
	check(3)
	operations := 0
	for _, l := range loads {
		operations += len(l.finish(t))
	}
	t.Logf("%d of %d operations met a change and were answered NOQUORUM", unknown.Load(), operations)
	if int(unknown.Load()) > operations/100 {
		t.Error("that is more than one in a hundred")
	}

	last := startProxy(t, masters{m[5], m[4], m[3]})
	c := dial(t, last.Addr)
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}

// waitSize waits until a proxy counts so many masters, and a quorum of them
// votes.
func waitSize(t *testing.T, addr string, size int) {
	t.Helper()
	need := fmt.Sprintf("quorum:%d", size/2+1)
	eventually(t, soon, func() error {
		info := do(t, addr, "INFO", "redlock")
		if !strings.Contains(info, need) || strings.Count(info, "votes=1,") < size-1 {
			return fmt.Errorf("INFO says %s", info)
		}
		return nil
	})
}
