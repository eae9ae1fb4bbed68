package redlock

import "time"

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
	lost       bool             // with the connection: wait for the next one
	overlap    *overlap         // of the acquire that may have created it
}

// maxStrayTTL, in milliseconds, is the longest TTL whose end is told apart; a
// year.
const maxStrayTTL = 365 * 24 * 3600 * 1000

// maxOwed is how many strays are remembered for one master that is away. What
// exceeds it is left to its TTL.
const maxOwed = 4096

// copySkew is how much copies of one lock may differ in their expiry, beyond
// what is known of when they were looked at.
const copySkew = 10 * time.Millisecond

// owe sees to a stray now, or when its master is back.
func (q *Quorum) owe(s stray) {
	if !s.lost && q.masters[s.master].Down() == "" {
		q.check(s, func() {})
		return
	}
	q.owedLock.Lock()
	defer q.owedLock.Unlock()
	if len(q.owed[s.master]) >= maxOwed {
		q.Stats.LeftToTTL.Add(1)
		return
	}
	q.owed[s.master] = append(q.owed[s.master], s)
}

// Returned tells the quorum that a master has a connection that may vote, and
// that nothing can be executed any more that was sent over an earlier one. What
// the master is owed is seen to, one after the other.
func (q *Quorum) Returned(m Master) {
	for i := range q.masters {
		if q.masters[i] == m {
			q.settleOwed(i)
		}
	}
}

func (q *Quorum) settleOwed(i int) {
	q.owedLock.Lock()
	list := q.owed[i]
	q.owed[i] = nil
	q.owedLock.Unlock()
	q.checkAll(list)
}

func (q *Quorum) checkAll(list []stray) {
	if len(list) > 0 {
		q.check(list[0], func() { q.checkAll(list[1:]) })
	}
}

// check reads the key at quorum and removes the copy if its token has no
// majority. It calls then when that is decided.
func (q *Quorum) check(s stray, then func()) {
	if s.about[1] != 0 && q.clock.Now() > s.about[1] {
		then() // it has expired
		return
	}
	op := &Op{Swap: Swap{Key: s.key, Token: s.token, HasToken: true}}
	op.Done = func(op *Op) {
		out := op.Outcome
		q.Settle(op)
		switch {
		case out.Err != nil:
			q.Stats.LeftToTTL.Add(1)
		case out.Case != CaseMine:
			q.remove(s)
		}
		then()
	}
	q.Start(op, 0)
}

func (q *Quorum) remove(s stray) {
	if s.overlap != nil && s.overlap.renewed.Load() {
		q.Stats.UndoCancelled.Add(1)
		q.Stats.LeftToTTL.Add(1)
		return
	}
	q.Stats.UndoSent.Add(1)
	c := &Call{
		Table: removalOf(s.key, s.token), Window: s.window, About: s.about,
		Deadline: q.clock.Now() + undoTimeout, side: q.countUndone,
	}
	if !q.masters[s.master].Send(c) {
		q.Stats.LeftToTTL.Add(1)
	}
}

// late looks at an answer that came after the grant. The lock may have been
// released since, by another proxy too.
func (r *round) late(i int, do *actions) {
	if r.created(i) && r.f.q.clock.Now() > r.f.deadline {
		r.f.q.Stats.LateCopies.Add(1)
		do.owe(stray{master: i, key: r.table.Key, token: r.table.Absent.Value, window: r.votes[i].Expiry, overlap: &r.overlap})
	}
}

// noteReleased notes when the copies that a release removed would have
// expired, and sees to the masters that have answered without removing theirs.
func (r *round) noteReleased(do *actions) {
	var longest int64
	for i := range r.votes {
		if a := &r.votes[i]; r.voted[i] && a.Votes && a.Applied && a.Before.Kind == Text {
			longest = max(longest, min(a.Before.TTL, maxStrayTTL))
		}
	}
	if longest == 0 {
		return
	}
	ttl := time.Duration(longest) * time.Millisecond
	r.released = [2]time.Duration{r.started + ttl - copySkew, r.f.q.clock.Now() + ttl + copySkew}
	for i := range r.votes {
		if r.voted[i] {
			r.missed(i, do)
		}
	}
}

// missed looks at a master's answer to a release that the others decided. A
// copy that also missed an extend is left to its TTL.
func (r *round) missed(i int, do *actions) {
	if r.released[1] == 0 || !r.table.HasToken || r.table.Mine.Effect != Delete {
		return
	}
	a := &r.votes[i]
	if a.Status == Unsent || a.Status == Lost || a.Status == Failed && a.Reason == ReasonTooLate {
		do.owe(stray{master: i, key: r.table.Key, token: r.table.Token, about: r.released, lost: a.Status == Lost})
	}
}
