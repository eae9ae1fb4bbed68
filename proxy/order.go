package proxy

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
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
// not sent itself, is waited for. It reports whether the command waits; it
// is started when the last one it waits for has ended. An acquire behind an
// acquire is started here, if it can be, as one that waits for or with that one:
// clients that have one connection for all their threads poll like that.
//
// A client that reads each reply before it goes on pays a look for this.
func (s *session) follow(sl *slot) (waits bool) {
	l, o := &s.line, &s.order
	if sl.seq == l.seenHead {
		return false // nothing is unanswered
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.look(); sl.seq == l.seenHead {
		return false
	}
	o.catchUp(l, sl.seq)
	joined := false
	for _, key := range sl.keys {
		if p, ok := o.last[key.hash]; ok && p.seq >= l.head && p.seq < sl.seq {
			earlier := *l.place(p.seq)
			if joined = sl.joins(earlier, p.op); !joined {
				sl.ops[key.op].Ordered = true
				sl.behind(earlier, p.op)
			}
		}
		o.last[key.hash] = place{sl.seq, key.op}
	}
	o.noted = sl.seq + 1
	if sl.blockers == 0 {
		return joined
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

// forget removes what was answered, that is, before head. Maps do not shrink, so
// one that is mostly empty then is made anew.
func (o *order) forget(head uint64) {
	maps.DeleteFunc(o.last, func(_ uint64, p place) bool { return p.seq < head })
	if o.last == nil || len(o.last) < o.limit/4 {
		live := make(map[uint64]place, len(o.last))
		maps.Copy(live, o.last)
		o.last = live
	}
	o.limit = max(firstLimit, 2*len(o.last))
}

// joins starts sl, if its only operation may wait for, or with, an operation of an
// earlier slot (see [redlock.Quorum.Join]). The line is locked.
func (sl *slot) joins(earlier *slot, op int) bool {
	if len(sl.keys) > 1 || earlier.ready || earlier.blockers > 0 || earlier.starting || op >= len(earlier.ops) {
		return false
	}
	sl.launched = true
	if !sl.q.Join(&sl.ops[0], &earlier.ops[op], sl.deadline) {
		sl.launched = false
	}
	return sl.launched
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
	return sl.blockers > 0 || sl.starting || !sl.ready && (sl.lock.MayLearn || sl.herded())
}

// herded reports whether an operation of sl waits for that of another client.
func (sl *slot) herded() bool {
	for i := range sl.ops {
		if sl.ops[i].Waiting() {
			return true
		}
	}
	return false
}

// followed tells an operation of sl that a later one on its key is started.
func (sl *slot) followed(op int) {
	if op < len(sl.ops) {
		sl.ops[op].Follow()
	}
}

// unblock takes leave of what waits for sl, if that is not blocking any more, and
// of acquires that may wait with it ([slot.joins]). It appends to runnable what has
// to be started now, by [session.begin]. The line is locked.
func (sl *slot) unblock(runnable []*slot) []*slot {
	if len(sl.waiters) == 0 || sl.blockers > 0 || sl.starting {
		return runnable
	}
	blocks := sl.blocks()
	var kept []waiter
	for _, w := range sl.waiters {
		joined := w.slot.blockers == 1 && w.slot.joins(sl, w.op)
		if blocks && !joined {
			kept = append(kept, w)
			continue
		}
		if !joined {
			sl.followed(w.op)
		}
		if w.slot.blockers--; w.slot.blockers == 0 {
			w.slot.starting = true
			runnable = append(runnable, w.slot)
		}
	}
	sl.waiters = kept
	return runnable
}

// begin starts slots that had to wait, unless they are started already, and those
// that waited only for them to be started. Any goroutine may call it, without the
// lock.
func (s *session) begin(slots []*slot) {
	for len(slots) > 0 {
		sl := slots[0]
		if !sl.launched {
			sl.start()
		}
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
