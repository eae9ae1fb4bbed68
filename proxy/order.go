package proxy

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"redlock-proxy/redlock"
)

// order knows the last operation of a connection on each key, as far as
// operations are unanswered. It belongs to the reader.
//
// An operation on several keys takes its place on each of them. It may need a
// second round, so what comes later on any of them waits for it.
//
// Keys are told apart by a hash of 64 bits. Would two have the same, the second
// were treated as following the first: slower, but not wrong.
type order struct {
	last  map[uint64]place
	noted uint64 // commands before this place are in last
	limit int    // the size of last at which answered ones are removed
}

// place is one operation: the place of its slot in the line, and its index.
type place struct {
	seq uint64
	op  int
}

const firstLimit = 64

// hashKey tells a key of a database from others.
func hashKey(seed maphash.Seed, db int, key []byte) uint64 {
	h := maphash.Bytes(seed, key)
	if db == 0 {
		return h
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], h)
	binary.LittleEndian.PutUint64(b[8:], uint64(db))
	return maphash.Bytes(seed, b[:])
}

// follow brings the command at the end of the line into order behind earlier
// ones on the same keys: what those will not change any more is told that it is
// followed (see [redlock.Op.Follow]), and what may need a second round, or was
// not started itself, is waited for. It reports whether the command waits; it
// is started when the last one it waits for has ended.
//
// A client that reads each reply before it goes on pays nothing for this.
func (s *session) follow(sl *slot) (waits bool) {
	l, o := &s.line, &s.order
	if sl.seq == l.seenHead {
		return false // nothing is unanswered
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o.catchUp(l, sl.seq)
	for _, key := range sl.keys {
		if p, ok := o.last[key.hash]; ok && p.seq >= l.head && p.seq < sl.seq {
			sl.behind(*l.place(p.seq), p.op)
		}
		o.last[key.hash] = place{sl.seq, key.op}
	}
	o.noted = sl.seq + 1
	if sl.blockers == 0 {
		return false
	}
	sl.unfinished.Add(1) // for the one who will start it
	sl.deadline = s.deadline(sl.q)
	return true
}

// deadline is that of an operation that arrives now.
func (s *session) deadline(q quorum) time.Duration { return q.Now() + s.srv.cfg.OpTimeout }

// catchUp notes the commands before a place that nothing followed so far, and
// forgets what was answered, now and then. The line is locked.
func (o *order) catchUp(l *line, until uint64) {
	if len(o.last) >= o.limit {
		o.forget(l.head)
	}
	for seq := max(o.noted, l.head); seq < until; seq++ {
		for _, key := range (*l.place(seq)).keys {
			o.last[key.hash] = place{seq, key.op}
		}
	}
}

// forget removes what was answered, that is, before head.
func (o *order) forget(head uint64) {
	live := make(map[uint64]place)
	for key, p := range o.last {
		if p.seq >= head {
			live[key] = p
		}
	}
	o.last, o.limit = live, max(firstLimit, 2*len(live))
}

// behind puts sl behind an operation of an earlier slot. The line is locked.
func (sl *slot) behind(earlier *slot, op int) {
	if earlier.blocks() {
		earlier.waiters = append(earlier.waiters, waiter{sl, op})
		sl.blockers++
		return
	}
	earlier.followed(op)
}

// blocks reports whether what comes later on the same key has to wait. The
// line is locked.
func (sl *slot) blocks() bool {
	return sl.blockers > 0 || sl.starting || sl.lock.MayLearn && !sl.ready
}

// followed tells an operation of sl that a later one on its key is started.
func (sl *slot) followed(op int) {
	if op < len(sl.ops) {
		sl.ops[op].Follow()
	}
}

// unblock takes leave of what waits for sl, if that is not blocking any more,
// and appends to runnable what has to be started now, by [session.begin]. The
// line is locked.
func (sl *slot) unblock(runnable []*slot) []*slot {
	if len(sl.waiters) == 0 || sl.blocks() {
		return runnable
	}
	for _, w := range sl.waiters {
		sl.followed(w.op)
		if w.slot.blockers--; w.slot.blockers == 0 {
			w.slot.starting = true
			runnable = append(runnable, w.slot)
		}
	}
	sl.waiters = nil
	return runnable
}

// begin starts slots that had to wait, and those that waited only for them to
// be started. Any goroutine may call it, without the lock.
func (s *session) begin(slots []*slot) {
	for len(slots) > 0 {
		sl := slots[0]
		sl.start()
		slots = s.begun(sl, slots[1:])
	}
}

// again starts one more swap in the place of the operations of sl.
func (s *session) again(sl *slot, next *redlock.Swap) {
	s.line.mu.Lock()
	dead := s.line.dead
	sl.starting = !dead
	s.line.mu.Unlock()
	if dead {
		return // abandoned, or about to be
	}
	sl.unfinished.Store(2)
	if sl.replace(next) {
		sl.q.Start(&sl.ops[0], sl.deadline)
	}
	s.begin(s.begun(sl, nil))
}

// begun ends the starting of sl by somebody other than the reader. It returns
// the slots that are to be started next, after the given ones.
func (s *session) begun(sl *slot, runnable []*slot) []*slot {
	s.line.mu.Lock()
	sl.starting = false
	dead := s.line.dead
	if !dead {
		runnable = sl.unblock(runnable)
	}
	s.line.mu.Unlock()
	if dead {
		sl.abandon()
		return nil
	}
	sl.finished()
	return runnable
}
