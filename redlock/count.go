package redlock

import "slices"

// count tallies the votes. With over, masters that have not answered are
// unknown instead of pending.
func (r *round) count(over bool) tally {
	t := tally{n: len(r.votes), need: r.f.q.need, topVote: -1}
	created := false
	for i := range r.votes {
		a := &r.votes[i]
		switch {
		case !r.voted[i] && !over:
			t.pending++
			continue
		case !r.voted[i] || a.Status != Answered || !a.Votes:
			if !r.f.q.off.unknown {
				t.unknown++
			} else {
				t.answered, t.absent = t.answered+1, t.absent+1
			}
			continue
		}
		t.answered++
		if a.Applied {
			t.applied++
		}
		if a.Before.Kind == Absent {
			t.absent++
			created = created || a.Applied
			continue
		}
		if n := r.same(i); n > t.top {
			t.top, t.topVote = n, i
		}
	}
	t.topIsOwn = created && t.topVote >= 0 && r.table.Absent.Effect == Set &&
		string(r.value(t.topVote)) == string(r.table.Absent.Value)
	return t
}

// same counts the votes that saw the same value as vote i.
func (r *round) same(i int) int {
	n := 0
	for j := range r.votes {
		a := &r.votes[j]
		if r.voted[j] && a.Status == Answered && a.Votes && a.Before.Kind == r.votes[i].Before.Kind &&
			string(r.value(i)) == string(r.value(j)) {
			n++
		}
	}
	return n
}

// value is the string that vote i saw.
func (r *round) value(i int) []byte {
	if r.votes[i].Mine {
		return r.table.Token
	}
	return r.votes[i].Before.Value
}

// caseOf names the leaf that a successful round stands for: the state that a
// quorum was in, otherwise the writing one that applies.
func (r *round) caseOf(t *tally) Case {
	if t.top >= t.need {
		return r.topCase(t)
	}
	if r.table.Absent.writes() {
		return CaseAbsent
	}
	best, most := CaseAbsent, 0
	for c := CaseMine; c <= CaseWrong; c++ {
		if n := r.appliedIn(c); n > most {
			best, most = c, n
		}
	}
	return best
}

// deniedCase names the state that stands in the way.
func (r *round) deniedCase(t *tally) Case {
	if t.top >= t.need {
		return r.topCase(t)
	}
	return CaseAbsent
}

// topCase names the leaf for the state that a quorum saw. Of copies of the
// token a quorum must be young enough too, if that is asked for.
func (r *round) topCase(t *tally) Case {
	c := r.voteCase(t.topVote)
	if r.table.TTLAtMost == 0 || c > CaseOther {
		return c
	}
	mine := 0
	for i := range r.votes {
		if r.voted[i] && r.votes[i].Votes && r.votes[i].Mine {
			mine++
		}
	}
	if mine >= t.need {
		return CaseMine
	}
	return CaseOther
}

func (r *round) appliedIn(c Case) int {
	n := 0
	for i := range r.votes {
		if a := &r.votes[i]; r.voted[i] && a.Votes && a.Applied && r.voteCase(i) == c {
			n++
		}
	}
	return n
}

func (r *round) voteCase(i int) Case {
	a := &r.votes[i]
	if a.Mine {
		return CaseMine
	}
	return r.table.Case(&a.Before)
}

// state is the state that a quorum saw, absent without one. The TTL is the
// largest that a quorum of the masters vouches for, without padding.
func (r *round) state(t *tally) State {
	if t.top < t.need {
		return State{}
	}
	return r.stateOf(t.topVote, t.need)
}

// stateOf is what vote i saw, with the need-th largest TTL among those that
// saw the same.
func (r *round) stateOf(i, need int) State {
	var room [2 * inlineMasters]int64
	ttls := room[:0]
	for j := range r.votes {
		a := &r.votes[j]
		if !r.voted[j] || a.Status != Answered || !a.Votes || a.Before.Kind != r.votes[i].Before.Kind ||
			string(r.value(i)) != string(r.value(j)) {
			continue
		}
		ttl := a.Before.TTL
		if ttl == NoTTL {
			ttl = 1<<63 - 1
		}
		ttls = append(ttls, ttl)
	}
	slices.Sort(ttls)
	ttl := ttls[max(len(ttls)-need, 0)]
	s := State{Kind: r.votes[i].Before.Kind, Value: r.value(i), TTL: NoTTL}
	if ttl != 1<<63-1 {
		s.TTL = r.f.q.pad.unpad(ttl)
	}
	if longest := ttls[len(ttls)-1]; longest != 1<<63-1 {
		s.Longest = r.f.q.pad.unpad(longest)
	}
	return s
}
