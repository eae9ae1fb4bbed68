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
	if r.votes[i].Status == Lost && r.table.Absent.Effect == Set {
		do.owe(stray{master: i, key: r.table.Key, token: r.table.Absent.Value,
			about: r.aboutUnanswered(), lost: true, overlap: &r.overlap})
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

// aboutUnanswered is when a copy expires that may have been created at any time
// since the round was sent.
func (r *round) aboutUnanswered() [2]time.Duration {
	ttl := time.Duration(min(r.table.Absent.TTL, maxStrayTTL)) * time.Millisecond
	return [2]time.Duration{r.started + ttl, r.f.q.clock.Now() + ttl}
}

func (r *round) sendUndo(i int, w Window, do *actions) {
	r.f.q.Stats.UndoSent.Add(1)
	r.undos++
	do.send(i, &Call{
		Table: removalOf(r.table.Key, r.table.Absent.Value), Window: w,
		Deadline: r.f.q.clock.Now() + undoTimeout,
		side:     r.undone,
	})
}

// removalOf is a compare-and-delete.
func removalOf(key, token []byte) *Swap {
	return &Swap{Key: key, Token: token, HasToken: true, Mine: Leaf{Effect: Delete}}
}

// undone records the end of an undo.
func (r *round) undone(a Answer) {
	f := r.f
	f.q.countUndone(a)
	f.mu.Lock()
	var do actions
	r.undos--
	f.confirm(r, &do)
	f.mu.Unlock()
	do.run(f)
}

func (q *Quorum) countUndone(a Answer) {
	switch {
	case a.Status != Answered:
		q.Stats.LeftToTTL.Add(1)
	case a.Applied:
		q.Stats.Undone.Add(1)
	}
}
