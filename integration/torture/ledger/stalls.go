package ledger

import (
	"sync"
	"time"
)

// stalls are the times when this machine kept everybody waiting, as far as one
// thread can tell that wakes up all the time.
type stalls struct {
	mu    sync.Mutex
	spans []span
	woken time.Duration
}

const (
	stallStep  = 2 * time.Millisecond
	stallLimit = Tolerance / 2
)

func (s *stalls) watch(l *Ledger) {
	for last := l.Now(); ; {
		time.Sleep(stallStep)
		now := l.Now()
		s.mu.Lock()
		s.woken = now
		if now-last > stallStep+stallLimit {
			s.spans = append(s.spans, span{last, now})
		}
		s.mu.Unlock()
		last = now
	}
}

// during reports whether there was a stall at some time between from and to, or
// may just be one.
func (s *stalls) during(from, to time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to-s.woken > stallStep+stallLimit {
		return true
	}
	for i := len(s.spans) - 1; i >= 0 && s.spans[i].to >= from; i-- {
		if s.spans[i].from <= to {
			return true
		}
	}
	return false
}
