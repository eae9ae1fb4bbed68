package redlock

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
		done, expiry := s.change(now, p.Key, p.leaf(which), entries[k], states[k].Kind != Absent)
		v.applied = v.applied || done
		if k == 0 {
			v.expiry = expiry
			continue
		}
		v.and[k-1] = Held{Before: states[k], Expiry: Window{expiry, expiry}}
	}
	return v
}
