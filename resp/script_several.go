package resp

import (
	"bytes"

	"redlock-proxy/redlock"
)

// A script that touches several keys is one swap of all of them, with two
// cases that need no second look: no key exists, and every key holds what the
// script compares it with. In any other it is run on what a quorum holds; if it
// writes then, a second swap expects exactly that.

// deriveSeveral fills the table of a script that touches several keys. An error
// is errRefused.
func (p *Plan) deriveSeveral(m *luaMachine) error {
	p.names, p.DefaultTTL = nil, false
	_, err := p.run(m, redlock.State{}, true)
	absent, err := p.leaves(m, err)
	if err != nil {
		return err
	}
	tokens, err := p.tokens(m)
	if err != nil {
		return err
	}
	var mine []redlock.Leaf
	if tokens != nil {
		if mine, err = p.guessMine(m, tokens); err != nil {
			return err
		}
	}
	if mine == nil {
		tokens = nil
	}
	p.fill(absent, tokens, mine)
	return nil
}

// leaves are the effects of a run that ended with err on the keys in p.names,
// nil if it needs to know more. New keys are added there.
func (p *Plan) leaves(m *luaMachine, err error) ([]redlock.Leaf, error) {
	if _, bad := p.collect(m); bad != nil {
		return nil, bad
	}
	switch err {
	case nil, errLua:
		return p.effects(m)
	case errLearn:
		return nil, nil
	}
	return nil, err
}

// collect adds the keys of the last run to p.names, and reports whether there
// are new ones.
func (p *Plan) collect(m *luaMachine) (grown bool, err error) {
	before := len(p.names)
	for i := range m.model.keys() {
		k := m.model.at(i)
		if k.db != p.DB {
			return false, m.refuse("touches keys in more than one database (%d and %d)", p.DB, k.db)
		}
		if k.place = p.placeOf(k.key, i); k.place == len(p.names) {
			p.names = append(p.names, k.key)
		}
	}
	if len(p.names) > maxScriptKeys {
		return false, m.refuse("touches more than %d keys", maxScriptKeys)
	}
	return len(p.names) > before, nil
}

// placeOf is where a key is in p.names, or their number. It is likely at i.
func (p *Plan) placeOf(key []byte, i int) int {
	if i < len(p.names) && bytes.Equal(p.names[i], key) {
		return i
	}
	for j := range p.names {
		if bytes.Equal(p.names[j], key) {
			return j
		}
	}
	return len(p.names)
}

// effects is what the last run did to the keys in p.names.
func (p *Plan) effects(m *luaMachine) ([]redlock.Leaf, error) {
	leaves := make([]redlock.Leaf, len(p.names))
	for i := range m.model.keys() {
		k := m.model.at(i)
		leaf, usedDefault, err := k.effect(m)
		if err != nil {
			return nil, err
		}
		leaves[k.place] = leaf
		p.DefaultTTL = p.DefaultTTL || usedDefault
	}
	return leaves, nil
}

// tokens is what the script compares each key with first, by a run in which
// they are equal; nil if it does not compare them all.
func (p *Plan) tokens(m *luaMachine) ([]givenKey, error) {
	m.model.given, m.model.bind = nil, true
	_, err := p.runGiven(m, redlock.State{Kind: redlock.Text, TTL: unknownTTL}, false)
	if err == errRefused {
		return nil, err
	}
	if _, bad := p.collect(m); bad != nil {
		return nil, bad
	}
	if m.model.keys() < len(p.names) {
		return nil, nil
	}
	tokens := make([]givenKey, len(p.names))
	for i := range m.model.keys() {
		k := m.model.at(i)
		if !k.isBound {
			return nil, nil
		}
		tokens[k.place] = givenKey{k.key, redlock.State{Kind: redlock.Text, Value: k.bound, TTL: unknownTTL}}
	}
	return tokens, nil
}

// guessMine runs the script where every key holds its token.
func (p *Plan) guessMine(m *luaMachine, tokens []givenKey) ([]redlock.Leaf, error) {
	n := len(p.names)
	_, err := p.runOn(m, tokens)
	mine, err := p.leaves(m, err)
	if len(p.names) > n {
		return nil, err // it went on to other keys
	}
	return mine, err
}

// runOn runs the script where every key is as given. Others, if it touches any,
// do not exist.
func (p *Plan) runOn(m *luaMachine, given []givenKey) (luaValue, error) {
	m.model.given, m.model.bind = given, false
	return p.runGiven(m, redlock.State{}, true)
}

// fill makes the present swap of what is to be done if all keys are absent, and
// if they hold their tokens. Where that is nil it has to be learned.
func (p *Plan) fill(absent []redlock.Leaf, tokens []givenKey, mine []redlock.Leaf) {
	look := redlock.Leaf{Effect: redlock.Learn}
	parts := make([]redlock.Part, len(p.names))
	for i := range parts {
		t := &parts[i]
		t.Key = p.names[i]
		if i < len(absent) {
			t.Absent = absent[i]
		}
		if i < len(mine) {
			t.Mine = mine[i]
		}
		if tokens != nil && tokens[i].state.Kind == redlock.Text {
			t.Token, t.HasToken = tokens[i].state.Value, true
		}
	}
	s := &parts[0]
	p.Swap = redlock.Swap{Key: s.Key, Token: s.Token, HasToken: s.HasToken, Absent: s.Absent, Mine: s.Mine,
		Other: look, Wrong: look, And: parts[1:]}
	if absent == nil {
		p.Swap.Absent = look
	}
	if mine == nil {
		p.Swap.Mine = look
	}
}

// given are the keys of the present swap in a state of it.
func (p *Plan) given(states []redlock.State) []givenKey {
	given := make([]givenKey, len(p.names))
	for i := range given {
		given[i].key = p.names[i]
		if i < len(states) {
			given[i].state = states[i]
		}
	}
	return given
}

// mineStates is what the keys of the first swap hold in CaseMine.
func (p *Plan) mineStates() []redlock.State {
	states := []redlock.State{{Kind: redlock.Text, Value: p.Swap.Token, TTL: unknownTTL}}
	for i := range p.Swap.And {
		states = append(states, redlock.State{Kind: redlock.Text, Value: p.Swap.And[i].Token, TTL: unknownTTL})
	}
	return states
}

// resolveSeveral is [Plan.Resolve] for several keys.
func (p *Plan) resolveSeveral(m *luaMachine, dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	var states []redlock.State
	switch {
	case p.Swap.Leaf(out.Case).Effect == redlock.Learn:
		return p.learnSeveral(m, dst, proto, out, again)
	case p.rounds > 0:
		states = p.vector
	case out.Case == redlock.CaseMine:
		states = p.mineStates()
	}
	v, err := p.runOn(m, p.given(states))
	return m.appendResult(dst, proto, p.script, &v, err), false
}

// learnSeveral runs the script on what a quorum holds.
func (p *Plan) learnSeveral(m *luaMachine, dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	states := append([]redlock.State{out.State}, out.Parts...)
	v, err := p.runOn(m, p.given(states))
	if err != nil && err != errLua {
		return m.appendResult(dst, proto, p.script, &v, err), false
	}
	if len(p.names) < m.model.keys() || p.isNew(m) {
		return p.lookAtAll(m, dst, again)
	}
	if _, bad := p.collect(m); bad != nil {
		return m.appendResult(dst, proto, p.script, &v, bad), false
	}
	leaves, bad := p.effects(m)
	if bad == nil && anyWrites(leaves) {
		if bad = p.allStrings(m, states); bad == nil {
			return p.commit(m, dst, states, leaves, again)
		}
	}
	if bad != nil {
		err = bad
	}
	return m.appendResult(dst, proto, p.script, &v, err), false
}

// isNew reports whether the last run touched a key that the present swap does
// not have.
func (p *Plan) isNew(m *luaMachine) bool {
	for i := range m.model.keys() {
		if p.placeOf(m.model.at(i).key, i) == len(p.names) {
			return true
		}
	}
	return false
}

// lookAtAll asks for the state of all keys, those of the last run too.
func (p *Plan) lookAtAll(m *luaMachine, dst []byte, again *redlock.Swap) ([]byte, bool) {
	if p.rounds++; p.rounds > maxRounds {
		return AppendError(dst, tooManyRounds), false
	}
	if _, bad := p.collect(m); bad != nil {
		return AppendError(dst, p.script.refusal(m.refusal)), false
	}
	p.fill(nil, nil, nil)
	*again = p.Swap
	return dst, true
}

// commit asks for a swap that applies the leaves to exactly these states.
func (p *Plan) commit(m *luaMachine, dst []byte, states []redlock.State, leaves []redlock.Leaf, again *redlock.Swap) ([]byte, bool) {
	if p.rounds++; p.rounds > maxRounds {
		return AppendError(dst, tooManyRounds), false
	}
	absent := true
	for i := range states {
		absent = absent && states[i].Kind == redlock.Absent
	}
	if absent {
		p.fill(leaves, nil, nil)
	} else {
		p.fill(nil, p.given(states), leaves)
	}
	for i := range m.model.keys() {
		k := m.model.at(i)
		switch {
		case !k.asked:
		case k.place == 0:
			p.Swap.TTLAtMost = states[0].Longest
		default:
			p.Swap.And[k.place-1].TTLAtMost = states[k.place].Longest
		}
	}
	p.vector = states
	*again = p.Swap
	return dst, true
}

func anyWrites(leaves []redlock.Leaf) bool {
	for i := range leaves {
		if leaves[i].Effect != redlock.Keep {
			return true
		}
	}
	return false
}

// allStrings refuses to change keys of which one holds something that is not a
// string: no swap can expect that together with others.
func (p *Plan) allStrings(m *luaMachine, states []redlock.State) error {
	for i := range states {
		if states[i].Kind == redlock.WrongType {
			return m.refuse("changes several keys, and %.64q does not hold a string", p.names[i])
		}
	}
	return nil
}
