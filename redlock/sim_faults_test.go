package redlock

import "time"

// misbehave does something a real master does sometimes, and comes again.
func (m *simMaster) misbehave() {
	s := m.s
	if s.calm() {
		return
	}
	switch x := s.rand.Float64(); {
	case s.cfg.flushes && x < 0.5:
		m.lose(m.flush)
	case x < 0.32:
		d := s.between(5, 400)
		s.note("m%d stopped for %v", m.index, d)
		m.stopped = max(m.stopped, s.now+d)
	case x < 0.55 && len(m.links) > 0:
		l := m.links[s.rand.IntN(len(m.links))]
		d := s.between(1, 600)
		if s.chance(0.1) {
			d *= 3 // longer than an answer is waited for
		}
		s.note("m%d p%d partitioned for %v", m.index, l.proxy.slot, d)
		l.blocked = max(l.blocked, s.now+d)
	case x < 0.74 && len(m.links) > 0:
		m.links[s.rand.IntN(len(m.links))].fail()
	case x < 0.88:
		m.fail()
	case x < 0.91 && s.cfg.steps:
		m.lose(m.stepClock)
	}
	next := s.between(50, 2500)
	if s.cfg.flushes {
		next /= 4
	}
	s.AfterFunc(next, m.misbehave)
}

// fail loses some or all of what the master has, or might have.
func (m *simMaster) fail() {
	switch x := m.s.rand.Float64(); {
	case x < 0.3:
		m.lose(m.restartEmpty)
	case x < 0.6 && m.durable:
		m.restartWhole()
	case x < 0.6:
		m.lose(m.restartBehind)
	case x < 0.75:
		m.lose(m.promote)
	case x < 0.85:
		m.demote()
	default:
		m.lose(m.flush)
	}
}

// calamity is many masters that fail at once.
func (s *sim) calamity() {
	if s.calm() {
		return
	}
	n := len(s.masters)
	if s.chance(0.5) {
		n = n/2 + 1
	}
	s.note("calamity for %d masters", n)
	for _, i := range s.rand.Perm(len(s.masters))[:n] {
		m := s.masters[i]
		switch s.rand.IntN(3) {
		case 0:
			m.lose(m.flush)
		case 1:
			m.lose(m.restartEmpty)
		default:
			m.lose(m.restartBehind)
		}
	}
	s.AfterFunc(s.between(1200, 2500), s.calamity)
}

// death ends a proxy; another one takes its place, which knows nothing.
func (s *sim) death() {
	if s.calm() {
		return
	}
	s.AfterFunc(s.between(200, 2500), s.death)
	slot := s.rand.IntN(len(s.proxies))
	if p := s.proxies[slot]; p.dead || s.majorityLost() {
		return // what it remembers may be all there is
	} else {
		p.die()
	}
	s.revive(slot)
}

func (s *sim) revive(slot int) {
	// Whoever starts a process anew takes longer than an op timeout.
	s.AfterFunc(s.between(60, 500), func() {
		if s.majorityLost() && !s.calm() {
			s.revive(slot)
			return
		}
		p := newSimProxy(s, slot)
		s.proxies[slot] = p
		s.note("p%d starts anew", slot)
		for _, l := range p.links {
			l.connect()
		}
	})
}

// lose has a master lose something. If a majority has lost what it had, the
// masters can not tell any more how long to wait: then the proxies remember,
// from the last time they read the horizons, less than a moment ago. What was
// granted since, for longer than anything before it, is beyond what is promised.
func (m *simMaster) lose(how func()) {
	s := m.s
	m.forgot = max(m.forgot, s.now+time.Duration(m.horizonTTL())*time.Millisecond)
	if !m.lost {
		m.lostSerial = m.admitted().Serial
	}
	m.lost, m.changed = true, s.now
	if s.majorityLost() {
		for _, p := range s.proxies {
			p.remember()
		}
	}
	how()
}

// majorityLost reports whether a majority has lost something and was not
// admitted again since.
func (s *sim) majorityLost() bool {
	n, members := 0, s.members()
	for _, m := range members {
		if m.lost || m.split() {
			n++
		}
	}
	return n > len(members)/2
}

// admitted is the admission in force by the master's own record.
func (m *simMaster) admitted() admission {
	r, err := parseRecord(m.record(), simQuorum)
	if err != nil {
		return admission{}
	}
	return r.own()
}

func (m *simMaster) flush() {
	m.s.note("m%d FLUSHALL", m.index)
	m.empty()
}

func (m *simMaster) restartEmpty() {
	m.s.note("m%d restarts empty", m.index)
	m.empty()
	m.restart()
}

// restartWhole is the restart of a master that persists every write.
func (m *simMaster) restartWhole() {
	m.s.note("m%d restarts with all of its data", m.index)
	m.restart()
}

// restartBehind is the restart of one that does not: it lost the last writes.
func (m *simMaster) restartBehind() {
	lag := m.s.between(0, 300)
	m.s.note("m%d restarts with its data of %v ago", m.index, lag)
	m.rollBack(m.s.now - lag)
	m.durable = false
	m.restart()
}

// restart begins a new life. What was answered may still be on its way; what
// arrives now reaches nobody.
func (m *simMaster) restart() {
	m.newLife()
	m.stopped, m.replica = m.s.now, false
	m.broken()
}

// broken breaks all connections: the proxies notice now or a little later.
func (m *simMaster) broken() {
	for _, l := range m.links {
		generation := l.generation
		if m.s.chance(0.5) {
			l.fail()
			continue
		}
		m.s.AfterFunc(m.s.between(0, 50), func() {
			if l.generation == generation {
				l.fail()
			}
		})
	}
}

// promote puts another server in the master's place: a replica, behind by
// some milliseconds.
func (m *simMaster) promote() {
	lag := m.s.between(0, 200)
	m.s.count.promoted++
	m.s.note("m%d is replaced by its replica of %v ago", m.index, lag)
	m.rollBack(m.s.now - lag)
	m.promoted = true
	m.newClock()
	m.offset += m.s.between(-20, 20)
	m.restart()
}

// demote makes the same process the replica of its own replica, which is
// behind, and a master again, with the replica's data.
func (m *simMaster) demote() {
	s, life, lag := m.s, m.lives, m.s.between(0, 200)
	s.count.demoted++
	s.note("m%d becomes a replica of its replica of %v ago", m.index, lag)
	m.replica, m.promoted = true, true
	behind := s.now - lag
	s.AfterFunc(s.between(0, 150), func() {
		if m.lives != life || !m.replica {
			return
		}
		m.lose(func() {
			s.note("m%d is a master again", m.index)
			m.rollBack(behind)
			m.replica = false
			m.newReplication()
			if s.chance(0.5) {
				m.broken()
			}
		})
	})
}

func (m *simMaster) stepClock() {
	by := m.s.between(-2000, 2000)
	m.s.count.steps++
	m.s.note("m%d's clock steps by %v", m.index, by)
	m.offset += by
	m.step += by
}
