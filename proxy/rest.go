package proxy

import "time"

// restAfter is how long a connection has to be silent for its reader to rest.
const restAfter = 3 * time.Second

const (
	restTogether = 16 // readers that are woken at once; each costs some 15 µs
	restPause    = time.Millisecond
)

// rest makes the readers of silent connections go on waiting in new goroutines.
// A goroutine begins with a stack of 2 KB, which is just enough to wait. To serve
// a command takes 4 KB, and of those Go gives nothing back: it halves a stack of
// which less than a quarter is used, and there a reserve of 800 bytes counts.
//
// Each reader that is woken has served a command since the last time.
func (s *Server) rest() {
	now, woken := time.Now(), 0
	for _, sess := range s.list() {
		if !sess.grown.Load() || sess.silence(now) < restAfter {
			continue
		}
		sess.rest()
		if woken++; woken%restTogether == 0 {
			time.Sleep(restPause) // who does have something to do comes first
		}
	}
}

// rest wakes the reader, unless it has ended: then [session.linger] may be reading.
func (s *session) rest() {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if !s.line.ended {
		s.grown.Store(false)
		s.conn.Wake()
	}
}

// silence is how long ago the last command arrived.
func (c *client) silence(now time.Time) time.Duration {
	return now.Sub(c.created) - time.Duration(c.lastSeen.Load())
}
