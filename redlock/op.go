package redlock

import (
	"sync/atomic"
	"time"
)

// Op is one swap to be decided. The zero value of everything but Swap and Done
// is right. An Op may be reused after Settle.
type Op struct {
	Swap Swap
	// Ordered says that an earlier operation of the same connection on the same
	// key is unanswered: this one must be sent behind it.
	Ordered bool
	// Done is called once for each Start, and once more after each Claim that
	// returned false; from any goroutine, possibly before Start returns. It
	// must not block.
	Done func(*Op)
	// Outcome is valid when Done is called.
	Outcome Outcome

	flight   atomic.Pointer[flight]
	followed atomic.Bool // Follow was called before Start
}

// Follow says that a later operation of the same connection on the same key
// was started. The masters keep the order of what they were sent, so op must
// not be sent again behind it: where it would be retried, it answers instead.
func (op *Op) Follow() {
	if f := op.flight.Load(); f != nil {
		f.noteFollowed()
		return
	}
	op.followed.Store(true)
}

// Outcome is what the votes say.
type Outcome struct {
	// Err is not nil if the votes do not decide: nothing is known then.
	// It is a *NoQuorumError.
	Err error
	// Case and State are what a quorum held before the swap. State.TTL is the
	// client's remaining time: padding taken off, at least 1, or NoTTL.
	Case  Case
	State State
	Parts []State // of the keys in [Swap.And]
	// Applied says that the leaf of Case was applied by a quorum.
	Applied bool
	// Elapsed is the time from Start to the decision.
	Elapsed time.Duration
}
