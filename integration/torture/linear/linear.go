// Package linear checks short histories of one lock, in which nothing expires,
// for linearizability: whether there is an order of all operations, each at some
// moment between its sending and its reply, in which one lock on one server
// would have answered the same (Herlihy and Wing).
//
// That says more than that no two hold a lock: a read must not show a lock that
// was released before, a release that was answered has happened.
//
// What was not answered, or with an error, may have happened at any later time,
// or not at all. An acquire of that kind may have happened and been undone. An
// acquire that was told "held" says nothing about the lock: contenders that meet
// a split vote, or the leftover of a failed attempt, give way as well. And a read
// that saw the token of such a contender while that was still trying says nothing
// either: a majority had its copies, which it did not know yet when it gave way.
package linear

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what was asked for.
type Kind int

// The kinds of operations.
const (
	Acquire Kind = iota
	Release
	Extend
	Read
)

// Op is one operation of a client on the lock.
type Op struct {
	Client        int
	Kind          Kind
	Token         string
	Sent, Arrived time.Duration
	Known         bool   // it was answered, and not with an error
	Yes           bool   // it was done
	Value         string // of a Read: the token of the holder, empty if it is free
	// Loose says that the reply is no evidence: the token was not certainly
	// granted, or may have been released already.
	Loose bool
}

// Result of a check.
type Result int

// The results.
const (
	Fine Result = iota
	Impossible
	Undecided // it would take too long to find out
)

// most is how many unanswered operations a history may have to be decided.
const most = 24

// Check looks for an order.
func Check(history []Op, timeout time.Duration) Result {
	history = withoutGlimpses(history)
	var ops []porcupine.Operation
	open := 0
	released := make(map[string]bool) // tokens whose release may happen at any time
	for _, op := range history {
		if op.Known && !op.Loose {
			if op.Kind != Acquire || op.Yes {
				ops = append(ops, operation(op, int64(op.Arrived)))
			}
			continue
		}
		if op.Kind == Read || op.Kind == Extend || op.Kind == Acquire && op.Known {
			continue // changes nothing
		}
		if op.Kind == Acquire {
			open++
			ops = append(ops, operation(op, math.MaxInt64))
			op.Kind = Release
		}
		if !released[op.Token] {
			open++
			ops = append(ops, operation(op, math.MaxInt64))
		}
		released[op.Token] = true
	}
	if open > most {
		return Undecided
	}
	// Each operation that is open is a client of its own: it overlaps with what
	// its client did later.
	for i := range ops {
		ops[i].ClientId = i
	}
	switch porcupine.CheckOperationsTimeout(lock.ToModel(), ops, timeout) {
	case porcupine.Ok:
		return Fine
	case porcupine.Illegal:
		return Impossible
	}
	return Undecided
}

func operation(op Op, end int64) porcupine.Operation {
	return porcupine.Operation{Input: op, Call: int64(op.Sent), Output: nil, Return: end}
}

// lock is one lock on one server. Its state is the token of the holder, empty if
// it is free.
var lock = porcupine.NondeterministicModel{
	Init: func() []any { return []any{""} },
	Step: func(state, input, _ any) []any { return step(state.(string), input.(Op)) },
}

func step(holder string, op Op) []any {
	next, possible := holder, false
	switch op.Kind {
	case Acquire:
		possible = holder == ""
		next = op.Token
	case Release:
		possible = holder == op.Token
		next = ""
	case Extend:
		possible = holder == op.Token
	case Read:
		return states(holder == op.Value, holder)
	}
	switch {
	case !op.Known || op.Loose:
		if possible {
			return []any{holder, next}
		}
		return []any{holder}
	case op.Yes:
		return states(possible, next)
	}
	return states(!possible, holder)
}

func states(possible bool, state string) []any {
	if !possible {
		return nil
	}
	return []any{state}
}

// withoutGlimpses leaves out reads that saw the token of an acquire which gave
// way while they were under way.
func withoutGlimpses(history []Op) []Op {
	return slices.DeleteFunc(slices.Clone(history), func(read Op) bool {
		return read.Kind == Read && slices.ContainsFunc(history, func(op Op) bool {
			return op.Kind == Acquire && op.Known && !op.Yes && op.Token == read.Value &&
				op.Sent < read.Arrived && read.Sent < op.Arrived
		})
	})
}
