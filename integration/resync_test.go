package integration

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// TestManyLocksAreResynchronisedWithoutAStall: a master comes back empty while
// 100,000 locks are held. It has them all again soon, with all of their time,
// and meanwhile nobody waits longer for a lock than before.
func TestManyLocksAreResynchronisedWithoutAStall(t *testing.T) {
	const held = 100_000
	m := startMasters(t, 3)
	t.Cleanup(func() { // or each key is looked at once more
		for _, r := range m {
			do(t, r.Addr(), "FLUSHALL")
		}
	})
	p := startProxy(t, m)
	begun := time.Now()
	takeMany(t, p.Addr, held)
	taking := time.Since(begun)
	load := startPacedLoad(t, p.Addr)
	time.Sleep(2 * time.Second)

	stalled, restart := watchStalls(t), time.Now()
	if err := m[2].Restart(); err != nil {
		t.Fatal(err)
	}
	up := time.Now()
	waitStanding(t, p.Addr, m[2], "restarted without its data")
	eventually(t, 10*time.Second, func() error {
		if got := standing(t, p.Addr, m[2]); got != "votes" {
			return fmt.Errorf("INFO says of %s: %q", m[2].Addr(), got)
		}
		return nil
	})
	back := time.Now()
	time.Sleep(200 * time.Millisecond)
	stall := stalled()
	load.finish(t)
	t.Logf("before: %v", summary(load.between(time.Time{}, restart)))
	t.Logf("during: %v", summary(load.between(restart, back)))
	took := back.Sub(up)
	t.Logf("the master votes again after %v; taking these locks took %v", took, taking)
	// A slower machine is known by how long it took to take them.
	if want := max(3*time.Second, 3*taking); took > want && stall < 20*time.Millisecond {
		t.Errorf("the master votes again after %v, want at most %v", took, want)
	}
	checkHeld(t, m, held)
}

// lockName and lockToken belong to one of many locks.
func lockName(i int) string  { return fmt.Sprintf("many:%d", i) }
func lockToken(i int) string { return fmt.Sprintf("token-%032d", i) }

// takeMany takes n locks with TTLs from one to eleven minutes, by pipelines.
func takeMany(t *testing.T, addr string, n int) {
	t.Helper()
	const pipelines = 4
	var all sync.WaitGroup
	missed := make(chan int, n)
	for first := range pipelines {
		c := dial(t, addr)
		sent := make(chan int, 256) // what waits for its reply
		all.Go(func() {
			defer close(sent)
			for i := first; i < n; i += pipelines {
				c.Queue(takeOne(i)...)
				if len(sent) == cap(sent) || i+pipelines >= n {
					if err := c.Flush(); err != nil {
						t.Error(err)
						return
					}
				}
				sent <- i
			}
		})
		all.Go(func() {
			for i := range sent {
				got, err := c.Read()
				if orNoQuorum(got) {
					missed <- i
				} else if err != nil || got != "+OK" {
					t.Errorf("lock %d: %s, error %v", i, got, err)
				}
			}
		})
	}
	all.Wait()
	close(missed)
	c := dial(t, addr)
	for i := range missed { // the machine stood still for an op-timeout
		expect(t, c, "+OK", takeOne(i)...)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func takeOne(i int) []string {
	return acquire(lockName(i), lockToken(i), strconv.Itoa(60_000+i%600*1000))
}

// copyOf is what a master holds of a lock: its value and the end of its time.
type copyOf struct {
	value string
	until int64 // PEXPIRETIME, milliseconds; all masters run on one clock
}

// copiesOf reads many locks on a master.
func copiesOf(t *testing.T, r *harness.Redis, n int) []copyOf {
	t.Helper()
	c := dialDB(t, r, 0)
	defer c.Close()
	copies := make([]copyOf, 0, n)
	for len(copies) < n {
		from, to := len(copies), min(len(copies)+1000, n)
		for i := from; i < to; i++ {
			c.Queue("GET", lockName(i))
			c.Queue("PEXPIRETIME", lockName(i))
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for range to - from {
			value, err1 := c.Read()
			until, err2 := c.Read()
			at, err3 := strconv.ParseInt(strings.TrimPrefix(until, ":"), 10, 64)
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			copies = append(copies, copyOf{value, at})
		}
	}
	return copies
}

// checkHeld checks that the last master, which was resynchronised, holds n locks
// with their values and no less time than any of the others, and not much more;
// and that each is held by some other, too.
func checkHeld(t *testing.T, m masters, n int) {
	t.Helper()
	last := copiesOf(t, m[len(m)-1], n)
	until := make([]int64, n) // the furthest of the others
	for _, r := range m[:len(m)-1] {
		for i, c := range copiesOf(t, r, n) {
			if c.value == last[i].value {
				until[i] = max(until[i], c.until)
			}
		}
	}
	wrong := 0
	for i, c := range last {
		if c.value == strconv.Quote(lockToken(i)) && until[i] > 0 && c.until >= until[i] && c.until <= until[i]+10_000 {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("lock %d: the restarted master holds %+v, the others until %d", i, c, until[i])
		}
	}
	if wrong > 5 {
		t.Errorf("and %d more", wrong-5)
	}
}

// pacedLoad is a steady load far below what the proxy can do: so what it waits
// for is something else.
type pacedLoad struct {
	load
	taken []sample
}

type sample struct {
	at   time.Time
	took time.Duration
}

const (
	pacedCallers = 4
	pace         = 10 * time.Millisecond // of the cycles of one caller
)

func startPacedLoad(t *testing.T, addr string) *pacedLoad {
	t.Helper()
	l := &pacedLoad{load: load{stop: make(chan struct{}), stalled: watchStalls(t)}}
	for i := range pacedCallers {
		c := dial(t, addr)
		l.callers.Go(func() { l.caller(c, fmt.Sprintf("paced:%d", i)) })
	}
	return l
}

func (l *pacedLoad) caller(c *harness.Conn, name string) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		key := fmt.Sprintf("%s:%d", name, i)
		for _, s := range []step{{acquire(key, name, lockTTL), "+OK"}, {release(key, name), ":1"}} {
			start := time.Now()
			if _, err := l.do(c, s, nothingElse); err != nil {
				l.fault("%s: %v", name, err)
				return
			}
			l.mu.Lock()
			l.taken = append(l.taken, sample{start, time.Since(start)})
			l.mu.Unlock()
		}
	}
}

// between are the latencies of operations that began within a time.
func (l *pacedLoad) between(from, to time.Time) (found harness.Latencies) {
	for _, s := range l.taken {
		if !s.at.Before(from) && s.at.Before(to) {
			found = append(found, s.took)
		}
	}
	return found
}

func summary(l harness.Latencies) string {
	return fmt.Sprintf("%d operations, p50 %v, p99 %v, longest %v", len(l), l.Quantile(0.5), l.Quantile(0.99), l.Quantile(1))
}
