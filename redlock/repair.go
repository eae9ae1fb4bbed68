package redlock

// An extend that has its quorum gives the key to masters that answered that
// they do not have it, so that a lock which is being extended survives its
// masters being restarted one after the other (design §4.10). Not if a later
// operation on the key has entered this proxy; and since it may have entered
// another one, the repaired copy is checked like any late one.

// repair sends master i the keys that this extend has a quorum for.
func (r *round) repair(i int, do *actions) {
	if !r.repairs || r.votes[i].Status != Answered || r.overlap.followed.Load() {
		return
	}
	for k := range r.table.keys() {
		if p := r.table.part(k); p.HasToken && r.saw(i, k).Kind == Absent {
			r.repairKey(i, &p, do)
		}
	}
}

func (r *round) repairKey(i int, p *Part, do *actions) {
	value := p.Token
	if p.Mine.Effect == Set {
		value = p.Mine.Value
	}
	// It is to end with the other copies, so that a release can tell it.
	ttl := p.Mine.TTL - (r.f.q.clock.Now() - r.started).Milliseconds()
	if !p.Mine.writes() || ttl <= 0 {
		return // it is not extended, or KeepTTL: it has none to keep
	}
	r.f.q.Stats.Repairs.Add(1)
	do.send(r.seats.masters[i], &Call{
		Table:    &Swap{Key: p.Key, Absent: Leaf{Effect: Set, Value: value, TTL: ttl}},
		Deadline: r.f.deadline,
		keep:     func() bool { return !r.overlap.followed.Load() },
		side:     func(a Answer) { r.repaired(i, p.Key, value, a) },
	})
}

// repaired checks a repaired copy: the lock may have been released through
// another proxy meanwhile.
func (r *round) repaired(i int, key, value []byte, a Answer) {
	if a.Status == Answered && a.Applied {
		r.f.q.owe(stray{master: r.seats.masters[i], key: key, token: value, window: a.Expiry})
	}
}

// repairAll repairs what has answered so far.
func (r *round) repairAll(do *actions) {
	r.repairs = r.f.class == classModify && !r.table.Other.writes()
	for i := range r.votes {
		if r.voted[i] {
			r.repair(i, do)
		}
	}
}
