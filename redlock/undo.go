package redlock

import "time"

// undoTimeout is how long an undo may wait in a master's queue. Past it the
// copy is left to its TTL.
const undoTimeout = 30 * time.Second

// undo removes what this attempt created on master i, and only that: the key
// must still hold the value, with the expiry time that this attempt gave it.
// A value alone does not tell whose copy it is: tokens need not be unique, and
// a lock may have been extended, or released and taken again, since.
func (r *round) undo(i int, do *actions) {
	q := r.f.q
	if q.off.carefulUndo {
		r.sendUndo(i, Window{}, do)
		return
	}
	if r.votes[i].Status == Lost {
		q.Stats.LeftToTTL.Add(1)
		return
	}
	if !r.created(i) {
		return
	}
	if r.overlap.renewed.Load() && !q.off.window {
		q.Stats.UndoCancelled.Add(1)
		q.Stats.LeftToTTL.Add(1)
		return
	}
	window := r.votes[i].Expiry
	if q.off.window {
		window = Window{}
	}
	r.sendUndo(i, window, do)
}

func (r *round) sendUndo(i int, w Window, do *actions) {
	r.addUndo(i, do, &Call{
		Table: &Swap{
			Key: r.table.Key, Token: r.table.Absent.Value, HasToken: true,
			Mine: Leaf{Effect: Delete},
		},
		Window:   w,
		Deadline: r.f.q.clock.Now() + undoTimeout,
	})
}

// addUndo has c sent to master i and its answer counted.
func (r *round) addUndo(i int, do *actions, c *Call) {
	r.f.q.Stats.UndoSent.Add(1)
	r.undos++
	c.round, c.index, c.undo = r, int32(i), true
	do.undos = append(do.undos, c)
}

// undone records the end of an undo.
func (r *round) undone(_ int, a Answer) {
	f := r.f
	f.mu.Lock()
	var do actions
	switch {
	case a.Status != Answered:
		f.q.Stats.LeftToTTL.Add(1)
	case a.Applied:
		f.q.Stats.Undone.Add(1)
	}
	r.undos--
	f.confirm(r, &do)
	f.mu.Unlock()
	do.run(f)
}

// late looks at an answer that came after the grant. The lock may have been
// released since, by another proxy too.
func (r *round) late(i int, do *actions) {
	if r.created(i) && r.f.q.clock.Now() > r.f.deadline {
		r.f.q.Stats.LateCopies.Add(1)
		do.checks = append(do.checks, strayCopy{r: r, i: i, token: r.table.Absent.Value, remove: (*round).undo})
	}
}

// strayCopy is a copy on one master that may belong to no lock any more.
type strayCopy struct {
	r      *round
	i      int
	token  []byte
	remove func(r *round, i int, do *actions)
}

// check reads the key at quorum and removes the copy if its token has no
// majority (design §4.9).
func (c strayCopy) check() {
	q := c.r.f.q
	op := &Op{Swap: Swap{Key: c.r.table.Key, Token: c.token, HasToken: true}}
	op.Done = func(op *Op) {
		out := op.Outcome
		q.Settle(op)
		switch {
		case out.Err != nil:
			q.Stats.LeftToTTL.Add(1)
		case out.Case != CaseMine:
			c.drop()
		}
	}
	q.Start(op, 0)
}

func (c strayCopy) drop() {
	f := c.r.f
	f.mu.Lock()
	var do actions
	c.remove(c.r, c.i, &do)
	f.mu.Unlock()
	do.run(f)
}
