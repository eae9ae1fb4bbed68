package redlock

import "sync/atomic"

// Stats counts what an operator wants to know about the rounds of a [Quorum].
// All fields only grow.
type Stats struct {
	Rounds        atomic.Uint64 // attempts sent
	SplitRetries  atomic.Uint64 // rounds tried again because nobody had a majority
	TooLate       atomic.Uint64 // grants and extends that could not be handed over in time
	ReadRetries   atomic.Uint64 // reads repeated because the answers did not decide
	UndoSent      atomic.Uint64 // removals of copies that failed attempts had created
	Undone        atomic.Uint64 // of these, those that a master confirmed
	UndoCancelled atomic.Uint64 // left alone because a later operation may rely on the copy
	LeftToTTL     atomic.Uint64 // copies, or possible copies, that only their TTL removes
	Repairs       atomic.Uint64 // copies given to masters that lacked an extended lock
	LateCopies    atomic.Uint64 // copies created after the deadline of their operation
	Herded        atomic.Uint64 // acquires answered from somebody else's round
	NotOwed       atomic.Uint64 // of LeftToTTL, those that were too many to be remembered for a master that is away
	NoQuorum      atomic.Uint64 // operations answered with an error
}

// Owed is how many copies are to be looked at on each master when it is back,
// see stray.go.
func (q *Quorum) Owed() []int {
	q.owedLock.Lock()
	defer q.owedLock.Unlock()
	owed := make([]int, len(q.owed))
	for i := range q.owed {
		owed[i] = len(q.owed[i])
	}
	return owed
}
