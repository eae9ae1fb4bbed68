package resp

import (
	"bytes"

	"redlock-proxy/redlock"
)

// A transaction that expects something is run on what was watched. If that is
// all it needs to know it is one swap that expects just that. If it touches
// other keys too, or asks for a TTL, it looks at all of them first.

// expectation is how far such a transaction is.
type expectation struct {
	looking bool         // the present swap only asks for the states
	missed  bool         // one that expected p.vector did not find it
	in      redlock.Case // in which the present swap finds what it expects
}

// watches reports whether the script is a transaction that expects something.
func (s *Script) watches() bool { return s.tx != nil && len(s.tx.watched) > 0 }

// refusal is the reply if the script is outside what is modelled.
func (s *Script) refusal(reason string) string {
	if s.tx != nil {
		return aborted(refusedTransaction(reason))
	}
	return refusedText(reason)
}

// transact derives the first swap of a transaction. The reason is not empty if
// it is outside what is modelled.
func (p *Plan) transact() (reason string) {
	m := p.machine()
	defer p.done(m)
	derive := p.derive
	if p.script.watches() {
		derive = p.deriveWatched
	}
	if p.first(m, derive) != nil {
		return m.refusal
	}
	return ""
}

// deriveWatched is derive for a transaction that expects something.
func (p *Plan) deriveWatched(m *luaMachine) error {
	watched := p.script.tx.watched
	given, states := make([]givenKey, len(watched)), make([]redlock.State, len(watched))
	for i := range watched {
		w := &watched[i]
		if w.DB != p.db {
			return m.refuse("watches a key in database %d and runs in %d", w.DB, p.db)
		}
		p.names = append(p.names, w.Key)
		states[i] = w.assumed()
		given[i] = givenKey{w.Key, states[i]}
	}
	m.model.given, m.model.bind = given, false
	_, err := p.runGiven(m, redlock.State{Kind: redlock.Text, TTL: unknownTTL}, false)
	leaves, err := p.leaves(m, err)
	if err != nil {
		return err
	}
	if leaves == nil || len(p.names) > len(watched) {
		p.expects.looking, p.DefaultTTL = true, false
		p.fill(nil, nil, nil)
		return nil
	}
	return p.expectWatched(m, states, leaves)
}

// expectWatched makes the present swap one that applies the leaves to exactly
// these states, and nothing to any others. An error is errRefused.
func (p *Plan) expectWatched(m *luaMachine, states []redlock.State, leaves []redlock.Leaf) error {
	in, absent := redlock.CaseMine, true
	for i := range states {
		absent = absent && states[i].Kind == redlock.Absent
		if states[i].Kind == redlock.WrongType {
			in = redlock.CaseWrong
		}
	}
	switch {
	case absent:
		in = redlock.CaseAbsent
		p.fill(leaves, nil, nil)
	case in == redlock.CaseWrong && len(states) > 1:
		return p.allStrings(m, states)
	default:
		p.fill(nil, p.given(states), leaves)
	}
	s := &p.Swap
	for c := redlock.CaseAbsent; c <= redlock.CaseWrong; c++ {
		if c != in {
			*s.Leaf(c) = redlock.Leaf{}
		}
	}
	if in == redlock.CaseWrong {
		s.Wrong = leaves[0]
	}
	p.limitTTLs(m, states)
	p.vector = states
	p.expects = expectation{in: in}
	return nil
}

// limitTTLs makes the present swap expect that what is watched has no longer
// TTL than it should have, nor any key whose TTL the last run has asked for.
func (p *Plan) limitTTLs(m *luaMachine, states []redlock.State) {
	limit := func(place int, ttl int64) {
		at := &p.Swap.TTLAtMost
		if place > 0 {
			at = &p.Swap.And[place-1].TTLAtMost
		}
		if states[place].Kind == redlock.Text && ttl > 0 && (*at == 0 || ttl < *at) {
			*at = ttl
		}
	}
	for i := range m.model.keys() {
		if k := m.model.at(i); k.asked {
			limit(k.place, states[k.place].Longest)
		}
	}
	for i := range p.script.tx.watched {
		limit(i, p.script.tx.watched[i].ttlAtMost())
	}
}

// watchesNoList refuses a transaction that waits for a list to change.
func (s *Script) watchesNoList(m *luaMachine) error {
	if !s.watches() {
		return nil
	}
	for i := range s.tx.watched {
		if key := s.tx.watched[i].Key; m.model.list(key) != nil {
			return m.refuse("watches %.64q and pushes to it; "+noLists, key)
		}
	}
	return nil
}

// resolveWatched is [Plan.Resolve] for a transaction that expects something.
func (p *Plan) resolveWatched(m *luaMachine, dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	e := &p.expects
	switch {
	case e.looking:
		return p.lookedWatched(m, dst, proto, out, again)
	case out.Case == e.in:
		v, err := p.runOn(m, p.given(p.vector))
		return m.appendResult(dst, proto, p.script, &v, err), false
	case p.spent:
		return AppendError(dst, doneTooLate), false
	case len(p.names) == len(p.script.tx.watched):
		return AppendNullArray(dst, proto), false
	}
	e.missed = true // perhaps by a key that is not watched
	return p.lookWatched(m, dst, again)
}

// lookWatched asks for the states of all keys, those of the last run too.
func (p *Plan) lookWatched(m *luaMachine, dst []byte, again *redlock.Swap) ([]byte, bool) {
	p.expects.looking = true
	return p.lookAtAll(m, dst, again)
}

// lookedWatched runs the transaction on what a quorum holds.
func (p *Plan) lookedWatched(m *luaMachine, dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	states := append([]redlock.State{out.State}, out.Parts...)
	if !p.isAsWatched(states) || p.expects.missed && sameStates(states, p.vector) {
		return AppendNullArray(dst, proto), false
	}
	v, err := p.runOn(m, p.given(states))
	switch {
	case err != nil:
		return m.appendResult(dst, proto, p.script, &v, err), false
	case p.isNew(m):
		return p.lookWatched(m, dst, again)
	}
	leaves, err := p.leaves(m, nil)
	if err == nil {
		err = p.expectWatched(m, states, leaves)
	}
	if err != nil {
		return m.appendResult(dst, proto, p.script, &v, err), false
	}
	*again = p.Swap
	return dst, true
}

// isAsWatched reports whether the states are those watched, but for TTLs. The
// keys that are watched come first.
func (p *Plan) isAsWatched(states []redlock.State) bool {
	for i := range p.script.tx.watched {
		if !sameState(&states[i], &p.script.tx.watched[i].State) {
			return false
		}
	}
	return true
}

func sameStates(a, b []redlock.State) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameState(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// sameState reports whether two states are the same, but for TTLs.
func sameState(a, b *redlock.State) bool { return a.Kind == b.Kind && bytes.Equal(a.Value, b.Value) }

// assumed is what a run on the watched state knows: not its TTL, which goes on.
func (w *Watched) assumed() redlock.State {
	s := w.State
	if s.Kind != redlock.Absent {
		s.TTL = unknownTTL
	}
	return s
}

// ttlAtMost is how long the key may live if nobody has renewed it, or set it
// again to the same value, since it was watched; 0 if it has no expiry. Nine
// tenths of the time that has passed are taken off, because a remaining time
// as the client sees it shrinks that slowly while it is short: what a master
// stores is longer by up to a tenth.
func (w *Watched) ttlAtMost() int64 {
	if w.State.Longest == 0 {
		return 0
	}
	const rounding = 2
	return max(w.State.Longest-w.Age.Milliseconds()*9/10+rounding, 1)
}
