package redlock

import "time"

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
}

func (a *actions) retry(r *round, delay time.Duration)  { a.again, a.delay, a.unlist = r, delay, r }
func (a *actions) resend(r *round, delay time.Duration) { a.more, a.delay = r, delay }

func (a *actions) owe(s stray) { a.strays = append(a.strays, s) }

// send has c sent to master i.
func (a *actions) send(i int, c *Call) {
	c.index = int32(i)
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
		if m := f.q.masters[c.index]; !m.Send(c) {
			c.Deliver(Answer{Status: Unsent, Reason: m.Down()})
		}
	}
	if a.forget != nil {
		f.q.bucket(a.forget.table.Key).leave(a.forget)
	}
	for _, s := range a.strays {
		f.q.owe(s)
	}
	switch {
	case a.again != nil && a.delay == 0:
		f.restart(a.again)
	case a.again != nil:
		f.q.clock.AfterFunc(a.delay, func() { f.restart(a.again) })
	case a.more != nil:
		f.q.clock.AfterFunc(a.delay, a.more.resend)
	}
	if a.done != nil {
		a.done.Done(a.done)
	}
}
