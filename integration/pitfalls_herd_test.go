package integration

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// TestAThousandPollersOfOneLock: each tries again as soon as it is told that
// the lock is held. One of them has it at a time; those that come while one is
// being answered share its round, so a master gets a tenth of what the clients
// send at most; and who wants another lock does not starve (pitfall 49).
func TestAThousandPollersOfOneLock(t *testing.T) {
	const pollers, handovers = 1000, 20
	m := startMasters(t, 3)
	p := startProxy(t, m, "--op-timeout", "1s")
	other := dial(t, p.Addr)
	before := footprintOf(t, p)
	h := herd{begin: make(chan struct{}), stop: make(chan struct{})}
	var done sync.WaitGroup
	for i := range pollers {
		c := dial(t, p.Addr)
		done.Go(func() { h.poll(c, fmt.Sprint("token ", i)) })
	}
	stalled := watchStalls(t)
	sent := executed(t, m[0], "set")
	close(h.begin)
	var others harness.Latencies
	enough := time.Now().Add(2 * time.Second)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(enough) || h.won.Load() < handovers && time.Now().Before(end); {
		start := time.Now()
		expect(t, other, "+OK", acquire("another", "mine", lockTTL)...)
		expect(t, other, ":1", release("another", "mine")...)
		others = append(others, time.Since(start))
		time.Sleep(5 * time.Millisecond)
	}
	queue, err := p.Metric("redlock_proxy_master_queue_length")
	if err != nil {
		t.Fatal(err)
	}
	before.checkBounded(t, p, pollers)
	close(h.stop)
	done.Wait()
	tries := h.tries.Load()
	sent = executed(t, m[0], "set") - sent

	t.Logf("%d tries, %d SETs at a master, %d times won, %v queued; another lock: p50 %v, longest %v",
		tries, sent, h.won.Load(), queue, others.Quantile(0.5), others.Quantile(1))
	if n := h.together.Load(); n > 0 {
		t.Errorf("two pollers had the lock at once, %d times", n)
	}
	if n := h.won.Load(); n < handovers {
		t.Errorf("the lock was won %d times, want %d", n, handovers)
	}
	if n := h.failed.Load(); n > 0 {
		t.Errorf("%d tries failed, for instance %v", n, h.fault.Load())
	}
	if limit := tries/10 + int64(4*len(others)); int64(sent) > limit {
		t.Errorf("a master executed %d SETs for %d tries", sent, tries)
	}
	// At each of three masters a try waits, and perhaps the undo of the one before.
	if queue > 3*2*pollers {
		t.Errorf("%v calls wait at the masters for %d pollers", queue, pollers)
	}
	if worst, limit := others.Quantile(1), time.Second+2*stalled(); worst > limit {
		t.Errorf("who wanted another lock waited %v, want at most %v", worst, limit)
	}
}

// herd is clients that want one lock.
type herd struct {
	begin, stop       chan struct{}
	tries, won        atomic.Int64
	failed            atomic.Int64
	fault             atomic.Value
	holding, together atomic.Int32
}

// poll tries until stop is closed, and holds the lock for a moment whenever it
// gets it.
func (h *herd) poll(c *harness.Conn, token string) {
	<-h.begin
	for {
		select {
		case <-h.stop:
			return
		default:
		}
		h.tries.Add(1)
		switch reply, err := c.Do(acquire("herd", token, lockTTL)...); {
		case err != nil || reply != "+OK" && reply != "$-1":
			h.failed.Add(1)
			h.fault.Store(fmt.Sprint(reply, err))
			return
		case reply == "+OK":
			if h.holding.Add(1) > 1 {
				h.together.Add(1)
			}
			h.won.Add(1)
			time.Sleep(work)
			h.holding.Add(-1)
			if reply, err := c.Do(release("herd", token)...); reply != ":1" {
				h.failed.Add(1)
				h.fault.Store(fmt.Sprint("release: ", reply, err))
				return
			}
		}
	}
}
