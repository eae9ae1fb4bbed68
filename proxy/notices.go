package proxy

import (
	"net"
	"sync"
	"time"
)

// notices keeps the log short where anybody who can connect could fill it: what
// clients of one address cause is said once a minute. The rest is counted, and
// told with the next line. Its zero value is empty.
type notices struct {
	mu   sync.Mutex
	said map[notice]*tally
}

// notice is something that may be said of an address.
type notice struct {
	why  cut
	host string
}

type tally struct {
	said time.Time
	more uint64 // that were not told since
}

const (
	noticePause = time.Minute
	maxNotices  = 100 // addresses that are told apart
)

// due reports whether something is to be said now, and how often it was not
// since the last time.
func (n *notices) due(why cut, addr string, now time.Time) (more uint64, due bool) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr // a Unix socket
	}
	key := notice{why, host}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.said[key]
	switch {
	case t == nil && len(n.said) >= maxNotices && !n.forget(now):
		return 0, false
	case t == nil:
		t = new(tally)
	case now.Sub(t.said) < noticePause:
		t.more++
		return 0, false
	}
	if n.said == nil {
		n.said = map[notice]*tally{}
	}
	n.said[key] = &tally{said: now}
	return t.more, true
}

// forget makes room for other addresses, and reports whether it could.
func (n *notices) forget(now time.Time) bool {
	for key, t := range n.said {
		if now.Sub(t.said) >= noticePause {
			delete(n.said, key)
		}
	}
	return len(n.said) < maxNotices
}
