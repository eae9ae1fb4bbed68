package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// fast is what the middle operation may take while one master is gone: it is
// decided by the others, not by a timeout.
const fast = 10 * time.Millisecond

// fault is something that happens to masters, and its end.
type fault struct {
	name string
	hit  func(*harness.Redis)
	end  func(*testing.T, *harness.Redis)
}

var faults = []fault{
	{"killed", (*harness.Redis).Kill, func(*testing.T, *harness.Redis) {}},
	{"stopped", (*harness.Redis).Freeze, func(_ *testing.T, r *harness.Redis) { r.Thaw() }},
}

func TestOneMasterGoneIsNotNoticed(t *testing.T) {
	for _, n := range []int{3, 5} {
		for _, f := range faults {
			t.Run(fmt.Sprintf("1 of %d %s", n, f.name), func(t *testing.T) {
				m := startMasters(t, n)
				p := startProxy(t, m)
				load := startLoad(t, p.Addr, 8, nothingElse)
				time.Sleep(200 * time.Millisecond) // with all masters
				f.hit(m[1])
				time.Sleep(time.Second)
				f.end(t, m[1])
				time.Sleep(300 * time.Millisecond)
				if p50 := load.finish(t).Quantile(0.5); p50 > fast {
					t.Errorf("the middle operation took %v, want at most %v", p50, fast)
				}
			})
		}
	}
}

// TestNoMajorityIsAnErrorAndNeverHeld: what is unknown is not "held" (nil), not
// "free", not "extended" and not "released".
func TestNoMajorityIsAnErrorAndNeverHeld(t *testing.T) {
	for _, f := range faults {
		t.Run("2 of 3 "+f.name, func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			f.hit(m[0])
			f.hit(m[2])
			checkNoQuorum(t, c, "held", "mine")
			checkNoQuorum(t, c, "free", "mine")
			f.end(t, m[0])
			f.end(t, m[2])
		})
	}
}

// checkNoQuorum sends one of each kind of operation on key, and wants errors
// in time.
func checkNoQuorum(t *testing.T, c *harness.Conn, key, token string) {
	t.Helper()
	stalled := watchStalls(t)
	var slowest time.Duration
	for _, args := range [][]string{
		acquire(key, "rival", lockTTL), acquire(key, token, lockTTL), extend(key, token, lockTTL), release(key, token),
		{"GET", key}, {"EXISTS", key}, {"PTTL", key}, {"DEL", key}, {"PEXPIRE", key, "1000"}, {"SETNX", key, "rival"},
	} {
		start := time.Now()
		got := on(t, c, args...)
		slowest = max(slowest, time.Since(start))
		if !strings.HasPrefix(got, "-NOQUORUM ") {
			t.Errorf("%s %s: got %s, want -NOQUORUM …", args[0], key, got)
		}
	}
	if limit := inTime(stalled()); slowest > limit {
		t.Errorf("an operation on %s took %v, want at most %v", key, slowest, limit)
	}
}

// waitHeld waits until every master holds key.
func waitHeld(t *testing.T, m masters, key, value string) {
	t.Helper()
	eventually(t, soon, func() error {
		if n := m.holding(t, key, value); n != len(m) {
			return fmt.Errorf("%d of %d masters hold %q", n, len(m), key)
		}
		return nil
	})
}

func TestServiceReturnsWithTheMajority(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	waitHeld(t, m, "held", "mine")
	m[0].Freeze()
	m[1].Freeze()
	checkNoQuorum(t, c, "held", "mine")
	m[0].Thaw()
	m[1].Thaw()
	// DEL and PEXPIRE above may or may not have been executed: unknown.
	eventually(t, soon, func() error {
		if got := on(t, c, acquire("another", "mine", lockTTL)...); got != "+OK" {
			return fmt.Errorf("acquire: %s", got)
		}
		return nil
	})
	expect(t, c, ":1", release("another", "mine")...)
}

// TestNoOrphansAfterStops: SIGSTOP and SIGCONT under load leave nothing behind,
// as late commands are followed by their release (pitfall 15). Where callers hold
// their locks for a while, a stopped master misses an extend and a release of a
// copy that it has made long before.
func TestNoOrphansAfterStops(t *testing.T) {
	for _, test := range []struct {
		stopped int // of 3
		work    time.Duration
		also    accept
	}{{1, 0, nothingElse}, {1, 60 * time.Millisecond, nothingElse}, {2, 0, orNoQuorum}} {
		t.Run(fmt.Sprintf("%d of 3 stopped, locks held for %v", test.stopped, test.work), func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m)
			load := startHolding(t, p.Addr, 16, test.also, test.work)
			for range 4 {
				for _, r := range m[:test.stopped] {
					r.Freeze()
				}
				time.Sleep(opTimeout + 100*time.Millisecond)
				for _, r := range m[:test.stopped] {
					r.Thaw()
				}
				time.Sleep(200 * time.Millisecond)
			}
			load.finish(t)
			m.waitEmpty(t, soon)
		})
	}
}

// TestStopUnderManyOperations: a stopped master with thousands of operations
// in flight holds nobody up and costs no goroutines (pitfall 36).
func TestStopUnderManyOperations(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	before, err := p.Metric("go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	const conns, each = 10, 500
	m[2].Freeze()
	defer m[2].Thaw()
	done := make(chan error, conns)
	for i := range conns {
		c := dial(t, p.Addr)
		for j := range each {
			c.Queue(acquire(fmt.Sprintf("%d:%d", i, j), "t", "5000")...)
		}
		go func() { done <- sendAndCount(c, each, "+OK") }()
	}
	for range conns {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	after, err := p.Metric("go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	// A connection has its own goroutines, an operation has none.
	if limit := before + 4*conns + 20; after > limit {
		t.Errorf("%v goroutines after %d operations, want at most %v", after, conns*each, limit)
	}
}

// sendAndCount sends what was queued while it reads n replies, all to be want.
func sendAndCount(c *harness.Conn, n int, want string) error {
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush() }()
	for i := range n {
		got, err := c.Read()
		if err != nil {
			return fmt.Errorf("reply %d: %w", i, err)
		}
		if got != want {
			return fmt.Errorf("reply %d: got %s, want %s", i, got, want)
		}
	}
	return <-flushed
}
