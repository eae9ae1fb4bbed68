package redlock

import "slices"

// count tallies the votes. With over, masters that have not answered are
// unknown instead of pending.
func (r *round) count(over bool) tally {
	t := tally{n: len(r.votes), need: r.seats.need, topVote: -1}
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
		if r.sawNothing(i) {
			t.absent++
			created = created || a.Applied
			continue
		}
		if !a.Applied && r.holdsToken(i) {
			t.kept++
		}
		if n := r.same(i); n > t.top {
			t.top, t.topVote = n, i
		}
	}
	t.topIsOwn = created && t.topVote >= 0 && r.sawOwn(t.topVote)
	r.countKeys(&t)
	return t
}

// same counts the votes that saw the same value as vote i.
func (r *round) same(i int) int {
	n := 0
	for j := range r.votes {
		if r.counts(j) && r.sawSame(i, j) {
			n++
		}
	}
	return n
}

// counts reports whether vote i counts.
func (r *round) counts(i int) bool {
	return r.voted[i] && r.votes[i].Status == Answered && r.votes[i].Votes
}

// sawNothing reports whether vote i saw no key at all.
func (r *round) sawNothing(i int) bool {
	for k := range r.table.keys() {
		if r.saw(i, k).Kind != Absent {
			return false
		}
	}
	return true
}

// sawSame reports whether two votes saw the same, but for TTLs.
func (r *round) sawSame(i, j int) bool {
	for k := range r.table.keys() {
		if !r.sameAt(i, j, k) {
			return false
		}
	}
	return true
}

func (r *round) sameAt(i, j, k int) bool {
	return r.saw(i, k).Kind == r.saw(j, k).Kind && string(r.valueAt(i, k)) == string(r.valueAt(j, k))
}

// saw is what vote i saw at key k.
func (r *round) saw(i, k int) *State {
	if k > 0 {
		return &r.votes[i].And[k-1].Before
	}
	return &r.votes[i].Before
}

// valueAt is the string that vote i saw at key k.
func (r *round) valueAt(i, k int) []byte {
	if k == 0 && len(r.table.And) == 0 {
		return r.value(i)
	}
	return r.saw(i, k).Value
}

// sawOwn reports whether vote i saw what this attempt creates.
func (r *round) sawOwn(i int) bool {
	for k := range r.table.keys() {
		if l := r.table.part(k).Absent; l.Effect != Set || string(r.valueAt(i, k)) != string(l.Value) {
			return false
		}
	}
	return true
}

// holdsToken reports whether vote i saw a key that holds the token with which it
// is to be removed.
func (r *round) holdsToken(i int) bool {
	for k := range r.table.keys() {
		if p := r.table.part(k); p.HasToken && p.Mine.Effect == Delete && r.saw(i, k).Kind == Text && string(r.valueAt(i, k)) == string(p.Token) {
			return true
		}
	}
	return false
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
	if t.several && r.f.class == classRead {
		first := r.state(t, 0)
		return r.table.CaseOf(&first, r.parts(t))
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
	if t.several {
		return r.severalCase(t)
	}
	return CaseAbsent
}

// topCase names the leaf for the state that a quorum saw. Of copies of the
// token a quorum must be young enough too, if that is asked for.
func (r *round) topCase(t *tally) Case {
	c := r.voteCase(t.topVote)
	if !r.table.timed() || c > CaseOther {
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
	if len(r.table.And) > 0 {
		return r.severalVoteCase(i)
	}
	return r.table.Case(&a.Before)
}

// state is the state that a quorum saw at key k, absent without one. The TTL is
// the largest that a quorum of the masters vouches for, without padding.
func (r *round) state(t *tally, k int) State {
	switch {
	case t.top >= t.need:
		return r.stateOf(t.topVote, k, t.need)
	case !t.several:
		return State{}
	}
	return r.keyState(t, k)
}

// stateOf is what vote i saw at key k, with the need-th largest TTL among those
// that saw the same there.
func (r *round) stateOf(i, k, need int) State {
	if r.saw(i, k).Kind == Absent {
		return State{}
	}
	var room [spareMasters]int64
	ttls := room[:0]
	for j := range r.votes {
		if !r.counts(j) || !r.sameAt(i, j, k) {
			continue
		}
		ttl := r.saw(j, k).TTL
		if ttl == NoTTL {
			ttl = 1<<63 - 1
		}
		ttls = append(ttls, ttl)
	}
	slices.Sort(ttls)
	ttl := ttls[max(len(ttls)-need, 0)]
	s := State{Kind: r.saw(i, k).Kind, Value: r.valueAt(i, k), TTL: NoTTL}
	if ttl != 1<<63-1 {
		s.TTL = r.f.q.pad.unpad(ttl)
	}
	if longest := ttls[len(ttls)-1]; longest != 1<<63-1 {
		s.Longest = r.f.q.pad.unpad(longest)
	}
	return s
}
