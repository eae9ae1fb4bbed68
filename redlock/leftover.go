package redlock

import "time"

// A release that reached a master too late, or not at all, leaves the copy
// there, because a removal by value must not be executed late (see
// [Call.Bounded]). The other masters showed when their copies would have
// expired; a copy that expires at about the same time is removed afterwards.
// What is taken again with the same token expires later.

// released is what a quorum showed of the copies that it removed.
type released struct {
	done     bool
	from, to time.Duration // their expiry, in Clock time
}

// released notes the expiry of the copies that were removed, and sees to the
// masters that have answered without removing theirs.
func (r *round) noteReleased(do *actions) {
	now := r.f.q.clock.Now()
	for i := range r.votes {
		a := &r.votes[i]
		if !r.voted[i] || !a.Votes || !a.Applied || a.Before.TTL <= 0 || a.Before.Kind != Text {
			continue
		}
		ttl := time.Duration(min(a.Before.TTL, maxLeftover)) * time.Millisecond
		if !r.released.done || r.started+ttl < r.released.from {
			r.released.from = r.started + ttl
		}
		r.released.to = max(r.released.to, now+ttl)
		r.released.done = true
	}
	for i := range r.votes {
		if r.voted[i] {
			r.leftover(i, do)
		}
	}
}

// maxLeftover, in milliseconds, is the longest TTL that can be told apart; a
// year.
const maxLeftover = 365 * 24 * 3600 * 1000

// leftover sends a master that missed the release a removal of that copy.
func (r *round) leftover(i int, do *actions) {
	a, q := &r.votes[i], r.f.q
	if !r.released.done || !r.table.HasToken || r.table.Mine.Effect != Delete {
		return
	}
	switch {
	case a.Status == Lost:
		q.Stats.LeftToTTL.Add(1)
		return
	case a.Status == Answered || a.Status == Failed && a.Reason != ReasonTooLate:
		return
	}
	q.Stats.UndoSent.Add(1)
	r.undos++
	do.undos = append(do.undos, &Call{
		Table:    &Swap{Key: r.table.Key, Token: r.table.Token, HasToken: true, Mine: Leaf{Effect: Delete}},
		About:    [2]time.Duration{r.released.from - q.opTimeout, r.released.to + q.opTimeout},
		Deadline: q.clock.Now() + undoTimeout,
		round:    r, index: int32(i), undo: true,
	})
}
