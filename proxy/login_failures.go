package proxy

import (
	"net"
	"sync"
	"time"
)

// How long a client waits for the answer to a wrong password: longer with each
// one that comes from its host, until none has for a while.
const (
	firstDelay    = 100 * time.Millisecond
	longestDelay  = 3 * time.Second
	failureMemory = time.Minute
	maxFailures   = 4096 // hosts to remember
)

// loginFailures remembers from where wrong passwords came. Its zero value is
// empty.
type loginFailures struct {
	mu    sync.Mutex
	hosts map[string]loginFailure
	log   window
}

type loginFailure struct {
	delay time.Duration // after the last one
	at    time.Time
}

// note notes a wrong password, and returns how long its sender is to wait.
func (f *loginFailures) note(addr string, now time.Time) time.Duration {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.hosts[host]
	if !known {
		f.makeRoom(now)
	}
	delay := firstDelay
	if known && now.Sub(last.at) < failureMemory {
		delay = min(2*last.delay, longestDelay)
	}
	f.hosts[host] = loginFailure{delay, now}
	return delay
}

// makeRoom forgets hosts that have been silent for a while, and all if there are
// too many of the others.
func (f *loginFailures) makeRoom(now time.Time) {
	if f.hosts != nil && len(f.hosts) < maxFailures {
		return
	}
	kept := map[string]loginFailure{}
	for host, last := range f.hosts {
		if now.Sub(last.at) < failureMemory {
			kept[host] = last
		}
	}
	if len(kept) >= maxFailures {
		clear(kept)
	}
	f.hosts = kept
}

// delayRefusal answers a wrong password later. Only this connection waits: its
// reader is nobody else's. Neither the name that was tried nor the password is
// logged: people mistake one for the other.
func (s *session) delayRefusal(sl *slot, reply []byte) {
	s.refused = false
	failures := &s.srv.loginFailures
	if hidden, ok := failures.log.open(s.now); ok {
		s.srv.cfg.Logger.Warn("a client gave a wrong user or password", "client", s.addr, "not_logged", hidden)
	}
	delay := failures.note(s.addr, s.now)
	sl.reply = reply
	if !s.publish() {
		return
	}
	select {
	case <-time.After(delay):
	case <-s.srv.ctx.Done():
	}
	s.completed(sl)
}
