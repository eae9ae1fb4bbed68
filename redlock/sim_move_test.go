package redlock

import (
	"slices"
	"testing"
)

// move has the name of a master lead to another server, which is empty, while
// the old one lives on: some proxies still reach that for a while.
func (s *sim) move() {
	if s.calm() {
		return
	}
	s.AfterFunc(s.between(300, 1500), s.move)
	members := s.members()
	m := members[s.rand.IntN(len(members))]
	if m.replica || s.majorityLost() || slices.ContainsFunc(s.masters, (*simMaster).split) {
		return
	}
	s.count.moved++
	m.lose(func() {
		links, old := m.links, *m
		old.before, m.before = nil, &old
		m.moved = s.now + s.between(100, 1500)
		m.links, old.links = nil, nil
		for _, l := range links {
			if s.chance(0.6) {
				l.reach(&old)
			} else {
				l.reach(m)
			}
		}
		s.note("m%d's name moves to an empty server", m.index)
		m.empty()
		m.newClock()
		m.offset += s.between(-20, 20)
		m.restart()
	})
}

// split reports whether some proxy still reaches the old server.
func (m *simMaster) split() bool { return m.before != nil && len(m.before.links) > 0 }

// reach is whom the link's address leads to from now on.
func (l *simLink) reach(m *simMaster) {
	if i := slices.Index(l.master.links, l); i >= 0 {
		l.master.links = slices.Delete(slices.Clone(l.master.links), i, i+1)
	}
	l.master = m
	m.changed = l.s.now // what was released at the old one is still there
	m.links = append(m.links, l)
}

// resolve looks the address up before a connection is opened.
func (l *simLink) resolve() {
	m := l.s.masters[l.index]
	switch {
	case m.before == nil:
	case l.s.now >= m.moved || l.s.calm():
		l.reach(m)
	case l.s.chance(0.3):
		l.reach(m.before)
	}
}

// settle ends the old server: its name leads everybody to the new one. That is
// so before locks are waited for that peers can not tell: a proxy that reaches
// the old server and just those peers would go on taking them, and no rule can
// know (README, "What it cannot promise").
func (m *simMaster) settle() {
	m.moved = m.s.now
	if m.before == nil {
		return
	}
	for _, l := range slices.Clone(m.before.links) {
		l.fail()
		l.reach(m)
	}
}

// TestSimulationOfMoves is TestSimulation while addresses come to lead to other
// servers and the old ones live on.
func TestSimulationOfMoves(t *testing.T) {
	n := *simSchedules / 10
	c := simulate(t, n, func(c *simConfig) { c.moves = true })
	if *simSeed != 0 || t.Failed() {
		return
	}
	t.Logf("%d schedules: %+v", n, c)
	if c.moved < n || c.grants < 5*n || c.resynced < n {
		t.Error("that is too little to test anything")
	}
}

// forget has all votes count.
func (v *voids) forget() {
	for k := range v.before {
		v.before[k].Store(0)
	}
	v.latest.Store(0)
}
