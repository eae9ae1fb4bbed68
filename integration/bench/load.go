package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// load is what callers do with a locker, again and again, until over is set.
// prefix tells the keys of one measurement from those of others.
type load struct {
	name string
	call func(l locker, caller int, prefix string, over *atomic.Bool) outcome
}

// The loads.
var (
	distinctKeys = load{"keys of their own", callDistinct}
	hotKeys      = load{"8 hot keys", callHot}
	onePolledKey = load{"one polled key", callPolled}
)

const (
	hotKeyCount = 8
	hotPause    = time.Millisecond      // of a caller whose key is taken
	pollPause   = 10 * time.Millisecond // of a poller
	pollHold    = 20 * time.Millisecond // how long a poller that got the lock keeps it
)

// play lets callers work for a while.
func play(l locker, what load, prefix string, callers int, length time.Duration) (sum outcome, err error) {
	var over atomic.Bool
	timer := time.AfterFunc(length, func() { over.Store(true) })
	defer timer.Stop()
	outcomes := make([]outcome, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { outcomes[i] = what.call(l, i, prefix, &over) })
	}
	all.Wait()
	for _, o := range outcomes {
		sum.merge(o)
	}
	if len(sum.latencies) < sum.failed {
		return sum, fmt.Errorf("%d of %d cycles failed: %w", sum.failed, sum.failed+len(sum.latencies), sum.failure)
	}
	return sum, nil
}

// callDistinct locks keys that nobody else wants, each once.
func callDistinct(l locker, caller int, prefix string, over *atomic.Bool) (o outcome) {
	name := prefix + strconv.Itoa(caller) + ":"
	for n := 0; !over.Load(); n++ {
		o.cycle(l, name+strconv.Itoa(n), 0, 0, nil)
	}
	return o
}

// callHot locks a few keys in turn that all others want, too.
func callHot(l locker, caller int, prefix string, over *atomic.Bool) (o outcome) {
	for n := caller; !over.Load(); n++ {
		o.cycle(l, prefix+strconv.Itoa(n%hotKeyCount), hotPause, 0, over)
	}
	return o
}

// callPolled asks for one key, and keeps it for a moment when it gets it.
func callPolled(l locker, _ int, prefix string, over *atomic.Bool) (o outcome) {
	for !over.Load() {
		o.cycle(l, prefix, pollPause, pollHold, over)
		time.Sleep(pollPause)
	}
	return o
}

// cycle acquires and releases a lock. While somebody else has it, it is tried
// again after a pause, until over is set; with no pause that is a failure. The
// time from the first try to the end of the release counts, less the time the
// lock was held.
func (o *outcome) cycle(l locker, key string, pause, hold time.Duration, over *atomic.Bool) {
	ctx, start := context.Background(), time.Now()
	o.tries++
	free, err := l.Acquire(ctx, key)
	for pause > 0 && errors.Is(err, errHeld) {
		if time.Sleep(pause); over.Load() {
			return
		}
		o.tries++
		free, err = l.Acquire(ctx, key)
	}
	if err != nil {
		o.merge(outcome{failed: 1, failure: fmt.Errorf("acquire: %w", err)})
		return
	}
	time.Sleep(hold)
	if err := free(ctx); err != nil {
		o.merge(outcome{failed: 1, failure: fmt.Errorf("release: %w", err)})
		return
	}
	o.latencies = append(o.latencies, time.Since(start)-hold)
}
