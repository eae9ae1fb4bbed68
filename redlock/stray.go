package redlock

import (
	"slices"
	"time"
)

// stray is a copy that may be on a master and may belong to no lock any more:
//
//   - an acquire created it after the deadline of its operation, or its answer
//     was lost with the connection;
//   - a release reached the master too late, or not at all. (A removal by value
//     must not be executed late, see [Call.Bounded].)
//
// It is removed if no majority holds its token, and if its expiry time says
// that it is this copy and no later one. A master that is away is owed this
// until it is back: its new connection has killed the old one, so nothing that
// was sent before can be executed any more (design §4.8, §5).
type stray struct {
	master     int
	key, token []byte
	window     Window           // of its expiry on the master's clock, or
	about      [2]time.Duration // in Clock time
	lost       bool             // wait until the master is back, or has caught up, see Returned
	// lostAt is when the connection was lost that the answer was to come over;
	// 0 if it was not. A master that hangs still executes what it was sent when
	// it goes on, so until it is back its copy becomes younger.
	lostAt time.Duration
	// of is the acquire that may have created the copy. It stays among the
	// unanswered meanwhile, to be told of operations that may rely on the copy.
	of      *round
	touched uint32 // what it had been told when the check began
	met     bool   // an acquire has begun since that may make one like it; the bucket guards it
	// late is set if the copy was made after its deadline, until it was seen once
	// to belong to a lock: a release through another proxy may be under way, and
	// have passed this master before. That is over an op timeout later.
	late bool
}

// owe sees to a stray copy of this round. f.mu is held.
func (r *round) owe(s stray, do *actions) {
	r.strays++
	s.of = r
	do.owe(s)
}

// over ends a stray.
func (s *stray) over() {
	if s.of == nil {
		return
	}
	f := s.of.f
	var do actions
	f.mu.Lock()
	s.of.strays--
	s.of.forget(&do)
	f.mu.Unlock()
	do.run(f)
}

// maxStrayTTL, in milliseconds, is the longest TTL whose end is told apart; a
// year.
const maxStrayTTL = 365 * 24 * 3600 * 1000

// maxOwed is how many strays are remembered for one master that is away. What
// exceeds it is left to its TTL.
const maxOwed = 16384

// copySkew is how much sooner a copy may expire than the others of its lock,
// beyond what is known of when they were looked at. It may expire later by this and
// by as much as its master is behind, which is the op timeout at most, as far as
// its clock is known: a token that is used again has to rest that long.
const copySkew = 10 * time.Millisecond

// owe sees to a stray now, or when its master is back.
func (q *Quorum) owe(s stray) {
	if !s.lost && q.masters[s.master].Down() == "" {
		q.check(s, func() {})
		return
	}
	q.owedLock.Lock()
	full := len(q.owed[s.master]) >= maxOwed
	if !full {
		q.owed[s.master] = append(q.owed[s.master], s)
	}
	q.owedLock.Unlock()
	if full {
		q.Stats.NotOwed.Add(1)
		q.Stats.LeftToTTL.Add(1)
		s.over()
	}
}

// Returned tells the quorum that a master has a connection and answers, and that
// nothing can be executed any more that was sent over an earlier one. It is called
// again and again while that is so. The master need not vote: a
// read counts it as unknown then, so what it may be needed for is not removed.
// What the master is owed is seen to, one after the other.
func (q *Quorum) Returned(m Master) {
	for i := range q.masters {
		if q.masters[i] == m {
			q.settleOwed(i)
		}
	}
}

// settleOwed sees to what master i is owed. A copy that may have been created
// until now may be another proxy's, of the same token, that is about to get its
// majority: it is looked at when that attempt is over.
func (q *Quorum) settleOwed(i int) {
	q.owedLock.Lock()
	list := q.owed[i]
	q.owed[i] = nil
	q.owedLock.Unlock()
	var known, late []stray
	now := q.clock.Now()
	for _, s := range list {
		if s.lostAt == 0 {
			known = append(known, s)
			continue
		}
		s.about[1] += now - s.lostAt
		s.lostAt = 0
		late = append(late, s)
	}
	q.checkEach(known)
	if len(late) > 0 {
		q.clock.AfterFunc(q.opTimeout, func() { q.checkEach(late) })
	}
}

// checkEach checks strays, some at a time.
func (q *Quorum) checkEach(list []stray) {
	for chain := range min(owedAtOnce, len(list)) {
		q.checkAll(list, chain)
	}
}

// owedAtOnce is how many strays of one master are looked at at a time.
const owedAtOnce = 16

// checkAll checks every owedAtOnce-th stray from i on, one after the other.
func (q *Quorum) checkAll(list []stray, i int) {
	if i < len(list) {
		q.check(list[i], func() { q.checkAll(list, i+owedAtOnce) })
	}
}

// check reads the key at quorum and removes the copy if its token has no
// majority. It calls then when that is decided.
func (q *Quorum) check(s stray, then func()) {
	if s.about[1] != 0 && q.clock.Now() > s.about[1] {
		s.over() // it has expired
		then()
		return
	}
	if s.of != nil {
		s.touched = s.of.overlap.touches.Load()
	}
	q.watch(&s)
	op := &Op{Swap: Swap{Key: s.key, Token: s.token, HasToken: true}}
	op.Done = func(op *Op) {
		out := op.Outcome
		q.Settle(op)
		defer q.unwatch(&s)
		switch {
		case out.Err != nil:
			q.Stats.LeftToTTL.Add(1)
		case out.Case != CaseMine:
			q.remove(&s)
		case s.late:
			again := s
			again.late, again.met = false, false
			q.clock.AfterFunc(q.opTimeout, func() { q.check(again, func() {}) })
			then()
			return
		}
		s.over()
		then()
	}
	q.Start(op, 0)
}

// watch has a stray be told of acquires that begin, while it is checked.
func (q *Quorum) watch(s *stray) {
	b := q.bucket(s.key)
	b.mu.Lock()
	b.checks = append(b.checks, s)
	b.mu.Unlock()
}

func (q *Quorum) unwatch(s *stray) {
	b := q.bucket(s.key)
	b.mu.Lock()
	b.checks = slices.DeleteFunc(b.checks, func(c *stray) bool { return c == s })
	b.mu.Unlock()
}

// remove sends the removal, unless somebody may have begun to rely on the copy
// since the check, or to make one with the same token: one that is not answered
// everywhere yet, or has begun since. What is sent later is executed later.
func (q *Quorum) remove(s *stray) {
	b := q.bucket(s.key)
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.of != nil && s.touched != s.of.overlap.touches.Load() || s.met || b.acquires.mayMake(s) {
		q.Stats.UndoCancelled.Add(1)
		q.Stats.LeftToTTL.Add(1)
		return
	}
	q.Stats.UndoSent.Add(1)
	again := *s
	again.of, again.lost = nil, true
	q.sendSide(&Call{
		Table: removalOf(s.key, s.token), Window: s.window, About: s.about,
		Deadline: q.clock.Now() + undoTimeout, index: int32(s.master),
		side: func(a Answer) { q.removed(again, a) },
	})
}

// removed records the end of a removal. One that could not be sent, because
// the master's queue was full or its connection gone, or that got lost with it,
// is owed again.
func (q *Quorum) removed(s stray, a Answer) {
	if a.Status == Unsent || a.Status == Lost {
		q.owe(s)
		return
	}
	q.countUndone(a)
}

// oweUnanswered sees to the copy that master i may create, or has created, where
// no answer will come. r.f.mu is held.
func (r *round) oweUnanswered(i int, c piece, do *actions) {
	r.owe(stray{master: r.seats.masters[i], key: c.key, token: c.value,
		about: r.aboutUnanswered(c.ttl), lost: true, lostAt: max(r.f.q.clock.Now(), 1)}, do)
}

// lostAnswer sees to the copies of an acquire that was granted without the
// answer of master i, as that got lost: the lock may be released before the
// master is back.
func (r *round) lostAnswer(i int, do *actions) {
	if r.f.class != classAcquire || r.votes[i].Status != Lost {
		return
	}
	for k := range r.table.keys() {
		if c, _, possible := r.piece(i, k); possible {
			r.oweUnanswered(i, c, do)
		}
	}
}

// late looks at an answer that came after the grant, and after the deadline. The
// lock may have been released since, through another proxy: this master may have
// been passed by that. (What waits behind the acquire, and is too late there
// itself, knows a copy that was made before the deadline: see missed.)
func (r *round) late(i int, do *actions) {
	r.lostAnswer(i, do)
	q := r.f.q
	if q.clock.Now() <= r.f.deadline || q.off.late {
		return
	}
	for k := range r.table.keys() {
		if c, created, _ := r.piece(i, k); created {
			q.Stats.LateCopies.Add(1)
			r.owe(stray{master: r.seats.masters[i], key: c.key, token: c.value, window: c.window, late: true}, do)
		}
	}
}

// noteApplied notes that a release or extend has its quorum, and sees to the
// masters that have answered without removing the copies of what was released.
func (r *round) noteApplied(do *actions) {
	if r.f.class != classDelete && r.f.class != classModify {
		return
	}
	r.applied, r.appliedAt = true, r.f.q.clock.Now()
	for i := range r.votes {
		if r.voted[i] {
			r.missed(i, do)
		}
	}
}

// missed looks at a master's answer to a release that the others decided.
func (r *round) missed(i int, do *actions) {
	if r.f.class != classDelete || !r.applied || !r.votes[i].passedBy() {
		return
	}
	if r.seats.masters[i] == nobody {
		r.f.q.Stats.LeftToTTL.Add(1)
		return
	}
	for k := range r.table.keys() {
		if r.table.part(k).Mine.Effect == Delete {
			r.oweOld(i, k, do)
		}
	}
}

// outdated looks at a master's answer to an extend that the others decided, when
// the lock has been released since. If the master missed the extend, its copy has
// the expiry time of before, by which the release that it missed too does not know
// it; and a later one if it was stopped in the middle of the extend, after it had
// found that it is not too late. (A lock that is not yet released then leaves such
// a copy to its TTL.)
func (r *round) outdated(i int, do *actions) {
	a := &r.votes[i]
	if r.f.class != classModify || !r.overlap.removed.Load() || r.seats.masters[i] == nobody {
		return
	}
	late := a.Status == Answered && a.Applied && a.Mine && r.f.q.clock.Now() > r.f.deadline
	for k := range r.table.keys() {
		p := r.table.part(k)
		switch {
		case a.passedBy():
			r.oweOld(i, k, do)
		case late && p.Mine.Effect == Expire && a.expiry(k) != Window{}:
			do.owe(stray{master: r.seats.masters[i], key: p.Key, token: p.Token, window: a.expiry(k)})
		}
	}
}

// expiry is that which an applied table gave key k.
func (a *Answer) expiry(k int) Window {
	if k == 0 {
		return a.Expiry
	}
	return a.And[k-1].Expiry
}

// oweOld sees to the copy of key k on master i that is as the others' were before
// this round. A master that could not be sent the call in time, perhaps because it
// hangs, could not be sent a removal either: that is for when it has caught up.
func (r *round) oweOld(i, k int, do *actions) {
	p := r.table.part(k)
	if about, ok := r.aboutBefore(k); ok && p.HasToken {
		do.owe(stray{master: r.seats.masters[i], key: p.Key, token: p.Token, about: about, lost: r.votes[i].Status == Lost || r.votes[i].Status == Unsent})
	}
}

// passedBy reports whether a call may have left a copy as it was that it should
// have changed.
func (a *Answer) passedBy() bool {
	return a.Status == Unsent || a.Status == Lost || a.Status == Failed && a.Reason == ReasonTooLate
}
