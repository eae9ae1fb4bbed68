package redlock

// An extend that has its quorum gives the key to masters that answered that
// they do not have it, so that a lock which is being extended survives its
// masters being restarted one after the other (design §4.10). Not if a later
// operation on the key has entered this proxy; and since it may have entered
// another one, the repaired copy is checked like any late one.

// repair sends master i the key that this extend has a quorum for.
func (r *round) repair(i int, do *actions) {
	a, q := &r.votes[i], r.f.q
	if !r.repairs || a.Status != Answered || a.Before.Kind != Absent || r.overlap.followed.Load() {
		return
	}
	value := r.table.Token
	if r.table.Mine.Effect == Set {
		value = r.table.Mine.Value
	}
	if r.table.Mine.TTL <= 0 {
		return // KeepTTL: it has none to keep
	}
	q.Stats.Repairs.Add(1)
	do.send(i, &Call{
		Table:    &Swap{Key: r.table.Key, Absent: Leaf{Effect: Set, Value: value, TTL: r.table.Mine.TTL}},
		Deadline: r.f.deadline,
		keep:     func() bool { return !r.overlap.followed.Load() },
		side:     func(a Answer) { r.repaired(i, value, a) },
	})
}

// repaired checks a repaired copy: the lock may have been released through
// another proxy meanwhile.
func (r *round) repaired(i int, value []byte, a Answer) {
	if a.Status == Answered && a.Applied {
		r.f.q.owe(stray{master: i, key: r.table.Key, token: value, window: a.Expiry})
	}
}

// repairAll repairs what has answered so far.
func (r *round) repairAll(do *actions) {
	r.repairs = r.f.class == classModify && r.table.HasToken && r.table.Mine.writes() && !r.table.Other.writes()
	for i := range r.votes {
		if r.voted[i] {
			r.repair(i, do)
		}
	}
}
