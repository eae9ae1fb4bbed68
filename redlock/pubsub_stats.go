package redlock

import "sync/atomic"

// BusStats counts messages, see [Bus].
type BusStats struct {
	Published   uint64 // messages that a quorum of masters took
	Unpublished uint64 // messages that no quorum took
	Received    uint64 // messages passed on, once for each topic that fits
	Copies      uint64 // messages taken for copies of these, and dropped
	Channels    int    // that are subscribed to at present
	Patterns    int
}

// busCounters are the counters of one bus.
type busCounters struct{ published, unpublished, received, copies atomic.Uint64 }

// Stats tells how many messages there were so far, and what is subscribed to.
func (b *Bus) Stats() BusStats {
	c := &b.counted
	s := BusStats{Published: c.published.Load(), Unpublished: c.unpublished.Load(), Received: c.received.Load(), Copies: c.copies.Load()}
	b.mu.Lock()
	defer b.mu.Unlock()
	for topic := range b.topics {
		if topic.Pattern {
			s.Patterns++
		} else {
			s.Channels++
		}
	}
	return s
}
