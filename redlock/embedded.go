package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// embedded is a [Master] in memory. It always votes; what it holds ends with
// the process.
type embedded struct {
	name  string
	clock Clock
	queue callQueue
	lists chan func() // run by run
	store *store      // used by run alone
}

func newEmbedded(place int, clock Clock) *embedded {
	return &embedded{name: fmt.Sprintf("embedded-%d", place+1), clock: clock, queue: newCallQueue(), lists: make(chan func()), store: newStore()}
}

// Name is "embedded-1" and so on.
func (e *embedded) Name() string { return e.name }

// Down is empty unless the queue is full.
func (e *embedded) Down() string {
	if e.queue.length() >= queueLimit {
		return "queue full"
	}
	return ""
}

// Send queues the call.
func (e *embedded) Send(c *Call) bool { return e.queue.push(c) }

// run applies calls until ctx ends.
func (e *embedded) run(ctx context.Context) {
	var calls []*Call
	for ctx.Err() == nil {
		select {
		case <-e.queue.wake:
		case list := <-e.lists:
			list()
		case <-ctx.Done():
		}
		calls = e.queue.take(calls)
		for _, c := range calls {
			c.Deliver(e.apply(c))
		}
	}
}

func (e *embedded) apply(c *Call) Answer {
	now := e.clock.Now()
	if c.Deadline < now || !c.Wanted() {
		return Answer{Status: Unsent, Reason: "no answer in time"}
	}
	// Its wall clock is one millisecond ahead: 0 is no expiry time.
	window := c.Window
	if c.About != [2]time.Duration{} {
		window = Window{c.About[0].Milliseconds() + 1, c.About[1].Milliseconds() + 2}
	}
	v := e.store.apply(now.Milliseconds()+1, c.Table, window)
	return Answer{Status: Answered, Votes: true, Before: v.before, Mine: v.mine, Applied: v.applied,
		Expiry: Window{From: v.expiry, To: v.expiry}, And: v.and}
}

func (e *embedded) report() MasterReport {
	return MasterReport{Name: e.name, State: "votes", Votes: true, Server: "embedded, in memory", RunID: e.name, Queue: e.queue.length()}
}

// list returns the keys. What is in front of it in the queue may come later.
func (e *embedded) list(ctx context.Context, f KeyFilter) (keys []string, err error) {
	outer := e.do(ctx, func() { keys, err = e.store.list(e.clock.Now().Milliseconds()+1, f) })
	return keys, errors.Join(outer, err)
}

// do lets run call a function, and waits for it.
func (e *embedded) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case e.lists <- func() { f(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *embedded) first(ctx context.Context, _ bool, f KeyFilter, n int) (keys []string, more bool, err error) {
	names := firstNames{limit: n}
	outer := e.do(ctx, func() { err = e.store.each(e.clock.Now().Milliseconds()+1, f, names.take) })
	keys, more = names.end()
	return keys, more, errors.Join(outer, ignoreEnough(err))
}

func (e *embedded) copies(ctx context.Context, _ bool, keys []string, mark func([]byte) uint64) (all []copied, err error) {
	err = e.do(ctx, func() {
		now := e.clock.Now().Milliseconds() + 1
		for _, key := range keys {
			if entry, held := e.store.find(now, []byte(key)); held {
				all = append(all, copied{entry.kind, mark(entry.value[:min(len(entry.value), surveyBytes)]), entry.remaining(now)})
				continue
			}
			all = append(all, copied{})
		}
	})
	return all, err
}
