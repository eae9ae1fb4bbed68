package redlock

import (
	"sync/atomic"
	"time"
)

// inlineMasters is how many masters a round has room for itself: what most
// quorums have, because this memory is touched by every operation. For up to
// spareMasters there is room in the block that the first round is part of.
const (
	inlineMasters = 3
	spareMasters  = 5
)

// spare is room for the votes of more masters than a round has room for.
type spare struct {
	calls [spareMasters]Call
	votes [spareMasters]Answer
	voted [spareMasters]bool
}

// phase is where a round stands.
type phase uint8

const (
	voting  phase = iota
	granted       // applied by a quorum; waiting for the client's turn
	settled       // the client has its reply
	failed        // an acquire that did not get its quorum: copies are undone
	closed        // decided, nothing to undo
	parked        // not sent: it waits for somebody else's acquire
)

// round is one sending of a table to all masters and its votes. It outlives
// its outcome until every master has answered. The mutex of its flight guards
// it.
type round struct {
	f         *flight
	seats     *seats
	table     Swap // TTLs padded
	started   time.Duration
	voteBy    time.Duration
	phase     phase
	pending   int
	undos     int  // undo calls not answered yet
	strays    int  // copies that are being looked after
	resending bool // a keeper's second try is on its way

	overlap   overlap
	applied   bool          // a release, extend or swap has its quorum …
	appliedAt time.Duration // … since this Clock time
	repairs   bool          // masters without the key get it
	unwanted  atomic.Bool   // unsent calls of this round are pointless

	calls []Call
	votes []Answer
	voted []bool
	store struct {
		calls [inlineMasters]Call
		votes [inlineMasters]Answer
		voted [inlineMasters]bool
	}

	prev, next *round // in list
	list       *roundList
	listed     bool
}

// init prepares r for a first sending of swap at now.
func (r *round) init(f *flight, swap *Swap, now time.Duration) {
	r.f, r.seats, r.table, r.started = f, f.q.seats.Load(), *swap, now
	n := len(r.seats.masters)
	r.pending = n
	r.voteBy = f.deadline
	if f.class == classAcquire {
		// leave time to confirm the undo before an error goes out
		r.voteBy = max(f.deadline-f.q.opTimeout/10, min(now+time.Millisecond, f.deadline))
	}
	f.q.padTable(&r.table)
	switch {
	case n <= inlineMasters:
		r.calls, r.votes, r.voted = r.store.calls[:n], r.store.votes[:n], r.store.voted[:n]
	case n <= spareMasters && r == &f.first && f.spare != nil:
		r.calls, r.votes, r.voted = f.spare.calls[:n], f.spare.votes[:n], f.spare.voted[:n]
	default:
		r.calls, r.votes, r.voted = make([]Call, n), make([]Answer, n), make([]bool, n)
	}
	for i := range r.calls {
		r.calls[i] = Call{Table: &r.table, Deadline: f.deadline, round: r, index: int32(i)}
	}
}

// padTable pads the TTLs of a table in place.
func (q *Quorum) padTable(s *Swap) {
	for c := CaseAbsent; c <= CaseWrong; c++ {
		q.padLeaf(s.Leaf(c))
	}
	s.TTLAtMost = q.pad.atMost(s.TTLAtMost)
	q.padParts(s)
}

func (q *Quorum) padLeaf(l *Leaf) {
	if l.timed() {
		l.TTL = q.pad.pad(l.TTL)
	}
}

// send queues the round's calls at all masters. Two operations on one key are
// queued in the same order everywhere, or a release could overtake an acquire
// on one master only.
func (r *round) send() {
	q := r.f.q
	var refused bitset
	locks := q.lock(&r.table)
	if r.f.herds && locks.one.join(r) {
		locks.unlock()
		return
	}
	q.Stats.Rounds.Add(1)
	q.outstanding.Add(1)
	q.deadlines.add(r, r != &r.f.first || r.f.herd.resumed || r.f.deadline != r.f.began+q.opTimeout)
	q.enter(r)
	for i := range r.calls {
		if !q.send(r.seats, i, &r.calls[i]) {
			refused.set(i)
		}
	}
	locks.unlock()
	r.refused(&refused)
}

// refused votes for the masters that took no call.
func (r *round) refused(b *bitset) {
	if *b == 0 {
		return
	}
	for i := range r.calls {
		if b.has(i) {
			r.vote(i, Answer{Status: Unsent, Reason: r.f.q.down(r.seats, i)})
		}
	}
}

// bitset is a set of masters; a quorum has at most 64.
type bitset uint64

func (b *bitset) set(i int)     { *b |= 1 << i }
func (b bitset) has(i int) bool { return b&(1<<i) != 0 }

// wanted reports whether an unsent call should still be sent.
func (r *round) wanted() bool { return !r.unwanted.Load() }

// vote records the answer of master i and does what follows from it.
func (r *round) vote(i int, a Answer) {
	f := r.f
	if !r.seats.hold(f.q.seats.Load()) {
		a.Votes, a.Reason, a.Moved = false, reasonReseated, true
	}
	f.mu.Lock()
	r.votes[i], r.voted[i] = a, true
	r.dropVoid()
	r.pending--
	answered := r.pending == 0
	var do actions
	switch r.phase {
	case voting:
		r.evaluate(&do)
	case failed:
		r.undo(i, &do)
		f.confirm(r, &do)
	case granted, settled:
		r.late(i, &do)
		r.outdated(i, &do)
		r.repair(i, &do)
	case closed:
		r.missed(i, &do)
	}
	r.forget(&do)
	f.mu.Unlock()
	do.run(f)
	if answered {
		f.q.outstanding.Add(-1)
	}
}

// forget takes an acquire off the unanswered when nothing about it is open.
func (r *round) forget(do *actions) {
	if r.f.class >= classAcquire && r.pending == 0 && r.strays == 0 && r.phase != voting && r.phase != granted {
		do.forget = r
	}
}

// expire counts what has not answered as unknown and decides.
func (r *round) expire() {
	f := r.f
	f.mu.Lock()
	var do actions
	switch {
	case r.phase == voting:
		r.dropVoid()
		r.decided(r.count(true), true, &do)
	case f.confirming && f.cur == r:
		f.finish(Outcome{Err: f.failure}, &do) // undo not confirmed in time
	}
	r.forget(&do)
	f.mu.Unlock()
	do.run(f)
}

func (r *round) evaluate(do *actions) {
	if r == r.f.cur && len(r.table.And) == 0 && tooFew(len(r.votes), r.seats.need, r.pending) {
		return
	}
	t := r.count(false)
	r.decided(t, false, do)
}

// decided acts on what the votes say so far; over means that no vote is
// waited for any more.
func (r *round) decided(t tally, over bool, do *actions) {
	f := r.f
	if r != f.cur {
		r.close(do) // superseded
		return
	}
	switch decide(f.class, &t) {
	case wait:
	case applied:
		r.succeed(&t, do)
	case denied:
		r.close(do)
		f.conclude(r, Outcome{Case: r.deniedCase(&t), State: r.state(&t, 0), Parts: r.parts(&t)}, do)
	case split:
		f.split(r, &t, over, do)
	case unknown:
		f.undecided(r, &t, over, do)
	}
}

// succeed ends a round whose table was applied by a quorum, or a read.
func (r *round) succeed(t *tally, do *actions) {
	f := r.f
	out := Outcome{Case: r.caseOf(t), State: r.state(t, 0), Parts: r.parts(t), Applied: f.class != classRead}
	r.phase = closed
	if f.class == classAcquire || f.class == classModify {
		r.phase = granted
	}
	r.noteApplied(do)
	for i := range r.votes {
		if r.voted[i] {
			r.lostAnswer(i, do)
		}
	}
	r.repairAll(do)
	f.conclude(r, out, do)
}

// close ends a round without success: what it created is undone.
func (r *round) close(do *actions) {
	if r.f.class != classAcquire {
		r.phase = closed
		return
	}
	r.phase = failed
	r.unwanted.Store(true)
	for i := range r.votes {
		if r.voted[i] {
			r.undo(i, do)
		}
	}
}
