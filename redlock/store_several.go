package redlock

import "bytes"

// applySeveral is apply for a table of several keys. It knows no window: undos
// are of one key each.
func (s *store) applySeveral(now int64, table *Swap) verdict {
	n := table.keys()
	entries, states := make([]entry, n), make([]State, n)
	for k := range n {
		if e, exists := s.find(now, table.part(k).Key); exists {
			entries[k], states[k] = e, State{Kind: e.kind, Value: e.value, TTL: e.remaining(now)}
		}
	}
	which := table.CaseOf(&states[0], states[1:])
	v := verdict{before: states[0], mine: which == CaseMine, and: make([]Held, n-1)}
	for k := range n {
		p := table.part(k)
		done, expiry := s.change(now, &p, p.leaf(which), entries[k], states[k].Kind != Absent)
		v.applied = v.applied || done
		if k == 0 {
			v.expiry = expiry
			continue
		}
		v.and[k-1] = Held{Before: states[k], Expiry: Window{expiry, expiry}}
	}
	return v
}

// change does to one key what its leaf says.
func (s *store) change(now int64, p *Part, l *Leaf, e entry, exists bool) (done bool, expiry int64) {
	switch {
	case l.Effect == Set:
		e = entry{kind: Text, value: bytes.Clone(l.Value), expiry: e.after(now, l.TTL)}
	case l.Effect == Expire && exists:
		e.expiry = e.after(now, l.TTL)
	case l.Effect == Delete && exists:
		delete(s.entries, string(p.Key))
		return true, 0
	default:
		return false, 0
	}
	s.put(now, p.Key, e)
	return true, e.expiry
}
