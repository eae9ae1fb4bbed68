package redlock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The set of masters is what the records say, see change.go; a proxy's own list
// only tells how to reach them. Who sits at which place is found out from each
// master's own record, and where it has none from its identity and its name.

// setInForce is a record of the newest set of masters among those found, nil
// without any. The error says that they disagree.
func setInForce(found []*record) (*record, error) {
	ids := distinct(found, func(a, b *record) bool { return a.ID == b.ID })
	if len(ids) > 1 {
		// A master that was taken from another quorum is outvoted by its peers here.
		ids = slices.DeleteFunc(ids, func(r *record) bool {
			newest := newestOf(found, r.ID)
			return countOf(found, func(o *record) bool { return o.ID == r.ID }) < len(newest[0].Admitted)/2+1
		})
	}
	switch len(ids) {
	case 0:
		if countOf(found, func(*record) bool { return true }) > 0 {
			return nil, errors.New(disagree)
		}
		return nil, nil
	case 1:
	default:
		return nil, errors.New(disagree)
	}
	sets := newestOf(found, ids[0].ID)
	if len(sets) > 1 {
		sets = slices.DeleteFunc(sets, func(r *record) bool { return !decided(found, r) })
	}
	if len(sets) != 1 {
		return nil, errors.New(disagree)
	}
	return sets[0], nil
}

const disagree = "the records of the masters belong to different quorums or sets of masters, and none has a majority: list the masters of one quorum only"

// newestOf is one record of each of the newest sets of a quorum. There are
// several only if two changes were begun at once.
func newestOf(found []*record, id string) []*record {
	epoch := uint64(0)
	for _, r := range found {
		if r != nil && r.ID == id {
			epoch = max(epoch, r.Epoch)
		}
	}
	of := slices.DeleteFunc(slices.Clone(found), func(r *record) bool { return r == nil || r.ID != id || r.Epoch != epoch })
	return distinct(of, (*record).sameSet)
}

// decided reports whether a majority of the masters from before a change has
// it, or had. There is only one such change: they take none but the first.
func decided(found []*record, set *record) bool {
	before := cmp.Or(set.Before, len(set.Admitted))
	stayed := func(r *record) bool { return set.From == nil || set.From[r.Place-1] != 0 }
	had := func(r *record) bool { return r.Decided }
	of := func(which func(*record) bool) int {
		return countOf(found, func(r *record) bool { return r.sameSet(set) && which(r) })
	}
	return of(had) > 0 || of(stayed) >= min(before/2+1, set.stay())
}

// stay is how many masters were in the set before it, too.
func (r *record) stay() int {
	if r.From == nil {
		return len(r.Admitted)
	}
	return len(slices.DeleteFunc(slices.Clone(r.From), func(place int) bool { return place == 0 }))
}

func countOf(found []*record, which func(*record) bool) (n int) {
	for _, r := range found {
		if r != nil && which(r) {
			n++
		}
	}
	return n
}

// distinct is one of each class of equal records.
func distinct(found []*record, equal func(a, b *record) bool) (kinds []*record) {
	for _, r := range found {
		if r != nil && !slices.ContainsFunc(kinds, func(k *record) bool { return equal(k, r) }) {
			kinds = append(kinds, r)
		}
	}
	return kinds
}

// sit finds the place of each master, by what is the surest sign of it.
func (m *meeting) sit() {
	set := &m.merged
	m.seats = slices.Repeat([]int{nobody}, len(set.Admitted))
	free := func(k int) bool { return !slices.Contains(m.seats, k) }
	seat := func(fits func(i, k int) bool) {
		for i := range m.seats {
			for k := range m.all {
				if m.seats[i] == nobody && free(k) && fits(i, k) {
					m.seats[i] = k
				}
			}
		}
	}
	recorded := func(i, k int) bool { r := m.found[k]; return r != nil && r.sameSet(set) && r.Place == i+1 }
	admitted := func(i, k int) bool { return m.all[k].open && set.Admitted[i].Identity == m.all[k].id.String() }
	seat(func(i, k int) bool { return recorded(i, k) && admitted(i, k) }) // not one with a copy of its data
	seat(recorded)
	seat(func(i, k int) bool {
		r := m.found[k]
		return r != nil && set.follows(r) && r.Place == set.From[i]
	})
	seat(admitted)
	seat(func(i, k int) bool { return i < len(set.Masters) && set.Masters[i] == m.all[k].name })
	seat(func(i, k int) bool { return m.sat != nil && m.sat.set == set.setName() && m.sat.masters[i] == k })
	if !m.knowsNames() {
		m.sitLeftOver(free)
	}
	m.take()
}

// sitLeftOver is for a proxy that has other names for the masters than who wrote
// the records: as many masters as places are left, so each has one. Which one does
// not matter to a master that has lost everything; but one that can not be
// reached may have its place, and who takes that turns it out.
func (m *meeting) sitLeftOver(free func(int) bool) {
	var masters, places []int
	for k := range m.all {
		if !free(k) {
			continue
		}
		if !m.all[k].open {
			return
		}
		masters = append(masters, k)
	}
	for i, k := range m.seats {
		if k == nobody {
			places = append(places, i)
		}
	}
	if len(masters) != len(places) {
		return
	}
	for j, i := range places {
		m.seats[i] = masters[j]
	}
}

// knowsNames reports whether any name in the records is among this proxy's.
func (m *meeting) knowsNames() bool {
	return slices.ContainsFunc(m.all, func(v view) bool { return slices.Contains(m.merged.Masters, v.name) })
}

// sitByIdentity gives the places of a first start, the same at every proxy.
func (m *meeting) sitByIdentity() {
	slices.SortFunc(m.seats, func(a, b int) int { return cmp.Compare(m.all[a].id.String(), m.all[b].id.String()) })
	m.take()
	m.merged.Masters = m.seatNames()
	m.merged.ID = m.lineage()
}

func (m *meeting) seatNames() (names []string) {
	for i := range m.views {
		names = append(names, m.views[i].name)
	}
	return names
}

// take sorts what is known by place.
func (m *meeting) take() {
	n := len(m.seats)
	m.views, m.records, m.reasons = make([]view, n), make([]*record, n), make([]string, n)
	m.previous, m.outdated = make([]bool, n), make([]bool, n)
	m.lost, m.restored, m.ways = make([]bool, n), make([]bool, n), make([]Way, n)
	m.claims, m.gaps, m.taken = make([]admission, n), make([]string, n), make([]bool, n)
	for i, k := range m.seats {
		if k == nobody {
			m.views[i] = view{name: m.absentName(i), reason: reasonUnknownMember}
			m.reasons[i] = reasonUnknownMember
			continue
		}
		m.views[i], m.reasons[i] = m.all[k], m.why[k]
		switch r := m.found[k]; {
		case r == nil:
		case r.sameSet(&m.merged) && r.Place == i+1:
			m.records[i] = r
		case m.merged.follows(r) && r.Place == m.merged.From[i]:
			m.previous[i] = true
		case r.ID == m.merged.ID && r.Epoch+1 < m.merged.Epoch:
			m.outdated[i] = true
		default:
			m.reasons[i] = cmp.Or(m.reasons[i], m.outside(k))
		}
	}
}

func (m *meeting) absentName(i int) string {
	if i < len(m.merged.Masters) {
		return m.merged.Masters[i]
	}
	return fmt.Sprintf("master number %d", i+1)
}
