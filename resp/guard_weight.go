package resp

import "sync/atomic"

// weight is what the buffer of one connection counts for.
type weight struct {
	told atomic.Int64 // by the reader
}

// weightStep is how exact weights are: clients that send a command and wait for
// the reply change nothing.
const weightStep = 16 << 10

// Held returns about how many bytes the guard has read and not handed out, in
// the size of their buffer. It may be called at any time.
func (g *Guard) Held() int { return int(g.weight.told.Load()) }

// weigh tells [Limits.Held] of the buffer if its size has changed much.
func (g *Guard) weigh() {
	held := g.policy.held
	if held == nil {
		return
	}
	now, told := int64(cap(g.unread.data)), g.weight.told.Load()
	if now-told < weightStep && (now > 0 || told == 0) && told-now < weightStep {
		return
	}
	g.weight.told.Store(now)
	held(int(now - told))
}
