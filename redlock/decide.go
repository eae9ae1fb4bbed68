package redlock

// class says which merge rule a table needs (design §4.3–6).
type class uint8

const (
	classRead    class = iota // nothing is written
	classAcquire              // a free key is set: needs a grant, can be undone
	classModify               // an existing key is set or given a new TTL
	classDelete               // keys are only removed
)

// classify finds the merge rule for a table.
func classify(s *Swap) class {
	if s.creates() {
		return classAcquire
	}
	c := classOfParts(s)
	if c == classModify {
		return c
	}
	for _, l := range [...]*Leaf{&s.Mine, &s.Other, &s.Wrong} {
		switch l.Effect {
		case Set, Expire:
			return classModify
		case Delete:
			c = classDelete
		}
	}
	return c
}

// tally is the votes of one round, counted.
type tally struct {
	n, need  int
	answered int // votes
	applied  int // votes whose master applied a writing leaf
	unknown  int // masters that will not vote any more
	pending  int // masters that may still vote

	// top is the state that most votes saw, and its count; absent states do
	// not take part.
	top      int
	topVote  int // index of a vote that saw it, -1 if none
	absent   int
	topIsOwn bool // top is the value this very attempt would set, and it created copies

	kept int // votes whose master still holds the token, though others applied the table

	// Of several keys; see several.go.
	several bool
	open    bool // a key is not decided yet
	held    bool // a key has somebody else's value on a quorum
}

// ruling is what a tally means.
type ruling uint8

const (
	wait    ruling = iota
	applied        // a quorum applied the table
	denied         // a quorum was in a state that the table does not write to
	split          // an acquire that nobody can be said to have won or lost
	unknown        // not enough votes
)

// decide applies the merge rules of design §4. With pending votes it answers
// only what no pending vote can change.
func decide(c class, t *tally) ruling {
	switch c {
	case classAcquire:
		return decideAcquire(t)
	case classModify:
		return decideModify(t)
	case classDelete:
		return decideDelete(t)
	}
	return decideRead(t)
}

// tooFew reports whether the votes of n masters, of which need are a quorum, are not
// worth counting: fewer than a quorum decide nothing while a quorum may still vote.
// (Of several keys one may be lost before.)
func tooFew(n, need, pending int) bool { return n-pending < need && pending >= need }

func decideAcquire(t *tally) ruling {
	switch {
	case t.applied >= t.need:
		return applied
	case t.applied+t.pending >= t.need:
		return wait
	case t.answered >= t.need && (t.top >= t.need && !t.topIsOwn || t.held):
		return denied
	case t.answered >= t.need:
		return split
	case t.answered+t.pending >= t.need:
		return wait
	}
	return unknown
}

func decideModify(t *tally) ruling {
	switch {
	case t.applied >= t.need:
		return applied
	case t.applied+t.unknown+t.pending < t.need && !t.open:
		return denied
	case t.pending > 0:
		return wait
	}
	return unknown
}

func decideDelete(t *tally) ruling {
	if t.pending == 0 && t.applied >= 1 && t.applied+t.unknown >= t.need && t.answered >= t.need && t.kept+t.unknown < t.need {
		return applied // nobody can find it on a majority any more
	}
	return decideModify(t)
}

func decideRead(t *tally) ruling {
	switch {
	case t.top >= t.need || t.several && !t.open:
		return applied
	case t.several && t.pending > 0:
		return wait
	case t.several:
		return unknown
	case t.top+t.unknown+t.pending < t.need:
		return denied // no value can have a majority: absent
	case t.pending > 0:
		return wait
	}
	return unknown
}
