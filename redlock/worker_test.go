package redlock

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startMany begins swaps at once, from one goroutine, and returns the outcomes
// in their order.
func startMany(t *testing.T, c *Cluster, deadline time.Duration, swaps ...Swap) []Outcome {
	t.Helper()
	q, err := c.DB(0)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	ops := make([]Op, len(swaps))
	done.Add(len(ops))
	for i := range ops {
		ops[i].Swap = swaps[i]
		ops[i].Ordered = true // as of one connection
		ops[i].Done = func(*Op) { done.Done() }
		q.Start(&ops[i], q.Now()+deadline)
	}
	done.Wait()
	outcomes := make([]Outcome, len(ops))
	for i := range ops {
		outcomes[i] = ops[i].Outcome
		q.Settle(&ops[i])
	}
	return outcomes
}

func TestWorkersKeepTheOrderOfAKey(t *testing.T) {
	c := openCluster(t, startServers(t, 3)...)
	awaitVoters(t, c, "123", "")
	var swaps []Swap
	for i := range 1500 {
		token := fmt.Sprint("token-", i)
		swaps = append(swaps, lockSwap("k", token), unlockSwap("k", token))
	}
	for i, out := range startMany(t, c, 5*time.Second, swaps...) {
		if out.Err != nil || !out.Applied {
			t.Fatalf("operation %d: %+v", i, out)
		}
	}
}

func TestQueuesAreBounded(t *testing.T) {
	u := &upstream{clock: SystemClock(), link: newLink(0), count: make(tallyOfFailures), wire: &wire{}}
	u.worker = newWorker(u) // not running
	u.link.admit(u.link.opened(life1, 0, 0, ends(0)), 1, "", 0)
	call := &Call{Table: &Swap{Key: []byte("k")}}
	for i := range queueLimit {
		if !u.Send(call) {
			t.Fatalf("call %d was refused", i)
		}
	}
	if u.Send(call) {
		t.Error("a call was taken past the limit")
	}
	if got := u.Down(); got != "queue full" {
		t.Errorf("Down says %q", got)
	}
	if r := u.report(); r.Queue != queueLimit || r.Failures["queue full"] != 1 {
		t.Errorf("queue %d, failures %v", r.Queue, r.Failures)
	}
}

func TestCallsPastTheirDeadlineAreNotSent(t *testing.T) {
	s := startServer(t)
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	s.signal(syscall.SIGSTOP)
	// One batch per worker is on its way, the rest waits behind it.
	swaps := make([]Swap, 200)
	for i := range swaps {
		swaps[i] = lockSwap(fmt.Sprint("first-", i), "t")
	}
	startMany(t, c, 50*time.Millisecond, swaps...)
	late := lockSwap("late", "t")
	startMany(t, c, 50*time.Millisecond, late)
	s.signal(syscall.SIGCONT)
	awaitVoters(t, c, "1", "")
	mustCycle(t, c)
	if got := s.must("EXISTS late"); got != ":0" {
		t.Error("a call was sent after its deadline")
	}
}

func TestWorkerDeliversWhatExpiresWhileItIsHeldUp(t *testing.T) {
	s := startServer(t)
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	s.signal(syscall.SIGSTOP)
	defer s.signal(syscall.SIGCONT)
	startMany(t, c, 20*time.Millisecond, lockSwap("a", "t"), lockSwap("b", "t"), lockSwap("c", "t"), lockSwap("d", "t"))
	swaps := make([]Swap, 1000)
	for i := range swaps {
		swaps[i] = lockSwap(fmt.Sprint(i), "t")
	}
	startMany(t, c, 20*time.Millisecond, swaps...)
	await(t, "the queue is empty before the connection is given up", func() bool {
		r := c.Report()[0]
		if r.State == "down" {
			t.Fatal("too late")
		}
		return r.Queue == 0
	})
}

func TestLargeBatchesStayOnOneConnection(t *testing.T) {
	s := startServer(t)
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	swaps := make([]Swap, 12000)
	for i := range swaps {
		swaps[i] = lockSwap(fmt.Sprint(i), "t")
	}
	for i, out := range startMany(t, c, 10*time.Second, swaps...) {
		if out.Err != nil || !out.Applied {
			t.Fatalf("operation %d: %+v", i, out)
		}
	}
	list, _ := do(t, s.client(), "CLIENT", "LIST").ToString()
	if n := strings.Count(list, "name=redlock-proxy"); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// rueidis gives up a batch when reading fails, while it may still be writing
// it; the process must survive that.
func TestConnectionLostInTheMiddleOfWritingABatch(t *testing.T) {
	s := startServer(t)
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	large := strings.Repeat("x", 256<<10)
	for round := range 5 {
		s.signal(syscall.SIGSTOP)
		swaps := make([]Swap, 400)
		for i := range swaps {
			swaps[i] = lockSwap(fmt.Sprint(round, i), large)
		}
		for _, out := range startMany(t, c, 20*time.Millisecond, swaps...) {
			if out.Err == nil {
				t.Fatal("a stopped master granted a lock")
			}
		}
		u := c.databases[0].steward.ups[0]
		old, _ := u.connection()
		old.lose("test")
		s.signal(syscall.SIGCONT)
		await(t, "there is a new connection", func() bool {
			conn, _ := u.connection()
			return conn != nil && conn != old
		})
	}
	awaitVoters(t, c, "1", "")
	mustCycle(t, c)
}

func TestAScriptThatMastersForgotIsLoadedAgainAtOnce(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	for range 3 {
		for _, s := range servers {
			do(t, s.client(), "SCRIPT", "FLUSH")
		}
		for _, keys := range []int{1, 2 * combineFrom} {
			var swaps []Swap
			for i := range keys {
				swaps = append(swaps, lockSwap(fmt.Sprint(i), "a"))
			}
			for i := range keys {
				swaps = append(swaps, unlockSwap(fmt.Sprint(i), "a"))
			}
			for i, out := range startMany(t, c, 5*time.Second, swaps...) {
				if out.Err != nil || !out.Applied {
					t.Fatalf("operation %d of %d: %+v", i, len(swaps), out)
				}
			}
			for _, s := range servers {
				do(t, s.client(), "SCRIPT", "FLUSH")
			}
		}
	}
}

// TestALateReleaseIsVoidHoweverLittleIsKnownOfTheClock: within two op timeouts
// after it began, which clients are told to wait before they use its token again.
func TestALateReleaseIsVoidHoweverLittleIsKnownOfTheClock(t *testing.T) {
	const opTimeout, offset = 50 * time.Millisecond, time.Hour
	u := &upstream{clock: SystemClock(), link: newLink(0), shape: electorate{opTimeout: opTimeout.Milliseconds()}, count: make(tallyOfFailures)}
	u.link.admit(u.link.opened(life1, 0, 800*time.Millisecond, ends(offset+400*time.Millisecond)), 1, "", 0)
	e := encoder{}
	e.offset, e.ppm, _ = u.present()
	swap := unlockSwap("k", "t")
	started := time.Second
	limit, _ := strconv.ParseInt(e.notAfter(&Call{Table: &swap, Deadline: started + opTimeout}), 10, 64)
	latest := time.Duration(limit) * time.Millisecond // on the master's clock, which may be as far behind as it can
	began := time.Duration(ends(offset-400*time.Millisecond).timeMicros)*time.Microsecond + started
	if latest > began+2*opTimeout || latest < began {
		t.Errorf("it may be executed %v after it began", latest-began)
	}
}
