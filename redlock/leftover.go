package redlock

import "time"

// A release that reached a master too late, or not at all, leaves the copy
// there, because a removal by value must not be executed late (see
// [Call.Bounded]). The other masters showed when their copies would have
// expired. If no majority holds the token by now, a copy that expires at about
// the same time is removed afterwards; one that missed an extend is left to its
// TTL.

// released is when the copies that a release removed would have expired, in
// Clock time; to is 0 if none was removed.
type released struct{ from, to time.Duration }

// copySkew is how much copies of one lock may differ in their expiry, beyond
// what is known of when they were looked at.
const copySkew = 10 * time.Millisecond

// maxLeftover, in milliseconds, is the longest TTL that can be told apart; a
// year.
const maxLeftover = 365 * 24 * 3600 * 1000

// noteReleased notes the expiry of the copies that were removed, and sees to
// the masters that have answered without removing theirs.
func (r *round) noteReleased(do *actions) {
	var longest int64
	for i := range r.votes {
		if a := &r.votes[i]; r.voted[i] && a.Votes && a.Applied && a.Before.Kind == Text {
			longest = max(longest, min(a.Before.TTL, maxLeftover))
		}
	}
	if longest == 0 {
		return
	}
	ttl := time.Duration(longest) * time.Millisecond
	r.released = released{r.started + ttl - copySkew, r.f.q.clock.Now() + ttl + copySkew}
	for i := range r.votes {
		if r.voted[i] {
			r.leftover(i, do)
		}
	}
}

// leftover looks at a master's answer to a release that the others decided.
func (r *round) leftover(i int, do *actions) {
	a := &r.votes[i]
	if r.released.to == 0 || !r.table.HasToken || r.table.Mine.Effect != Delete {
		return
	}
	switch missed := a.Status == Unsent || a.Status == Failed && a.Reason == ReasonTooLate; {
	case a.Status == Lost, missed && r.f.q.masters[i].Down() != "":
		r.f.q.Stats.LeftToTTL.Add(1)
	case missed:
		do.checks = append(do.checks, strayCopy{r: r, i: i, token: r.table.Token, remove: (*round).removeLeftover})
	}
}

// removeLeftover sends master i the removal of what a release has left there.
func (r *round) removeLeftover(i int, do *actions) {
	q := r.f.q
	r.addUndo(i, do, &Call{
		Table:    &Swap{Key: r.table.Key, Token: r.table.Token, HasToken: true, Mine: Leaf{Effect: Delete}},
		About:    [2]time.Duration{r.released.from, r.released.to},
		Deadline: q.clock.Now() + undoTimeout,
	})
}
