package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// opSlack is what an operation may take beyond the op-timeout.
const opSlack = 20 * time.Millisecond

// lockTTL is long enough that no key of a test goes away by itself.
const lockTTL = "60000"

// step is one command of a cycle, and its reply where all is well.
type step struct {
	args []string
	want string
}

// cycle is the life of one lock.
func cycle(key, token string) []step {
	return []step{
		{acquire(key, token, lockTTL), "+OK"},
		{[]string{"GET", key}, fmt.Sprintf("%q", token)},
		{extend(key, token, lockTTL), ":1"},
		{release(key, token), ":1"},
	}
}

// extending is the step of a cycle that extends.
const extending = 2

// load is some callers that work in cycles, each with a connection and keys of
// its own.
type load struct {
	callers sync.WaitGroup
	work    time.Duration // how long a lock is held before it is extended
	stop    chan struct{}
	stalled func() time.Duration

	mu        sync.Mutex
	latencies harness.Latencies
	faults    []string
}

// accept says which replies are right, other than the wanted one.
type accept func(reply string) bool

func nothingElse(string) bool { return false }

func orReleased(reply string) bool { return reply == ":0" || orNoQuorum(reply) }

func orNoQuorum(reply string) bool { return strings.HasPrefix(reply, "-NOQUORUM ") }

// startLoad lets n callers work until finish is called.
func startLoad(t *testing.T, addr string, n int, also accept) *load {
	t.Helper()
	return startHolding(t, addr, n, also, 0)
}

// startHolding is startLoad with callers that hold a lock for as long as work
// takes before they extend it.
func startHolding(t *testing.T, addr string, n int, also accept, work time.Duration) *load {
	t.Helper()
	l := &load{stop: make(chan struct{}), work: work, stalled: watchStalls(t)}
	for i := range n {
		c := dial(t, addr)
		l.callers.Go(func() { l.caller(c, fmt.Sprintf("load:%s:%d", addr, i), also) })
	}
	return l
}

func (l *load) caller(c *harness.Conn, name string, also accept) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		if err := l.cycle(c, fmt.Sprintf("%s:%d", name, i), "token of "+name, also); err != nil {
			l.fault("%s: %v", name, err)
			return
		}
	}
}

// longOutage is longer than any test keeps the masters from a quorum.
const longOutage = 30 * time.Second

// cycle takes a lock through its life. A lock of unknown state is released by
// the caller until that is answered; one that was not granted is not its
// business.
func (l *load) cycle(c *harness.Conn, key, token string, also accept) error {
	for i, s := range cycle(key, token) {
		if i == extending {
			time.Sleep(l.work)
		}
		reply, err := l.do(c, s, also)
		if err != nil {
			return err
		}
		if reply == s.want {
			continue
		}
		for begun := time.Now(); i > 0 && orNoQuorum(reply); {
			if time.Since(begun) > longOutage {
				return fmt.Errorf("%s could not be released for %v: %s", key, longOutage, reply)
			}
			// An earlier try may have worked: then this one says 0.
			if reply, err = l.do(c, step{release(key, token), ":1"}, orReleased); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// do sends one step and judges its reply.
func (l *load) do(c *harness.Conn, s step, also accept) (string, error) {
	start := time.Now()
	reply, err := c.Do(s.args...)
	l.measured(time.Since(start))
	if err == nil && reply != s.want && !also(reply) {
		l.fault("%.40q: got %s, want %s", s.args, reply, s.want)
	}
	return reply, err
}

func (l *load) measured(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies = append(l.latencies, took)
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// finish ends the load, reports wrong replies and checks that every operation
// was answered in time: op-timeout + 20 ms, plus what this machine made anybody
// wait in the meantime.
func (l *load) finish(t *testing.T) harness.Latencies {
	t.Helper()
	close(l.stop)
	l.callers.Wait()
	stall := l.stalled()
	l.report(t, stall)
	p50, worst := l.latencies.Quantile(0.5), l.latencies.Quantile(1)
	t.Logf("%d operations, p50 %v, p99 %v, longest %v; longest stall of this machine %v",
		len(l.latencies), p50, l.latencies.Quantile(0.99), worst, stall)
	if limit := inTime(stall); worst > limit {
		t.Errorf("an operation took %v, want at most %v", worst, limit)
	}
	return l.latencies
}

// watchStalls measures how long the machine makes anybody wait until the
// function it returns is called.
func watchStalls(t *testing.T) func() time.Duration {
	t.Helper()
	s, err := harness.WatchStalls(startRedis(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Duration {
		worst, err := s.Stop()
		if err != nil {
			t.Error(err)
		}
		return worst
	}
}

// inTime is the longest that an operation may take when the machine made
// others wait as long as stall: the proxy may have been hit on its way in and
// on its way out.
func inTime(stall time.Duration) time.Duration { return opTimeout + opSlack + 2*stall }

// report shows the wrong replies. If everything stood still for most of an
// op-timeout, that masters did not answer in time is no fault.
func (l *load) report(t *testing.T, stall time.Duration) {
	t.Helper()
	faults := l.faults
	if stall > opTimeout/2 {
		t.Logf("this machine stood still for %v", stall)
		faults = slices.DeleteFunc(faults, func(f string) bool { return strings.Contains(f, "no answer in") })
	}
	for i, f := range faults {
		if i == 5 {
			t.Errorf("and %d more", len(faults)-i)
			break
		}
		t.Error(f)
	}
}
