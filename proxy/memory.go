package proxy

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
)

// memory is what the buffers of all connections hold together: commands that
// are not whole, commands and replies in the lines, messages, and transactions.
// Each connection counts to some 16 KiB exact, so most count for nothing.
type memory struct {
	held     atomic.Int64
	evicting atomic.Bool
}

var errEvicted = errors.New("too much memory in use")

// weightStep is how exact the weight of a connection is.
const weightStep = 16 << 10

// holds notes that connections hold so much more, or less. With more than
// Config.MaxMemory in all, those that hold most are cut off.
func (s *Server) holds(delta int) {
	held, limit := s.memory.held.Add(int64(delta)), int64(s.cfg.MaxMemory)
	s.cfg.Metrics.holds(held)
	if held > limit && limit > 0 && delta > 0 && s.memory.evicting.CompareAndSwap(false, true) {
		go s.evict(limit)
	}
}

// evict cuts off the connections that hold most, until the others are within
// the limit. As in Redis, they are told nothing.
func (s *Server) evict(limit int64) {
	defer s.memory.evicting.Store(false)
	type held struct {
		sess  *session
		bytes int64
	}
	var all []held
	total := int64(0)
	for _, sess := range s.list() {
		if n := sess.weight(); n > 0 {
			all = append(all, held{sess, n})
			total += n
		}
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, h := range all {
		if total <= limit {
			return
		}
		h.sess.noteCut(cutMemory, "all clients together hold more than --maxmemory-clients; cut off one that holds most", errEvicted)
		h.sess.kill()
		total -= h.bytes
	}
}

// weight is what the connection counts for, nothing once it is cut off.
func (s *session) weight() int64 {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.line.dead {
		return 0
	}
	return s.line.weighed + int64(s.conn.Held())
}

// weigh counts what the line holds, if that has changed much. The lock is held.
func (s *session) weigh() {
	l := &s.line
	now := l.held + int64(l.pushed+l.aside+l.outgoing)
	if delta := now - l.weighed; !l.left && (delta >= weightStep || -delta >= weightStep) {
		l.weighed = now
		s.srv.holds(int(delta))
	}
}

// held is how many bytes the transaction keeps: what is queued, and the keys and
// values that are watched. Those of a WATCH that is not answered, which is one
// at or behind head, are not known yet.
func (tx *transaction) held(head uint64) int {
	n := tx.size
	for _, w := range tx.watches {
		for _, key := range w.keys {
			n += len(key)
		}
		if w.seq >= head {
			continue
		}
		for i := range w.seen {
			n += len(w.seen[i].Value)
		}
	}
	return n
}

// weighOutgoing counts what the writer has made of replies that are still in the
// line.
func (s *session) weighOutgoing() {
	l := &s.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outgoing = len(s.out.buf)
	s.weigh()
}

// unweigh takes a connection that is closed out of the account.
func (s *session) unweigh() {
	l := &s.line
	l.mu.Lock()
	l.left = true
	held := l.weighed
	l.weighed = 0
	l.mu.Unlock()
	s.srv.holds(-int(held) - s.conn.Held())
}
