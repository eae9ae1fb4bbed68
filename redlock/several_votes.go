package redlock

// countKeys completes the tally of a swap of several keys: where no quorum saw
// the same at all of them, each is decided like a read of that key alone.
func (r *round) countKeys(t *tally) {
	t.several = len(r.table.And) > 0
	if !t.several {
		return
	}
	for k := range r.table.keys() {
		top, vote := r.topAt(k)
		if top < t.need && top+t.unknown+t.pending >= t.need {
			t.open = true
		}
		if top >= t.need && !r.isOwnAt(vote, k) || !r.mayBeExpected(t, k) {
			t.held = true
		}
	}
}

// mayBeExpected reports whether a quorum may still be found where key k is as
// expected. A key that is expected to be there does not come back by trying
// again, if the table does nothing where all are absent.
func (r *round) mayBeExpected(t *tally, k int) bool {
	p, n := r.table.part(k), t.unknown+t.pending
	if !p.HasToken || r.table.Absent.writes() {
		return true
	}
	for i := range r.votes {
		if r.counts(i) && p.expects(r.saw(i, k)) {
			n++
		}
	}
	return n >= t.need
}

// topAt is the state that most votes saw at key k, but for absent, and how many
// they are; -1 if all were absent.
func (r *round) topAt(k int) (top, vote int) {
	vote = -1
	for i := range r.votes {
		if !r.counts(i) || r.saw(i, k).Kind == Absent {
			continue
		}
		n := 0
		for j := range r.votes {
			if r.counts(j) && r.sameAt(i, j, k) {
				n++
			}
		}
		if n > top {
			top, vote = n, i
		}
	}
	return top, vote
}

// isOwnAt reports whether what vote i saw at key k is no obstacle: it is what
// the table would create there, or what it expects.
func (r *round) isOwnAt(i, k int) bool {
	p, v := r.table.part(k), r.valueAt(i, k)
	if r.saw(i, k).Kind != Text {
		return false
	}
	return p.HasToken && string(v) == string(p.Token) ||
		p.Absent.Effect == Set && string(v) == string(p.Absent.Value)
}

// keyState is the state of key k where no quorum saw the same at all keys. A
// key that is not decided is shown as held by who has most votes: nothing is
// granted then.
func (r *round) keyState(t *tally, k int) State {
	top, vote := r.topAt(k)
	if vote < 0 || top+t.unknown+t.pending < t.need {
		return State{}
	}
	return r.stateOf(vote, k, t.need)
}

// parts are the states of the further keys.
func (r *round) parts(t *tally) []State {
	if !t.several {
		return nil
	}
	and := make([]State, len(r.table.And))
	for i := range and {
		and[i] = r.state(t, i+1)
	}
	return and
}

// partsOf are the states of the further keys as vote i saw them.
func (r *round) partsOf(i int, t *tally) []State {
	if !t.several {
		return nil
	}
	and := make([]State, len(r.table.And))
	for k := range and {
		and[k] = r.stateOf(i, k+1, t.need)
	}
	return and
}

// severalCase names the case that stands in the way where no quorum saw the same
// at all keys. No quorum was in CaseMine then.
func (r *round) severalCase(t *tally) Case {
	for k := range r.table.keys() {
		if s := r.keyState(t, k); s.Kind != Absent {
			return CaseOther
		}
	}
	return CaseAbsent
}

// severalVoteCase is the case that vote i was in; not CaseMine.
func (r *round) severalVoteCase(i int) Case {
	if r.sawNothing(i) {
		return CaseAbsent
	}
	return CaseOther
}

// timed reports whether the swap expects a remaining TTL.
func (s *Swap) timed() bool {
	timed := s.TTLAtMost != 0
	for i := range s.And {
		timed = timed || s.And[i].TTLAtMost != 0
	}
	return timed
}
