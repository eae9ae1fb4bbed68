package redlock

import "time"

// split is a vote for an acquire that nobody has won: the contender that
// created the key on the lowest-numbered answering master keeps its copies and
// asks the others again, everyone else gives way (design §4.4).
func (f *flight) split(r *round, t *tally, over bool, do *actions) {
	now := f.q.clock.Now()
	took := max(now-r.started, time.Millisecond/2)
	keeper := r.isKeeper()
	delay := took + f.jitter(took)
	if !keeper {
		delay = 2*took + f.jitter(4*took)
	}
	answers := f.q.opTimeout / 8 // without time for them another try would end as an error
	if over || f.op == nil || f.followed.Load() || now+delay+answers >= r.voteBy {
		r.close(do)
		f.finish(r.heldBySplit(t), do)
		return
	}
	if !keeper {
		r.close(do)
		f.q.Stats.SplitRetries.Add(1)
		do.retry(r, delay)
		return
	}
	if !r.resending {
		r.resending = true
		f.q.Stats.SplitRetries.Add(1)
		do.resend(r, delay)
	}
}

// isKeeper reports whether this attempt created the key on the lowest-numbered
// master that voted.
func (r *round) isKeeper() bool {
	for i := range r.votes {
		if a := &r.votes[i]; r.voted[i] && a.Status == Answered && a.Votes {
			return r.created(i)
		}
	}
	return false
}

// heldBySplit is what a contender is told that gives up a split vote: the key
// is somebody else's, or about to be. Never that it is its own: what holds the
// contender's token already, as the leftover of an earlier attempt may, is no
// majority.
func (r *round) heldBySplit(t *tally) Outcome {
	i := r.mostInTheWay()
	if i < 0 {
		return Outcome{Case: CaseOther, State: State{Kind: Text, TTL: 1}, Parts: make([]State, len(r.table.And))}
	}
	return Outcome{Case: r.voteCase(i), State: r.stateOf(i, 0, t.need), Parts: r.partsOf(i, t)}
}

// mostInTheWay is a vote that saw what most of those saw that saw something
// else than the table's token; -1 if there is none.
func (r *round) mostInTheWay() int {
	most, vote := 0, -1
	for i := range r.votes {
		if !r.counts(i) || r.sawNothing(i) || r.voteCase(i) == CaseMine {
			continue
		}
		if n := r.same(i); n > most {
			most, vote = n, i
		}
	}
	return vote
}

// resend asks the masters again that were in a keeper's way. If a removal of
// the same value has been sent since, it may have hit the copies that were to
// be kept: then everything starts afresh.
func (r *round) resend() {
	f, q := r.f, r.f.q
	var refused bitset
	var do actions
	locks := q.lock(&r.table)
	f.mu.Lock()
	r.resending = false
	switch {
	case r.phase != voting || f.cur != r:
	case f.followed.Load():
		t := r.count(false)
		r.close(&do)
		f.finish(r.heldBySplit(&t), &do)
		r.forget(&do)
	case r.overlap.removed.Load():
		r.close(&do)
		r.forget(&do)
		do.retry(r, 0)
	default:
		again := r.inTheWay()
		f.mu.Unlock()
		for i := range r.calls {
			if again.has(i) && !q.send(r.seats, i, &r.calls[i]) {
				refused.set(i)
			}
		}
		f.mu.Lock()
	}
	f.mu.Unlock()
	locks.unlock()
	r.refused(&refused)
	do.run(f)
}

// inTheWay opens the votes of masters that this attempt did not get and that
// can be asked again.
func (r *round) inTheWay() bitset {
	var b bitset
	wasAnswered := r.pending == 0
	for i := range r.votes {
		a := &r.votes[i]
		if r.voted[i] && !r.created(i) && (a.Status == Answered || a.Status == Unsent) {
			r.voted[i] = false
			r.pending++
			b.set(i)
		}
	}
	if wasAnswered && r.pending > 0 {
		r.f.q.outstanding.Add(1)
	}
	return b
}
