package redlock

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// flight is the engine's side of an [Op] from Start to its last answer: one
// round, or several if the first did not decide. Its mutex guards its rounds.
type flight struct {
	q        *Quorum
	class    class
	began    time.Duration
	deadline time.Duration
	validity time.Duration // how long after the first send a grant may be claimed
	followed atomic.Bool
	herds    bool // may wait for others, and be waited for, see herd.go
	ordered  bool // must not wait for others
	herd     herd

	mu         sync.Mutex
	op         *Op    // nil once settled or abandoned
	cur        *round // the round that decides
	confirming bool   // the outcome is an error that waits for its undos
	failure    error  // that outcome
	look       *look  // nil if it needs none

	first round
	spare *spare // of the first round, nil if it has none
}

// flightBlock is memory for some flights: to allocate one at a time is a good
// part of what starting an operation costs. None is used twice. A block lives as
// long as any of them, so there are few in one.
type flightBlock struct {
	flights [5]flight
	spares  *[5]spare // nil if the quorum was small when the block was made
	used    int
}

// newFlight returns a zero flight.
func (q *Quorum) newFlight() *flight {
	b := q.block.Swap(nil)
	if b == nil {
		b = &flightBlock{}
		if len(q.seats.Load().masters) > inlineMasters {
			b.spares = new([len(b.flights)]spare)
		}
	}
	f := &b.flights[b.used]
	if b.spares != nil {
		f.spare = &b.spares[b.used]
	}
	if b.used++; b.used < len(b.flights) {
		q.block.Store(b) // whoever came in between has a new one
	}
	return f
}

// finish hands the outcome to the op.
func (f *flight) finish(out Outcome, do *actions) {
	out.Elapsed = f.q.clock.Now() - f.began
	f.confirming = false
	do.unlist = f.cur
	if f.op == nil {
		do.herd = f.dismiss()
		do.herd.shared = true
		return
	}
	do.herd = f.dismissWith(&out)
	if out.Err != nil {
		f.q.Stats.NoQuorum.Add(1)
	}
	f.op.Outcome = out
	do.done = f.op
}

// fail ends the flight with an error, once what r created is known and its
// undo confirmed, or the deadline is there.
func (f *flight) fail(r *round, err error, do *actions) {
	f.failure = err
	f.confirming = true
	if r.phase != failed || f.q.clock.Now() >= f.deadline {
		f.finish(Outcome{Err: f.failure}, do)
		return
	}
	do.unlist, do.relist = r, true
	f.confirm(r, do)
}

// confirm finishes a failed flight when nothing of r is left to wait for.
func (f *flight) confirm(r *round, do *actions) {
	if f.confirming && f.cur == r && r.pending == 0 && r.undos == 0 {
		do.relist = false
		f.finish(Outcome{Err: f.failure}, do)
	}
}

func (f *flight) jitter(d time.Duration) time.Duration {
	return time.Duration(f.q.rand(int64(d) + 1))
}

// undecided is a round without enough votes: a read is repeated while there is
// time, and so is what may be repeated if the set of masters has changed under
// it. Everything else is an error.
func (f *flight) undecided(r *round, t *tally, over bool, do *actions) {
	now := f.q.clock.Now()
	delay := max(now-r.started, time.Millisecond)
	delay += f.jitter(delay)
	if f.class == classRead && t.answered >= t.need && !over && f.op != nil &&
		!f.followed.Load() && now+delay < f.deadline {
		r.phase = closed
		f.q.Stats.ReadRetries.Add(1)
		do.retry(r, delay)
		return
	}
	again := r.moved() && !over && f.op != nil && f.repeatable() && !f.followed.Load() && now+delay < r.voteBy
	r.close(do)
	if again {
		do.retry(r, delay)
		return
	}
	f.fail(r, r.noQuorum(t), do)
}

// repeatable reports whether another round leads to the same answer, whatever
// this one has done: an acquire is undone, and an extend sets what is set.
func (f *flight) repeatable() bool {
	s := &f.op.Swap
	onlyExtends := f.class == classModify && s.Mine.Effect == Expire && !s.Absent.writes() && !s.Other.writes() && !s.Wrong.writes() && len(s.And) == 0 && s.TTLAtMost == 0
	return f.class == classRead || onlyExtends || f.class == classAcquire && !s.Mine.writes()
}

// moved reports whether votes are missing because the set of masters changes, or
// may be, because it just has.
func (r *round) moved() bool {
	q := r.f.q
	if since := q.seats.Load().since; since != 0 && q.clock.Now() < since+q.opTimeout {
		return true
	}
	return slices.ContainsFunc(r.votes, func(a Answer) bool { return a.Moved })
}

// restart sends a new round in the place of old, unless the flight is over.
func (f *flight) restart(old *round) {
	f.mu.Lock()
	if f.op == nil || f.cur != old {
		f.mu.Unlock()
		return
	}
	now := f.q.clock.Now()
	if over, out := f.givesUp(old, now); over {
		var do actions
		f.finish(out, &do)
		f.mu.Unlock()
		do.run(f)
		return
	}
	r := &round{}
	r.init(f, f.table(), now)
	f.cur = r
	f.mu.Unlock()
	r.send()
}

// givesUp reports whether old must not be followed by another round, and what
// to answer then.
func (f *flight) givesUp(old *round, now time.Duration) (bool, Outcome) {
	t := old.count(true)
	switch {
	case now >= f.deadline, f.followed.Load() && t.applied >= t.need:
		return true, Outcome{Err: old.noQuorum(&t)}
	case f.class == classAcquire && f.followed.Load():
		if t.answered < t.need || t.applied >= t.need { // it was no split vote
			return true, Outcome{Err: old.noQuorum(&t)}
		}
		return true, old.heldBySplit(&t)
	}
	return false, Outcome{}
}

// claim: see [Quorum.Claim].
func (f *flight) claim() bool {
	f.mu.Lock()
	r, now := f.cur, f.q.clock.Now()
	took := now - r.started
	late := took > f.validity && !f.q.off.slack
	if r.phase != granted || !late && !f.overtaken(r) {
		f.mu.Unlock()
		return true
	}
	f.q.Stats.TooLate.Add(1)
	var do actions
	t := r.count(false)
	r.close(&do)
	e := &NoQuorumError{Masters: t.n, Need: t.need, Answered: t.answered, Applied: t.applied, TooSlow: took, Overtaken: !late}
	if !late || f.followed.Load() || now >= f.deadline {
		f.fail(r, e, &do)
	} else {
		do.retry(r, 0)
	}
	r.forget(&do)
	f.mu.Unlock()
	do.run(f)
	return false
}

// overtaken reports whether somebody else's extend or release of the same value
// was sent behind this acquire and may have hit its copies. That takes clients
// that share a token, or a client that has given up on this connection and
// cleans up over another; what the same connection sent behind it does not
// count.
func (f *flight) overtaken(r *round) bool {
	return f.class == classAcquire && !r.table.Mine.writes() && !f.followed.Load() && r.overlap.renewed.Load()
}

// settle: see [Quorum.Settle].
func (f *flight) settle() {
	f.mu.Lock()
	var do actions
	if f.cur.phase == granted {
		f.cur.phase = settled
		f.cur.forget(&do)
	}
	f.op = nil
	f.mu.Unlock()
	f.herd.behind.Store(nil)
	do.run(f)
}

// abandon: see [Quorum.Abandon].
func (f *flight) abandon() {
	f.mu.Lock()
	var do actions
	f.op = nil
	f.herd.behind.Store(nil)
	do.herd = f.dismiss()
	do.herd.shared = true
	if r := f.cur; r.phase == voting || r.phase == granted {
		r.close(&do)
		r.forget(&do)
		do.unlist = r
	}
	f.mu.Unlock()
	do.run(f)
}

// validityOf is how long after its first send a swap may be claimed.
func (f *flight) validityOf(s *Swap) time.Duration {
	v := time.Duration(math.MaxInt64)
	for c := CaseAbsent; c <= CaseWrong; c++ {
		if l := s.Leaf(c); l.timed() {
			v = min(v, f.q.pad.validity(l.TTL))
		}
	}
	for i := range s.And {
		for c := CaseAbsent; c <= CaseMine; c++ {
			if l := s.And[i].leaf(c); l.timed() {
				v = min(v, f.q.pad.validity(l.TTL))
			}
		}
	}
	return v
}

// noQuorum says how many answered what, and why the others did not.
func (r *round) noQuorum(t *tally) error {
	e := &NoQuorumError{Masters: t.n, Need: t.need, Answered: t.answered, Applied: t.applied}
	for i := range r.votes {
		name := r.seats.names[i]
		switch a := &r.votes[i]; {
		case !r.voted[i]:
			waited := (r.f.q.clock.Now() - r.started).Round(time.Millisecond)
			e.Missing = append(e.Missing, fmt.Sprintf("%s: no answer in %v", name, waited))
		case a.Status != Answered || !a.Votes:
			e.Missing = append(e.Missing, name+": "+a.Reason)
		}
	}
	return e
}
