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
	for k := range r.table.keys() {
		r.undoKey(i, k, do)
	}
}

func (r *round) undoKey(i, k int, do *actions) {
	q := r.f.q
	c, created, possible := r.piece(i, k)
	switch {
	case !possible || q.off.undo:
		return
	case q.off.carefulUndo:
		c.window = Window{}
		r.sendUndo(i, c, do)
		return
	case r.votes[i].Status == Lost:
		r.oweUnanswered(i, c, do)
		return
	case !created:
		return
	case r.overlap.renewed.Load() && !q.off.window:
		// Somebody may rely on it; if so, a majority has it.
		q.Stats.UndoCancelled.Add(1)
		r.owe(stray{master: r.seats.masters[i], key: c.key, token: c.value, window: c.window}, do)
		return
	case q.off.window:
		c.window = Window{}
	}
	r.sendUndo(i, c, do)
}

// aboutUnanswered is when a copy expires that may have been created at any time
// since the round was sent.
func (r *round) aboutUnanswered(ttl int64) [2]time.Duration {
	d := time.Duration(min(ttl, maxStrayTTL)) * time.Millisecond
	return [2]time.Duration{r.started + d, r.f.q.clock.Now() + d}
}

func (r *round) sendUndo(i int, c piece, do *actions) {
	r.f.q.Stats.UndoSent.Add(1)
	r.undos++
	do.send(r.seats.masters[i], &Call{
		Table: removalOf(c.key, c.value), Window: c.window,
		Deadline: r.f.q.clock.Now() + undoTimeout,
		side: func(a Answer) {
			if a.Status == Unsent {
				r.f.q.owe(stray{master: r.seats.masters[i], key: c.key, token: c.value, window: c.window, lost: true})
			}
			r.undone(a)
		},
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
	case a.Status == Unsent: // owed
	case a.Status != Answered:
		q.Stats.LeftToTTL.Add(1)
	case a.Applied:
		q.Stats.Undone.Add(1)
	case a.Mine: // the token is there, with another expiry time
		q.Stats.LeftToTTL.Add(1)
	}
}
