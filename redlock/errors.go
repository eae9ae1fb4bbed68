package redlock

import (
	"fmt"
	"strings"
	"time"
)

// NoQuorumError says that the votes did not decide an operation: whether the
// key is held, free, extended or released is unknown. It is the Err of an
// [Outcome]; what the attempt had created is undone or left to its TTL.
type NoQuorumError struct {
	Masters  int // N
	Need     int // the quorum, N/2+1
	Answered int // votes received
	Applied  int // of these, masters that did what was asked
	// TooSlow is set when the votes were there but could not be handed to the
	// client in time; it is the time that had passed.
	TooSlow time.Duration
	// Overtaken is set when an operation with the same token was sent behind
	// this one, and may have removed what it created.
	Overtaken bool
	// Missing names each master without a vote, and why.
	Missing []string
}

// Error is the text behind "-NOQUORUM ".
func (e *NoQuorumError) Error() string {
	if e.Overtaken {
		return "overtaken: an operation with the same token was sent behind this one, so it may hold nothing"
	}
	if e.TooSlow > 0 {
		return fmt.Sprintf("too slow: %d of %d masters agreed, but only after %v, which is too late to promise anything. Look at the masters' latency, or raise --op-timeout",
			e.Applied, e.Masters, e.TooSlow.Round(time.Millisecond/10))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d masters answered and %d agreed, %d needed; the outcome is unknown", e.Answered, e.Masters, e.Applied, e.Need)
	for _, m := range e.Missing {
		b.WriteString("; ")
		b.WriteString(m)
	}
	return b.String()
}
