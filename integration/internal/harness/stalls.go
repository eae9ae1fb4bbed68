package harness

import (
	"sync/atomic"
	"time"
)

// Stalls measures how long this machine makes anybody wait: what a latency
// measured in the same time cannot be blamed for. It wakes up every
// millisecond and sends PING to a server that has nothing else to do.
type Stalls struct {
	worst atomic.Int64
	stop  chan struct{}
	done  chan error
}

// WatchStalls starts the measurement with an idle redis-server.
func WatchStalls(idle string) (*Stalls, error) {
	c, err := Dial(idle)
	if err != nil {
		return nil, err
	}
	s := &Stalls{stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		defer c.Close()
		s.done <- s.run(c)
	}()
	return s, nil
}

func (s *Stalls) run(c *Conn) error {
	const step = time.Millisecond
	for last := time.Now(); ; {
		select {
		case <-s.stop:
			return nil
		case <-time.After(step):
		}
		if _, err := c.Do("PING"); err != nil {
			return err
		}
		now := time.Now()
		s.worst.Store(max(s.worst.Load(), int64(now.Sub(last)-step)))
		last = now
	}
}

// Stop ends the measurement and returns the longest stall.
func (s *Stalls) Stop() (time.Duration, error) {
	close(s.stop)
	err := <-s.done
	return time.Duration(s.worst.Load()), err
}
