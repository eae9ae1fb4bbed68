package redlock

// A removal of whatever a key holds (DEL) must not touch what a quorum does
// not hold: between the master where it freed the lock and the master where it
// arrives late, somebody else's acquire may have created its first copies. So
// it looks first, and then removes exactly the value that a quorum showed.
//
// A table that removes only its own token needs no such look, as long as a
// token is not used by two clients, or through two proxies, at once.

// NeedsLook reports whether a swap takes two rounds for the reason above; a
// later operation on the same key has to wait for it.
func (s *Swap) NeedsLook() bool {
	return classify(s) == classDelete && (s.Other.Effect == Delete || s.Wrong.Effect == Delete)
}

// look is the state of a flight that looks before it removes.
type look struct {
	looking bool    // it looks, or else removes what it saw
	seen    Outcome // of the look, with what is to be removed
	aim     Swap    // of the present round
}

// table is the swap of the flight's next round.
func (f *flight) table() *Swap {
	s := &f.op.Swap
	if f.look == nil {
		return s
	}
	if f.look.looking {
		f.look.aim = Swap{Key: s.Key, Token: s.Token, HasToken: s.HasToken}
	}
	return &f.look.aim
}

// conclude ends the flight with an outcome, or goes on with its second round.
func (f *flight) conclude(r *round, out Outcome, do *actions) {
	switch {
	case f.op == nil || f.look == nil:
	case f.look.looking && f.op.Swap.Leaf(out.Case).Effect == Delete:
		f.look.looking = false
		f.look.seen = out
		f.look.aim = aimAt(f.op.Swap.Key, &out)
		f.class = classDelete
		do.retry(r, 0)
		return
	case !f.look.looking && !out.Applied: // it has changed hands meanwhile
		f.look.looking = true
		f.class = classRead
		do.retry(r, 0)
		return
	case !f.look.looking:
		out = f.look.seen
		out.Applied = true
	}
	f.finish(out, do)
}

// aimAt removes what was seen, and nothing else.
func aimAt(key []byte, seen *Outcome) Swap {
	if seen.State.Kind == WrongType {
		return Swap{Key: key, Wrong: Leaf{Effect: Delete}}
	}
	return Swap{Key: key, Token: seen.State.Value, HasToken: true, Mine: Leaf{Effect: Delete}}
}
