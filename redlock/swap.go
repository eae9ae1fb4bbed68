package redlock

// NoTTL in [State.TTL] says that the key has no expiry.
const NoTTL int64 = -1

// KeepTTL in [Leaf.TTL] leaves the expiry of an existing key as it is
// (SET … KEEPTTL).
const KeepTTL int64 = -1

// Kind is what there is at a key.
type Kind uint8

// The kinds of [State].
const (
	Absent    Kind = iota // no such key
	Text                  // a string value
	WrongType             // a list, hash, …: not a lock
)

// State is what a master, or a quorum of masters, holds at one key.
type State struct {
	Kind  Kind
	Value []byte // the string, if Kind is Text; shared, not to be modified
	TTL   int64  // remaining milliseconds, NoTTL without expiry; 0 if absent

	// Longest, in an [Outcome], is the remaining time of the copy that lives
	// longest among those counted, 0 if one has no expiry: the TTLAtMost of a
	// swap that expects the key untouched.
	Longest int64
}

// Effect is what a master does to a key in one case of a [Swap].
type Effect uint8

// The effects of a [Leaf].
const (
	Keep   Effect = iota // leave the key alone; the reply in this case is known
	Learn                // leave the key alone; the caller must see the state first
	Set                  // set Value, with TTL
	Expire               // give the key a new TTL
	Delete               // remove the key
)

// Leaf is one case of a [Swap].
type Leaf struct {
	Effect Effect
	Value  []byte // for Set
	TTL    int64  // milliseconds > 0 for Set and Expire; KeepTTL allowed for Set
}

// timed reports whether the leaf gives a key a TTL.
func (l *Leaf) timed() bool { return (l.Effect == Set || l.Effect == Expire) && l.TTL > 0 }

// writes reports whether the leaf changes a key.
func (l *Leaf) writes() bool { return l.Effect >= Set }

// Swap is an atomic change of one key by a decision table: the leaf that fits
// the state a master sees is applied there, all or nothing. With And it is a
// change of several keys, see several.go.
//
// The byte slices belong to the engine from [Quorum.Start] on and must not be
// modified again: answers may arrive after the outcome.
type Swap struct {
	Key []byte

	// Token is what Mine compares with, if HasToken; it may be empty.
	Token    []byte
	HasToken bool
	// TTLAtMost, if not 0, makes a key that holds Token count as Other if it
	// has no expiry, or a longer one than so many milliseconds as its client
	// would see it: it was renewed, or set again, since that was seen. Copies
	// of one lock may differ by an op timeout, which is allowed for.
	TTLAtMost int64

	Absent Leaf // the key does not exist
	Mine   Leaf // it holds Token
	Other  Leaf // it holds another string (any string without HasToken)
	Wrong  Leaf // it holds something that is not a string

	// And are further keys, each named once, that are changed together with
	// Key or not at all.
	And []Part
}

// Case names a leaf of a [Swap].
type Case uint8

// The cases of a [Swap].
const (
	CaseAbsent Case = iota
	CaseMine
	CaseOther
	CaseWrong
)

// Case tells which leaf of s fits the state.
func (s *Swap) Case(st *State) Case {
	switch {
	case st.Kind == Absent:
		return CaseAbsent
	case st.Kind == WrongType:
		return CaseWrong
	case s.HasToken && string(s.Token) == string(st.Value) && within(st.TTL, s.TTLAtMost):
		return CaseMine
	}
	return CaseOther
}

// within reports whether a remaining time is not longer than atMost, if that
// is not 0.
func within(ttl, atMost int64) bool {
	return atMost == 0 || ttl != NoTTL && ttl <= atMost
}

// Leaf returns the leaf for a case.
func (s *Swap) Leaf(c Case) *Leaf {
	switch c {
	case CaseAbsent:
		return &s.Absent
	case CaseMine:
		return &s.Mine
	case CaseOther:
		return &s.Other
	}
	return &s.Wrong
}
