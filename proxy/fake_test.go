package proxy

import (
	"sync"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// fakeQuorum stands for the engine. It decides what start says, and keeps
// account of each operation.
type fakeQuorum struct {
	// start gets each operation that is started; nil: it is kept, for take.
	start func(op *redlock.Op)
	// claim answers Claim, again if it was claimed before; nil: true.
	claim func(op *redlock.Op, again bool) bool
	// join answers Join; nil: false.
	join func(op, other *redlock.Op) bool

	mu        sync.Mutex
	changed   sync.Cond
	kept      []*redlock.Op
	states    map[*redlock.Op]string
	settled   int
	abandoned int
	faults    []string
}

func newFakeQuorum() *fakeQuorum {
	q := &fakeQuorum{states: map[*redlock.Op]string{}}
	q.changed.L = &q.mu
	return q
}

func (q *fakeQuorum) Now() time.Duration { return time.Second }

func (q *fakeQuorum) Join(op, other *redlock.Op, _ time.Duration) bool {
	if q.join == nil || !q.join(op, other) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expect(op, "started", "", "settled")
	return true
}

func (q *fakeQuorum) Start(op *redlock.Op, _ time.Duration) {
	q.mu.Lock()
	q.expect(op, "started", "", "settled")
	if q.start == nil {
		q.kept = append(q.kept, op)
	}
	q.changed.Broadcast()
	q.mu.Unlock()
	if q.start != nil {
		q.start(op)
	}
}

func (q *fakeQuorum) Claim(op *redlock.Op) bool {
	q.mu.Lock()
	again := q.states[op] == "claimed"
	q.expect(op, "claimed", "started", "claimed")
	q.mu.Unlock()
	return q.claim == nil || q.claim(op, again)
}

func (q *fakeQuorum) Settle(op *redlock.Op) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expect(op, "settled", "claimed")
	q.settled++
	q.changed.Broadcast()
}

func (q *fakeQuorum) Abandon(op *redlock.Op) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expect(op, "abandoned", "started", "claimed")
	q.abandoned++
	q.changed.Broadcast()
}

// expect notes a fault unless op is in one of the states from.
func (q *fakeQuorum) expect(op *redlock.Op, to string, from ...string) {
	was := q.states[op]
	q.states[op] = to
	for _, f := range from {
		if was == f {
			return
		}
	}
	q.faults = append(q.faults, was+" → "+to)
}

// take waits for n operations that were started and takes them.
func (q *fakeQuorum) take(n int) []*redlock.Op {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.kept) < n {
		q.changed.Wait()
	}
	ops := q.kept[:n:n]
	q.kept = q.kept[n:]
	return ops
}

// started returns how many operations were started and not taken.
func (q *fakeQuorum) started() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.kept)
}

// await waits until so many operations are settled and abandoned.
func (q *fakeQuorum) await(t *testing.T, settled, abandoned int) {
	t.Helper()
	defer time.AfterFunc(10*time.Second, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.faults = append(q.faults, "timeout")
		q.changed.Broadcast()
	}).Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for (q.settled < settled || q.abandoned < abandoned) && len(q.faults) == 0 {
		q.changed.Wait()
	}
	if q.settled != settled || q.abandoned != abandoned {
		t.Errorf("settled %d, abandoned %d; want %d and %d", q.settled, q.abandoned, settled, abandoned)
	}
}

// check fails the test if an operation was not treated by the rules.
func (q *fakeQuorum) check(t *testing.T) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.faults {
		t.Errorf("operation: %s", f)
	}
}

// done ends an operation: it was applied to an absent key, or found its own
// key's name as the value.
func done(op *redlock.Op) {
	op.Outcome = redlock.Outcome{Applied: true, Case: redlock.CaseAbsent}
	if op.Swap.Absent.Effect == redlock.Keep {
		op.Outcome = redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text, Value: op.Swap.Key, TTL: 1000}}
	}
	op.Done(op)
}
