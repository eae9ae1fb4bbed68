package redlock

import (
	"time"
)

// simProxy is one proxy: a real Quorum over its own links, and the real
// decisions on who may vote.
type simProxy struct {
	s        *sim
	index    int
	quorum   *Quorum
	links    []*simLink
	arrivals []time.Duration // of the last command at each master
	shape    electorate
	settling bool
}

func newSimProxy(s *sim, i int) *simProxy {
	p := &simProxy{s: s, index: i, arrivals: make([]time.Duration, len(s.masters)),
		shape: electorate{name: "sim", size: len(s.masters), opTimeout: 50}}
	var masters []Master
	for j, m := range s.masters {
		l := &simLink{s: s, proxy: p, master: m, up: true, u: &upstream{link: newLink(600), shape: p.shape, place: j}}
		m.links = append(m.links, l)
		p.links = append(p.links, l)
		masters = append(masters, l)
	}
	p.quorum = New(Config{
		Masters: masters, OpTimeout: 50 * time.Millisecond, DriftPPM: 600, Clock: s,
		Rand: s.rand.Int64N, off: s.cfg.off,
	})
	for _, l := range p.links {
		l.opened()
	}
	return p
}

// settleSoon looks at all masters again, a moment later.
func (p *simProxy) settleSoon() {
	if p.settling {
		return
	}
	p.settling = true
	p.s.AfterFunc(p.s.between(0.01, 0.2), func() {
		p.settling = false
		p.settle()
	})
}

// settle decides who may vote, writes what follows from it, and begins to
// restore who has lost something.
func (p *simProxy) settle() {
	views := make([]view, len(p.links))
	for i, l := range p.links {
		k := l.u.link
		views[i] = view{name: l.Name(), open: l.up, generation: l.linkGen, id: l.identity, raw: l.u.raw,
			keys: int64(len(l.master.store.entries)), stepped: k.stepped, lastSeen: k.lastSeen,
			steadyAt: k.steadyAt, steppedAt: k.steppedAt}
		if !l.up {
			views[i].reason = "down"
		}
		if r := l.restoring; r != nil && r.generation == l.linkGen {
			views[i].restored = r.done
		}
	}
	a := p.shape.convene(views, nil)
	p.shape.seen = p.shape.seen || a.known
	for _, note := range a.notes {
		p.s.note("p%d: %s", p.index, note)
	}
	for i, l := range p.links {
		if !l.up {
			continue
		}
		was, _ := l.u.link.votes()
		l.u.link.expect(l.linkGen, views[i].raw)
		l.u.link.admit(l.linkGen, a.standings[i].serial, a.standings[i].reason)
		is, why := l.u.link.votes()
		if is != was {
			p.s.note("m%d votes at p%d: %v %s", i, p.index, is, why)
		}
		if is && !was {
			p.quorum.Returned(l)
		}
		if a.writes[i] != nil {
			l.write(views[i].raw, a.writes[i], a.restored[i])
		}
		if a.restored[i] {
			l.restoring = nil
		}
		switch {
		case !a.lost[i]:
			l.restoring = nil
		case p.s.cfg.restores:
			l.restore()
		}
	}
}

// write replaces the record if it is still the one that was seen.
func (l *simLink) write(seen, text []byte, restored bool) {
	m, mark := l.master, l.restoring
	var present []byte
	l.ask(func() {
		if string(m.record) == string(seen) && (!restored || m.marks[mark] || l.s.cfg.noMark) {
			m.record = text
		}
		present = m.record
	}, func() {
		l.u.raw = present
		l.u.link.expect(l.linkGen, present)
		l.proxy.settleSoon()
	})
}
