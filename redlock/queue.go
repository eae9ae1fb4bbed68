package redlock

import (
	"sync"
	"time"
)

// queueLimit is how many calls may wait in one queue.
const queueLimit = 16384

// callQueue is a bounded queue of calls with one consumer, which takes all of
// it at once.
type callQueue struct {
	wake chan struct{} // there may be something to do

	mu    sync.Mutex
	calls []*Call
}

func newCallQueue() callQueue { return callQueue{wake: make(chan struct{}, 1)} }

// push appends a call; false if the queue is full.
func (q *callQueue) push(c *Call) bool {
	q.mu.Lock()
	if len(q.calls) >= queueLimit {
		q.mu.Unlock()
		return false
	}
	q.calls = append(q.calls, c)
	first := len(q.calls) == 1
	q.mu.Unlock()
	if first {
		q.nudge()
	}
	return true
}

// nudge wakes the consumer.
func (q *callQueue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take empties the queue; buffer is what the consumer has done with.
func (q *callQueue) take(buffer []*Call) []*Call {
	clear(buffer)
	q.mu.Lock()
	defer q.mu.Unlock()
	calls := q.calls
	q.calls = buffer[:0]
	return calls
}

// expired takes the calls whose deadline has passed.
func (q *callQueue) expired(now time.Duration) (late []*Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.calls[:0]
	for _, c := range q.calls {
		if c.Deadline < now {
			late = append(late, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(q.calls[len(kept):])
	q.calls = kept
	return late
}

func (q *callQueue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls)
}
