package proxy

import (
	"sync/atomic"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// quorum is what a session needs of a [redlock.Quorum].
type quorum interface {
	Start(op *redlock.Op, deadline time.Duration)
	Join(op, other *redlock.Op, deadline time.Duration) bool
	Claim(op *redlock.Op) bool
	Settle(op *redlock.Op)
	Abandon(op *redlock.Op)
	Now() time.Duration
}

// slot is one command in the line of its connection, from the time it is read
// until its reply is in the socket. Slots are used again, with the memory of
// their lock and operations, by any connection of the server.
//
// It belongs to one goroutine after the other: the reader, until the operations
// are started; whoever calls the last Done; whoever has the turn to write. The
// last group of fields is guarded by the line's mutex.
type slot struct {
	s     *session
	seq   uint64 // its place in the line
	args  int    // bytes of the command
	proto int    // RESP version of the reply
	reply []byte
	end   int // where the reply ends in the writer's buffer

	// Only a lock command has operations. Each is Started, Done, Claimed and
	// Settled, or Abandoned, by the rules of package redlock.
	lock       resp.Lock
	q          quorum
	ops        []redlock.Op
	outs       []redlock.Outcome
	keys       []slotKey // of the operations, for the order
	oneOp      [1]redlock.Op
	oneOut     [1]redlock.Outcome
	oneKey     [1]slotKey
	onDone     func(*redlock.Op)
	unfinished atomic.Int32  // operations without outcome, and whoever still starts them
	read       time.Time     // when the command was read
	deadline   time.Duration // of its operations; 0: as the quorum sees fit
	watch      *watch        // of WATCH: where to note the outcomes
	listeners  []*listener   // of SUBSCRIBE: what the reply acknowledges
	told       bool          // the lock's publications are sent
	launched   bool          // the operations are started, or just being so

	// Guarded by line.mu.
	ready    bool     // completed: the reply is there, if it can be claimed
	held     int      // bytes it counts for
	blockers int      // operations that have to end before this one is started
	starting bool     // somebody other than the reader is starting operations
	waiters  []waiter // operations that wait for this one
}

// slotKey is a key of an operation, told from others by a hash.
type slotKey struct {
	hash uint64
	op   int
}

// waiter is a slot that waits for an operation.
type waiter struct {
	slot *slot
	op   int // the index of the operation it waits for
}

// maxKept is how large a buffer may be that is kept for the next use.
const maxKept = 4 << 10

// newSlot returns a slot that has never been used.
func newSlot() any {
	sl := &slot{}
	sl.onDone = func(*redlock.Op) { sl.finished() }
	return sl
}

// prepare makes one operation for each swap of the lock.
func (sl *slot) prepare(q quorum) {
	n := len(sl.lock.Swaps)
	sl.q = q
	sl.ops, sl.outs, sl.keys = sl.oneOp[:], sl.oneOut[:], sl.oneKey[:0]
	if n != 1 {
		sl.ops, sl.outs, sl.keys = make([]redlock.Op, n), make([]redlock.Outcome, n), make([]slotKey, 0, n)
	}
	for i := range sl.ops {
		swap := &sl.ops[i].Swap
		*swap = sl.lock.Swaps[i]
		if swap.NeedsLook() || len(swap.And) > 0 {
			sl.lock.MayLearn = true // what follows on its keys has to wait
		}
		sl.ops[i].Done, sl.ops[i].Ordered = sl.onDone, false
		sl.addKey(i, swap.Key)
		for k := range swap.And {
			sl.addKey(i, swap.And[k].Key)
		}
	}
	sl.unfinished.Store(int32(n))
}

func (sl *slot) addKey(op int, key []byte) {
	sl.keys = append(sl.keys, slotKey{hashKey(sl.s.srv.seed, sl.lock.DB, key), op})
}

// start starts all operations. They may be done before it returns.
func (sl *slot) start() {
	q, deadline := sl.q, sl.deadline
	sl.launched = true
	for i := range sl.ops {
		q.Start(&sl.ops[i], deadline)
	}
}

// finished counts down the operations, and composes the reply after the last.
func (sl *slot) finished() {
	if sl.unfinished.Add(-1) == 0 {
		sl.compose()
	}
}

// compose makes the reply of the outcomes, or starts what the lock asks next.
func (sl *slot) compose() {
	for i := range sl.ops {
		sl.outs[i] = sl.ops[i].Outcome
	}
	var next redlock.Swap
	switch more, ok := sl.makeReply(&next); {
	case !ok: // the connection is about to be closed
	case more:
		sl.s.again(sl, &next)
	default:
		if sl.told = false; sl.isFinal() {
			sl.tell()
		}
		sl.s.completed(sl)
	}
}

// makeReply makes the reply, or reports that there is more to ask. ok is false
// after a panic.
func (sl *slot) makeReply(next *redlock.Swap) (more, ok bool) {
	defer sl.s.replyPanicked()
	if sl.watch != nil {
		sl.watch.note(sl.q, sl.outs)
	}
	reply, more := sl.lock.Reply(sl.reply[:0], sl.proto, sl.outs, next)
	if !more {
		sl.reply = reply
	}
	return more, true
}

// replace makes next the only operation, in the place of what has ended. It
// reports false if that was granted too late; then it is being tried again.
func (sl *slot) replace(next *redlock.Swap) bool {
	if !sl.valid() {
		return false
	}
	for i := range sl.ops {
		sl.q.Settle(&sl.ops[i])
	}
	sl.ops, sl.outs = sl.ops[:1], sl.outs[:1]
	sl.ops[0].Swap = *next
	return true
}

// claim reports whether the reply may be written now. If not, the slot is
// completed once more.
func (sl *slot) claim() bool {
	n := len(sl.ops)
	if n == 0 {
		return true
	}
	sl.unfinished.Store(int32(n))
	granted, last := 0, false
	for i := range sl.ops {
		if sl.q.Claim(&sl.ops[i]) {
			granted++
			last = sl.unfinished.Add(-1) == 0
		}
	}
	if granted < n && last {
		sl.compose() // what was not granted is done already
	}
	if granted < n {
		return false
	}
	sl.tell()
	return true
}

// valid reports whether a claimed reply may still be written.
func (sl *slot) valid() bool {
	for i := range sl.ops {
		if !sl.q.Claim(&sl.ops[i]) {
			return false
		}
	}
	return true
}

// settle tells the quorum that the reply is in the socket.
func (sl *slot) settle(now time.Time) {
	if len(sl.ops) == 0 {
		return
	}
	for i := range sl.ops {
		sl.q.Settle(&sl.ops[i])
	}
	r := resultOf(sl.lock.Kind, sl.outs)
	sl.s.srv.cfg.Metrics.operation(sl.lock.Kind, r, now.Sub(sl.read))
	sl.answered(r, now)
}

// abandon undoes what the operations did: the reply will never be read.
func (sl *slot) abandon() {
	for i := range sl.ops {
		sl.q.Abandon(&sl.ops[i])
	}
	if len(sl.ops) > 0 {
		sl.s.srv.cfg.Metrics.operation(sl.lock.Kind, resultAbandoned, time.Since(sl.read))
		sl.noteAbandoned()
	}
}

// release forgets everything but the memory.
func (sl *slot) release() {
	if sl.ops != nil {
		sl.oneOp[0].Swap, sl.oneOp[0].Outcome = redlock.Swap{}, redlock.Outcome{}
		sl.oneOut[0] = redlock.Outcome{}
		sl.ops, sl.outs, sl.keys, sl.q = nil, nil, nil, nil
	}
	if cap(sl.reply) > maxKept {
		sl.reply = nil
	}
	sl.s, sl.reply, sl.deadline, sl.watch = nil, sl.reply[:0], 0, nil
	sl.listeners, sl.told, sl.launched = nil, false, false
	sl.ready, sl.blockers, sl.starting, sl.waiters = false, 0, false, nil
}
