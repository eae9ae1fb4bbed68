package redlock

import (
	"context"
	"time"
)

// actions are what a decision under a flight's lock leads to; they are run
// without it, because masters may answer at once.
type actions struct {
	done   *Op
	unlist *round
	relist bool    // back on the list, until the flight's deadline
	calls  []*Call // to the master of their index
	again  *round  // to be followed by a new round …
	more   *round  // … or sent once more to masters that were in the way
	delay  time.Duration
	strays []stray
	forget *round // answered everywhere
	herd   dismissal
}

func (a *actions) retry(r *round, delay time.Duration)  { a.again, a.delay, a.unlist = r, delay, r }
func (a *actions) resend(r *round, delay time.Duration) { a.more, a.delay = r, delay }

func (a *actions) owe(s stray) { a.strays = append(a.strays, s) }

// send has c sent to a master, by its index among those of the quorum.
func (a *actions) send(master int, c *Call) {
	c.index = int32(master)
	a.calls = append(a.calls, c)
}

func (a *actions) run(f *flight) {
	if a.unlist != nil {
		f.q.deadlines.remove(a.unlist)
		if a.relist {
			a.unlist.voteBy = f.deadline
			f.q.deadlines.add(a.unlist, true)
		}
	}
	for _, c := range a.calls {
		f.q.sendSide(c)
	}
	if a.forget != nil {
		f.q.leave(a.forget)
	}
	for _, s := range a.strays {
		f.q.owe(s)
	}
	if a.again != nil || a.more != nil {
		f.later(a.again, a.more, a.delay)
	}
	if a.done != nil {
		a.done.Done(a.done)
	}
	a.herd.run()
}

// sendSide sends a call that is no vote to the master of its index.
func (q *Quorum) sendSide(c *Call) {
	c.q = q
	q.outstanding.Add(1)
	if m := q.masters[c.index]; !m.Send(c) {
		c.Deliver(Answer{Status: Unsent, Reason: m.Down()})
	}
}

// Drain waits until every master has answered what was sent to it, undos
// included, or ctx ends.
func (q *Quorum) Drain(ctx context.Context) {
	ticker := time.NewTicker(drainPeriod)
	defer ticker.Stop()
	for q.outstanding.Load() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

const drainPeriod = 5 * time.Millisecond

// later starts a new round in the place of again, or sends more to the masters
// in its way, after delay.
func (f *flight) later(again, more *round, delay time.Duration) {
	switch {
	case again != nil && delay == 0:
		f.restart(again)
	case again != nil:
		f.q.clock.AfterFunc(delay, func() { f.restart(again) })
	default:
		f.q.clock.AfterFunc(delay, more.resend)
	}
}
