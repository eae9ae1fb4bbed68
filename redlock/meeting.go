package redlock

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// meeting is one run of convene: first the masters that this proxy knows are
// seated, then everything is by place.
type meeting struct {
	electorate
	known     bool // there is a valid record
	merged    record
	notes     []string
	unsettled bool
	conflict  string // the records disagree about the set

	// By master, as this proxy lists them.
	all    []view
	orders []order
	found  []*record // valid records as they are stored
	why    []string  // not empty: it takes no part

	// By place.
	seats    []int // the master that sits there, or nobody
	views    []view
	records  []*record // stored records of the set in force
	previous []bool    // its record is from before the last change
	outdated []bool    // its record is older than that
	reasons  []string  // not empty: it takes no part
	lost     []bool
	restored []bool
	ways     []Way
	claims   []admission // by which it claims a place, …
	gaps     []string    // … and why
	taken    []bool      // another server has its place
}

func newMeeting(e electorate, views []view, orders []order) *meeting {
	return &meeting{electorate: e, all: views, orders: orders, found: make([]*record, len(views)), why: make([]string, len(views))}
}

// read takes the records of the masters that can be reached.
func (m *meeting) read() {
	for k := range m.all {
		v := &m.all[k]
		if !v.open {
			m.why[k] = v.reason
			continue
		}
		if v.raw == nil {
			continue
		}
		r, err := parseRecord(v.raw, m.name)
		if err != nil {
			m.why[k] = err.Error()
			continue
		}
		m.found[k] = r
	}
}

// exposeTwins keeps out masters that are the same server.
func (m *meeting) exposeTwins() {
	for i := range m.all {
		for j := range m.all {
			if i != j && m.all[i].open && m.all[j].open && m.all[i].id.run == m.all[j].id.run {
				m.why[i] = fmt.Sprintf("it is the same server as %s (equal run_id): list each master once", m.all[j].name)
			}
		}
	}
}

// choose finds the set of masters in force and what is known of it.
func (m *meeting) choose() {
	set, err := setInForce(m.found)
	m.known = set != nil
	switch {
	case err != nil:
		m.conflict = err.Error()
		fallthrough
	case set == nil && m.last == nil:
		founders := m.founders
		if founders == nil {
			founders = namesOf(m.all)
		}
		set = &record{Quorum: m.name, Admitted: make([]admission, len(founders)), Masters: founders}
	case set == nil, m.last.outlives(set):
		set = m.last
	case m.proposal != nil && m.proposal.follows(set):
		set = m.proposal
	}
	m.merged = *set
	m.merged.Place = 0
	m.merged.Admitted = slices.Clone(set.Admitted)
	m.merged.OpTimeout, m.merged.Drift = max(set.OpTimeout, m.opTimeout), max(set.Drift, m.drift)
	for _, r := range m.found {
		if r != nil && (m.merged.sameSet(r) || m.merged.follows(r)) {
			m.merged.merge(r)
		}
	}
	m.merged.Decided = set.From != nil && (set.Decided || decided(m.found, &m.merged))
}

// undecided reports whether the last change of the set may come to nothing yet.
func (m *meeting) undecided() bool { return m.merged.From != nil && !m.merged.Decided }

func namesOf(views []view) (names []string) {
	for i := range views {
		names = append(names, views[i].name)
	}
	return names
}

// object keeps everybody out while it is not known which set is in force.
func (m *meeting) object() {
	for i := range m.reasons {
		m.reasons[i] = cmp.Or(m.reasons[i], m.conflict)
	}
}

// order is what an operator wants of the master at a place.
func (m *meeting) order(i int) order {
	if m.orders == nil || m.seats[i] == nobody {
		return noOrder
	}
	return m.orders[m.seats[i]]
}

// joined reports whether the master at a place came with the last change.
func (m *meeting) joined(i int) bool {
	return i < len(m.merged.From) && m.merged.From[i] == 0
}

// lineage names a quorum after its masters at its first start, the same at
// every proxy.
func (m *meeting) lineage() string {
	var ids []string
	for i := range m.views {
		if m.views[i].open {
			ids = append(ids, m.views[i].id.String())
		}
	}
	slices.Sort(ids)
	h := fnv.New64a()
	for _, id := range ids {
		h.Write([]byte(id)) // a Hash's Write never fails
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// agenda is the outcome, by master.
func (m *meeting) agenda(fresh []bool, first bool) agenda {
	a := agenda{
		standings: make([]standing, len(m.all)), lost: make([]bool, len(m.all)), restored: make([]bool, len(m.all)),
		ways: make([]Way, len(m.all)), writes: make([][]byte, len(m.all)),
		losses: make([]loss, len(m.all)), first: first, known: m.known, set: &m.merged,
		seats: newSeats(m.seats, m.seatNames(), m.merged.setName()), unsettled: m.unsettled, notes: m.notes,
	}
	for k := range m.all {
		a.standings[k].reason = cmp.Or(m.why[k], m.outside(k))
	}
	for i, s := range m.count() {
		if k := m.seats[i]; k != nobody {
			a.standings[k], a.writes[k] = s, m.write(i, fresh[i])
			a.lost[k], a.restored[k], a.ways[k] = m.lost[i], m.restored[i], m.ways[i]
			a.losses[k] = m.loss(i)
		}
	}
	return a
}

// outside tells why a master that has no seat has no vote.
func (m *meeting) outside(k int) string {
	switch {
	case m.found[k] != nil && !m.found[k].sameSet(&m.merged):
		return "it is no member of the quorum any more, or of another one"
	case m.found[k] != nil:
		return fmt.Sprintf("its record is that of master number %d of the quorum, which is another one", m.found[k].Place)
	}
	return fmt.Sprintf("it is no member of the quorum: REDLOCK MASTERS ADD %s, or take it out of --masters", m.all[k].name)
}
