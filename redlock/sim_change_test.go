package redlock

import (
	"slices"
	"testing"
)

// members are the masters of the quorum, as a living proxy has them.
func (s *sim) members() []*simMaster {
	var members []*simMaster
	for _, p := range s.proxies {
		if p.dead || p.steward.seats == nil {
			continue
		}
		for _, k := range p.steward.seats.masters {
			if k != nobody {
				members = append(members, s.masters[k])
			}
		}
		return members
	}
	return s.masters
}

// founders are the masters that a first start is of: all but the one that waits
// to join.
func (s *sim) founders() (names []string) {
	for _, m := range s.masters[:s.cfg.masters] {
		names = append(names, m.name())
	}
	return names
}

// changeSet begins a change of the set of masters through one proxy, as
// steward.change does, and comes again.
func (s *sim) changeSet() {
	if s.calm() {
		return
	}
	s.AfterFunc(s.between(300, 900), s.changeSet)
	p := s.proxies[s.rand.IntN(len(s.proxies))]
	if p.dead || p.writing > 0 {
		return
	}
	st := p.steward
	_, a := p.decide()
	spare := slices.IndexFunc(s.masters, func(m *simMaster) bool { return !slices.Contains(a.seats.masters, m.index) })
	leaves, add := nobody, ""
	switch {
	case spare < 0 && len(a.seats.masters)%2 == 0:
		leaves = s.rand.IntN(len(a.seats.masters))
	case spare < 0:
		return // an odd set needs more than this to lose one
	case s.chance(0.5):
		leaves = s.rand.IntN(len(a.seats.masters))
		fallthrough
	default:
		add = s.masters[spare].name()
	}
	for i, k := range a.seats.masters {
		if !a.known || k == nobody || i != leaves && a.standings[k].serial == 0 {
			return // a change needs all others
		}
	}
	if add != "" {
		m := s.masters[spare]
		m.s.note("m%d is emptied to join", spare)
		m.empty()
		m.changed = s.now
	}
	next, err := a.set.changed(add, leaves, a.seats.names)
	if err != nil {
		s.fault("no change: %v", err)
		return
	}
	s.note("p%d begins a change: m%d joins %q, place %d leaves", p.slot, spare, add, leaves)
	s.count.changes++
	s.end.lost = true // a release that meets it may miss a copy that nobody counts
	st.shape.proposal = next
	p.settle()
	p.AfterFunc(s.between(5, 100), func() {
		st.shape.proposal = nil
		p.settleSoon()
	})
}

// TestSimulationOfChanges is TestSimulation while masters join, leave, and take
// each other's place.
func TestSimulationOfChanges(t *testing.T) {
	n := *simSchedules / 10
	c := simulate(t, n, func(c *simConfig) { c.changes = true })
	if *simSeed != 0 || t.Failed() {
		return
	}
	t.Logf("%d schedules: %+v", n, c)
	if c.changes < n || c.grants < 5*n || c.resynced < n {
		t.Error("that is too little to test anything")
	}
}
