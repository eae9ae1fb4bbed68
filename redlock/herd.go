package redlock

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"
)

// Many clients that poll one lock would cost a round each, and all but one of
// them is denied. So plain acquires of a key that arrive while one is on its
// way wait for it (design §4.11):
//
//   - If it is granted, and not too late for that, they are denied: a majority
//     holds the key just then.
//   - If it is denied, so are those that were there before it was sent. The
//     others can not be told so: the key may have been released after a master
//     had answered and before they came. They share one new round.
//   - After an error each has its own.
//
// One that follows an unanswered operation of its own connection on the key has
// to come after that, see [Op.Ordered]: if it is an acquire, it may wait for it,
// or with it for the same other one ([Quorum.Join]); otherwise for nobody.

// herd are the acquires that wait for a flight.
type herd struct {
	mu      sync.Mutex
	closed  bool // it is decided, or may not be waited for
	waiting []*flight

	joined  atomic.Bool // this flight waits for another …
	leader  atomic.Pointer[flight]
	behind  atomic.Pointer[flight] // … like this one of its connection before it, or for it; until it is settled
	early   bool                   // it was there before that one was sent
	resumed bool                   // it was sent, or answered, after it had waited
}

// Join is Start for an acquire behind another operation of the same connection on
// the same key, if that is an acquire that is not decided: it waits for that, or
// for what that waits for. It returns false, and has done nothing, if op has to
// be ordered behind the other by Start.
//
// The other must have been started, and must not be settled or abandoned
// meanwhile.
func (q *Quorum) Join(op, other *Op, deadline time.Duration) bool {
	behind := other.flight.Load()
	leader := behind.herd.leader.Load()
	if leader == nil {
		leader = behind
	}
	if !leader.mayBeFollowed() || classify(&op.Swap) != classAcquire || !op.Swap.isPlain() || !bytes.Equal(op.Swap.Key, behind.first.table.Key) {
		return false
	}
	f := q.begin(op, deadline)
	f.herd.behind.Store(behind)
	before := op.flight.Swap(f)
	if leader.deadline <= f.deadline && f.follow(leader) {
		return true
	}
	op.flight.Store(before)
	return false
}

func (f *flight) mayBeFollowed() bool {
	f.herd.mu.Lock()
	defer f.herd.mu.Unlock()
	return f.herds && !f.herd.closed
}

// leaves ends the waiting. What has waited behind another of its connection is
// sent now, if it is, behind that one, which must not be sent again.
func (f *flight) leaves(sent bool) {
	if sent {
		f.herd.behind.Load().noteFollowed()
	}
	f.herd.leader.Store(nil)
	f.herd.joined.Store(false)
}

// noteFollowed notes that something of its connection was sent behind f, which may
// be nil, and so behind those that f came behind.
func (f *flight) noteFollowed() {
	for f != nil && !f.followed.Swap(true) {
		f = f.herd.behind.Load()
	}
}

// Waiting reports whether the operation waits for somebody else's. What comes
// later on its key, of the same connection, has to wait until it is done:
// [Op.Follow] does not help.
func (op *Op) Waiting() bool {
	f := op.flight.Load()
	return f != nil && f.herd.joined.Load()
}

// isPlain reports whether an acquire only sets a key that is absent, whatever is
// there otherwise.
func (s *Swap) isPlain() bool {
	return !s.HasToken && len(s.And) == 0 && s.Other.Effect == Keep && s.Wrong.Effect == Keep
}

// herdReach is how far back an acquire is looked for that is on its way. Behind
// it are those that wait for the answer of a master that hangs.
const herdReach = 32

// join makes the flight of an unsent round wait for an acquire of the same key
// that is on its way. The bucket of the key is locked.
func (b *bucket) join(r *round) bool {
	f := r.f
	if r != &f.first || f.herd.resumed || !f.herds || f.ordered {
		return false
	}
	o := b.acquires
	for range herdReach {
		if o == nil {
			break
		}
		leader := o.r.f
		if leader.deadline <= f.deadline && bytes.Equal(o.r.table.Key, r.table.Key) && f.follow(leader) {
			return true
		}
		o = o.next
	}
	return false
}

// follow makes f wait for the leader, unless that is decided.
func (f *flight) follow(leader *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &leader.herd
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || f.op == nil || !leader.herds {
		return false
	}
	f.first.phase = parked
	f.herd.joined.Store(true)
	f.herd.leader.Store(leader)
	h.waiting = append(h.waiting, f)
	return true
}

// dismissal is who waited for a flight, and what it came to.
type dismissal struct {
	waiting []*flight
	outcome Outcome
	granted bool
	shared  bool // there is no outcome, and no error: the leader gave up
}

// dismiss ends the herd of a flight.
func (f *flight) dismiss() dismissal {
	f.herd.mu.Lock()
	defer f.herd.mu.Unlock()
	f.herd.closed = true
	d := dismissal{waiting: f.herd.waiting}
	f.herd.waiting = nil
	return d
}

// dismissWith is dismiss after an outcome. The state is the one that others
// find: if the acquire was granted, its own.
func (f *flight) dismissWith(out *Outcome) dismissal {
	d := f.dismiss()
	if len(d.waiting) == 0 {
		return d
	}
	d.outcome, d.granted = *out, out.Applied
	if out.Applied {
		d.shared = f.q.clock.Now()-f.cur.started > f.validity // its copies may be gone
		l := &f.op.Swap.Absent
		d.outcome.Case, d.outcome.Applied = CaseOther, false
		d.outcome.State = State{Kind: Text, Value: l.Value, TTL: l.TTL}
	}
	d.outcome.State.Value = bytes.Clone(d.outcome.State.Value)
	return d
}

// run answers those that waited, or sends them.
func (d *dismissal) run() {
	if len(d.waiting) == 0 {
		return
	}
	known := d.outcome.Err == nil && !d.shared
	rest := d.waiting[:0]
	for _, f := range d.waiting {
		if known && (d.granted || f.herd.early || f.q.off.early) {
			f.answer(&d.outcome)
		} else {
			rest = append(rest, f)
		}
	}
	if known || d.shared {
		regroup(rest)
		return
	}
	for _, f := range rest {
		f.resume(nil)
	}
}

// answer ends a flight that was never sent.
func (f *flight) answer(out *Outcome) {
	f.dismiss() // of nobody: who came behind it waits for its leader
	f.mu.Lock()
	op := f.op
	f.leaves(false)
	f.first.phase = closed
	if op != nil {
		op.Outcome = *out
		op.Outcome.Elapsed = f.q.clock.Now() - f.began
	}
	f.mu.Unlock()
	if op != nil {
		f.q.Stats.Herded.Add(1)
		op.Done(op)
	}
}

// regroup sends the first of some flights whose client is still there; the rest
// waits for it.
func regroup(flights []*flight) {
	for i, f := range flights {
		if f.resume(flights[i+1:]) {
			return
		}
	}
}

// resume sends a flight that has waited, with others that wait for it from
// before it is sent. It returns false if its client is gone.
func (f *flight) resume(others []*flight) bool {
	f.mu.Lock()
	gone := f.op == nil
	f.leaves(!gone)
	f.herd.resumed = true
	if !gone {
		f.first.init(f, f.table(), f.q.clock.Now())
		f.first.phase = voting
	}
	f.mu.Unlock()
	if gone {
		return false
	}
	f.herd.mu.Lock()
	for _, o := range others {
		o.herd.early = true
		o.herd.leader.Store(f)
	}
	f.herd.waiting = append(f.herd.waiting, others...)
	f.herd.mu.Unlock()
	f.first.send()
	return true
}
