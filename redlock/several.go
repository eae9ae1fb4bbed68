package redlock

import "bytes"

// A swap of several keys has two cases in which it changes them, and changes
// all of them:
//
//	CaseAbsent  no key exists: the Absent leaves
//	CaseMine    every key is as expected, that is, holds its Token, or does not
//	            exist if it has none: the Mine leaves
//	CaseOther   anything else: nothing is changed, Other is Keep or Learn
//
// Each master applies it atomically and answers what it saw at every key, and
// masters that saw the same at all keys vote together. Where they do not agree,
// leftovers of failed attempts for example, each key is decided like a read of
// that key alone. What an attempt created is undone key by key.

// Part is a further key of a [Swap]; its fields are those of the swap's own.
type Part struct {
	Key       []byte
	Token     []byte
	HasToken  bool
	TTLAtMost int64
	Absent    Leaf
	Mine      Leaf
}

// keys is how many keys the swap has.
func (s *Swap) keys() int { return 1 + len(s.And) }

// key is the name of key k; 0 is the swap's own.
func (s *Swap) key(k int) []byte {
	if k > 0 {
		return s.And[k-1].Key
	}
	return s.Key
}

// part is key k of a swap of several keys; 0 is the swap's own.
func (s *Swap) part(k int) Part {
	if k > 0 {
		return s.And[k-1]
	}
	return Part{Key: s.Key, Token: s.Token, HasToken: s.HasToken, TTLAtMost: s.TTLAtMost, Absent: s.Absent, Mine: s.Mine}
}

// shares reports whether two swaps have a key in common.
func (s *Swap) shares(other *Swap) bool {
	for k := range s.keys() {
		for j := range other.keys() {
			if bytes.Equal(s.key(k), other.key(j)) {
				return true
			}
		}
	}
	return false
}

// leaf is what is done to the key in a case.
func (p *Part) leaf(c Case) *Leaf {
	switch c {
	case CaseAbsent:
		return &p.Absent
	case CaseMine:
		return &p.Mine
	}
	return &Leaf{}
}

// expects reports whether the key is as expected.
func (p *Part) expects(st *State) bool {
	if !p.HasToken {
		return st.Kind == Absent
	}
	return st.Kind == Text && string(st.Value) == string(p.Token) && within(st.TTL, p.TTLAtMost)
}

// created is the value that a case gives a key which does not exist.
func (p *Part) created(c Case) (value []byte, ttl int64, ok bool) {
	l := p.leaf(c)
	if l.Effect != Set || c != CaseAbsent && p.HasToken {
		return nil, 0, false
	}
	return l.Value, l.TTL, true
}

// CaseOf tells which case of s fits the states of its key and of those in And.
// Without And it is s.Case(first).
func (s *Swap) CaseOf(first *State, and []State) Case {
	if len(s.And) == 0 {
		return s.Case(first)
	}
	absent, expected := true, true
	for k := range s.keys() {
		st := first
		if k > 0 {
			st = &and[k-1]
		}
		p := s.part(k)
		absent = absent && st.Kind == Absent
		expected = expected && p.expects(st)
	}
	switch {
	case absent:
		return CaseAbsent
	case expected:
		return CaseMine
	}
	return CaseOther
}

// creates reports whether the swap may create a key: then it needs a grant, and
// what it created can be undone.
func (s *Swap) creates() bool {
	if s.Absent.Effect == Set {
		return true
	}
	for k := 0; k < s.keys() && len(s.And) > 0; k++ {
		p := s.part(k)
		for c := CaseAbsent; c <= CaseMine; c++ {
			if _, _, ok := p.created(c); ok {
				return true
			}
		}
	}
	return false
}

// changesPart reports whether a further key is changed in CaseMine.
func (s *Swap) changesPart() bool {
	for i := range s.And {
		if s.And[i].Mine.writes() {
			return true
		}
	}
	return false
}

// classOfParts is what the further keys of a swap that creates none ask for.
func classOfParts(s *Swap) class {
	c := classRead
	for i := range s.And {
		switch s.And[i].Mine.Effect {
		case Set, Expire:
			return classModify
		case Delete:
			c = classDelete
		}
	}
	return c
}

// padParts pads the TTLs of the further keys, in a copy of them.
func (q *Quorum) padParts(s *Swap) {
	if len(s.And) == 0 {
		return
	}
	and := make([]Part, len(s.And))
	for i, p := range s.And {
		p.TTLAtMost = q.pad.atMost(p.TTLAtMost)
		q.padLeaf(&p.Absent)
		q.padLeaf(&p.Mine)
		and[i] = p
	}
	s.And = and
}

// Held is what a master saw at a further key of a [Swap].
type Held struct {
	Before State
	// Given is the TTL that a Set or Expire gave the key, in milliseconds, 0 if
	// there was none; Expiry is as in [Answer].
	Given  int64
	Expiry Window
}
