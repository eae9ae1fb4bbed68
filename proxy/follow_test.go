package proxy

import (
	"sync/atomic"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// handClock is a clock that is set by hand.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() time.Duration              { return time.Duration(c.now.Load()) }
func (c *handClock) AfterFunc(time.Duration, func()) {}

// heldMaster keeps what it is sent until the test answers it.
type heldMaster chan *redlock.Call

func (heldMaster) Name() string { return "held" }
func (heldMaster) Down() string { return "" }

func (m heldMaster) Send(c *redlock.Call) bool {
	m <- c
	return true
}

// answer applies a call to an empty key, and counts in sets if that sets it.
func (m heldMaster) answer(c *redlock.Call, sets *atomic.Int32) {
	set := c.Table.Absent.Effect == redlock.Set
	if set {
		sets.Add(1)
	}
	c.Deliver(redlock.Answer{Status: redlock.Answered, Votes: true, Applied: set})
}

func TestLateGrantIsTriedAgainUnlessItIsFollowed(t *testing.T) {
	for _, test := range []struct {
		name     string
		commands []string
		sets     int32
		replies  []string
	}{
		{"alone", []string{"SET k a NX PX 100"}, 2, []string{"+OK"}},
		{"another key behind it", []string{"SET k a NX PX 100", "EXISTS other"}, 2, []string{"+OK", ":0"}},
		{"the same key behind it", []string{"SET k a NX PX 100", "EXISTS k"}, 1, []string{
			"-NOQUORUM too slow: 1 of 1 masters agreed, but only after 30ms, which is too late to promise anything. Look at the masters' latency, or raise --op-timeout", ":0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock, master := &handClock{}, make(heldMaster, 64)
			q := redlock.New(redlock.Config{Masters: []redlock.Master{master}, OpTimeout: 50 * time.Millisecond, Clock: clock})
			_, addr := serveAny(t, Config{}, q)
			c := dial(t, addr)
			c.send(test.commands...)
			var calls []*redlock.Call
			for range test.commands {
				calls = append(calls, <-master)
			}
			clock.now.Store(int64(30 * time.Millisecond)) // too late for a TTL of 100 ms
			var sets atomic.Int32
			go func() {
				for _, call := range calls {
					master.answer(call, &sets)
				}
				for {
					select {
					case call := <-master:
						master.answer(call, &sets)
					case <-t.Context().Done():
						return
					}
				}
			}()
			c.want(test.replies...)
			if n := sets.Load(); n != test.sets {
				t.Errorf("the master was asked to set the key %d times, want %d", n, test.sets)
			}
		})
	}
}
