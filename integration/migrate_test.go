package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"

	"redlock-proxy/integration/internal/harness"
)

// duel is many callers of one lock, of which one at a time may have it.
type duel struct {
	inside, most, taken atomic.Int32
	stop                chan struct{}
	callers             sync.WaitGroup
}

// join adds a caller who takes the lock by one mutex after the other, until stop.
func (r *duel) join(mutex func() *redsync.Mutex) {
	r.callers.Go(func() {
		for {
			select {
			case <-r.stop:
				return
			default:
			}
			m := mutex()
			if m.TryLock() != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			if n := r.inside.Add(1); n > r.most.Load() {
				r.most.Store(n)
			}
			r.taken.Add(1)
			time.Sleep(time.Millisecond)
			r.inside.Add(-1)
			m.Unlock()
			time.Sleep(2 * time.Millisecond) // let others have it
		}
	})
}

func (r *duel) finish(t *testing.T) {
	t.Helper()
	close(r.stop)
	r.callers.Wait()
	t.Logf("the lock was taken %d times", r.taken.Load())
	if r.most.Load() != 1 {
		t.Errorf("%d callers had the lock at a time", r.most.Load())
	}
}

// mutexes makes new mutexes of one lock over these servers.
func mutexes(t *testing.T, addrs ...string) func() *redsync.Mutex {
	var pools []redis.Pool
	for _, addr := range addrs {
		pools = append(pools, redsyncPools["go-redis"](t, addr))
	}
	rs := redsync.New(pools...)
	return func() *redsync.Mutex {
		return rs.NewMutex("migrating", redsync.WithTries(1), redsync.WithExpiry(30*time.Second))
	}
}

// TestMigrationFromASingleRedis goes the way of integration/deploy/README.md:
// clients of the old Redis and of the proxy exclude each other all the time.
func TestMigrationFromASingleRedis(t *testing.T) {
	old := startRedis(t)
	do(t, old.Addr(), acquire("direct", "mine", lockTTL)...)
	m := startMasters(t, 3)
	r := &duel{stop: make(chan struct{})}
	for range 3 {
		r.join(mutexes(t, old.Addr()))
	}
	before := startUnreadyProxy(t, []string{old.Addr(), m[0].Addr()}) // both are needed
	waitStanding(t, before.Addr, old, "REDLOCK ADMIT ALL")
	admit(t, before.Addr, "ALL")
	if err := before.WaitReady(soon); err != nil {
		t.Fatal(err)
	}
	moved := mutexes(t, before.Addr)
	for range 3 {
		r.join(moved)
	}
	time.Sleep(300 * time.Millisecond) // both kinds are at it
	r.finish(t)
	c := dial(t, before.Addr)
	expect(t, c, "$-1", acquire("direct", "rival", lockTTL)...)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)

	// Nobody uses the old one directly any more: it gets company, and leaves.
	do(t, old.Addr(), release("direct", "mine")...)
	before.Kill()
	p := startProxyOn(t, append([]string{old.Addr()}, m.addrs()...))
	r = &duel{stop: make(chan struct{})}
	for range 3 {
		r.join(mutexes(t, p.Addr))
	}
	for _, change := range [][]string{{"ADD", m[1].Addr()}, {"REPLACE", old.Addr(), m[2].Addr()}} {
		changeMasters(t, p, change...)
	}
	r.finish(t)
	old.Kill()
	c = dial(t, p.Addr)
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}

// changeMasters says REDLOCK MASTERS and waits until all vote that are in the
// set then.
func changeMasters(t *testing.T, p *harness.Proxy, change ...string) {
	t.Helper()
	if got := do(t, p.Addr, append([]string{"REDLOCK", "MASTERS"}, change...)...); strings.HasPrefix(got, "-") {
		t.Fatalf("REDLOCK MASTERS %q: %s", change, got)
	}
	added := change[len(change)-1]
	eventually(t, 10*time.Second, func() error {
		page := do(t, p.Addr, "REDLOCK", "STATUS")
		for line := range strings.SplitSeq(strings.ReplaceAll(page, `\n`, "\n"), "\n") {
			if strings.Contains(line, added) && strings.Contains(line, "votes") && !strings.Contains(line, "does not") {
				return nil
			}
		}
		return fmt.Errorf("%s does not vote:\n%s", added, page)
	})
}

// TestMigrationFromARedlockLibrary: clients that ask the masters themselves and
// clients of a proxy over the same masters exclude each other.
func TestMigrationFromARedlockLibrary(t *testing.T) {
	m := startMasters(t, 3)
	library := mutexes(t, m.addrs()...)
	held := library()
	if err := held.LockContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := startUnreadyProxy(t, m.addrs())
	waitStanding(t, p.Addr, m[0], "REDLOCK ADMIT ALL")
	admit(t, p.Addr, "ALL") // they hold locks already
	if err := p.WaitReady(soon); err != nil {
		t.Fatal(err)
	}
	moved := mutexes(t, p.Addr)
	if moved().TryLock() == nil {
		t.Fatal("a lock that the library holds was granted by the proxy")
	}
	if ok, err := held.Unlock(); !ok || err != nil {
		t.Fatalf("unlock: %v, %v", ok, err)
	}
	r := &duel{stop: make(chan struct{})}
	for range 3 {
		r.join(library)
		r.join(moved)
	}
	time.Sleep(time.Second)
	r.finish(t)
}
