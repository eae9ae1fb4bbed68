package redlock

import "time"

// Clock is monotonic time. The simulation brings its own.
type Clock interface {
	// Now is the time since some fixed moment; it never goes back and does
	// not follow the wall clock.
	Now() time.Duration
	// AfterFunc calls f in its own goroutine after d.
	AfterFunc(d time.Duration, f func())
}

// Master is one upstream in one database, as a round sees it.
//
// What is sent about one key keeps its order. Send never blocks.
type Master interface {
	// Name identifies the master to an operator: its address.
	Name() string
	// Send queues the call. It returns false, and never delivers, if the
	// master is known to be down or its queue is full. After true exactly one
	// Call.Deliver follows, in another goroutine.
	Send(c *Call) bool
	// Down tells in a few words why Send returned false or why answers do not
	// vote at present; empty if the master votes.
	Down() string
}

// Status is the fate of a [Call].
type Status uint8

// The fates of a call.
const (
	Unsent   Status = iota // certainly never executed
	Lost                   // may or may not have been executed, may still be
	Failed                 // answered with an error, nothing was changed
	Answered               // executed; Before and Applied say what happened
)

// Answer is what one master said to one call.
type Answer struct {
	Status Status
	// Votes is true if the answer may be counted: the connection was verified,
	// is still the same one, the identity is admitted and the end of the batch
	// showed the expected record and time. An answer that does not vote still
	// tells what happened.
	Votes bool
	// Reason says in a word or a few why the answer is no vote; empty if it is.
	Reason string
	// Moved is set when the answer is no vote because the set of masters is
	// changing: the next one may be.
	Moved bool
	// Before is what the master saw; Value may be nil when it equals the
	// table's token and is then implied. TTL is the raw remaining time on the
	// master, with its padding.
	Before  State
	Mine    bool // Before holds the table's token
	Applied bool // a writing leaf was applied
	// Expiry bounds the absolute expiry time of what a Set or Expire wrote, on
	// the master's own clock: it tells this copy from a later one with the
	// same value.
	Expiry Window
	// And is the same of the further keys of the table. Mine is then true in
	// CaseMine, and no value is left out.
	And []Held
}

// ReasonTooLate is the Reason of a call that reached its master after its
// deadline and was not applied.
const ReasonTooLate = "executed too late"

// Window is a closed interval of absolute expiry times (PEXPIRETIME) in
// milliseconds on a master's clock. The zero value means "any".
type Window struct{ From, To int64 }

// Call is one table on its way to one master. The master reads the exported
// fields and owes one Deliver.
type Call struct {
	// Table has its TTLs padded: they are what is to be stored. Read-only.
	Table *Swap
	// Window, if not zero, makes Mine apply only to a key whose expiry time
	// lies within it (in any other case Mine is Keep). Masters that cannot
	// tell the expiry time (Redis before 7.0) compare with the remaining TTL.
	Window Window
	// About, if not zero, is such a window in Clock time; the master
	// translates it into its own.
	About [2]time.Duration
	// Deadline is the Clock time after which the call must not be sent any
	// more. A call that is Bounded must not be applied after it either, however
	// long it was on its way: the master answers Failed with ReasonTooLate.
	Deadline time.Duration

	round *round
	index int32
	// side, if set, gets the answer: the call is no vote but an undo or a
	// repair.
	side func(Answer)
	q    *Quorum // of a side call
	// keep, if set, tells whether an unsent side call is still wanted.
	keep func() bool
}

// Wanted reports whether a call that has not been sent yet should still be
// sent. If not, the master delivers Unsent.
func (c *Call) Wanted() bool {
	if c.side != nil {
		return c.keep == nil || c.keep()
	}
	return c.round.wanted()
}

// Bounded reports whether the call changes what it finds: then it must not be
// applied after its deadline, when its token may be in use again, or somebody
// else hold the key. An undo is bounded by its window instead.
func (c *Call) Bounded() bool {
	return c.side == nil && (c.Table.Mine.writes() || c.Table.Other.writes() || c.Table.Wrong.writes() || c.Table.changesPart())
}

// Deliver hands the answer to the round. It is called exactly once, not from
// within Send, must not be called with a lock held that Send takes, and does
// not block.
func (c *Call) Deliver(a Answer) {
	if c.side != nil {
		c.side(a)
		c.q.outstanding.Add(-1)
		return
	}
	c.round.vote(int(c.index), a)
}
