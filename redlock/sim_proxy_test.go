package redlock

import (
	"log/slog"
	"net"
	"strings"
	"time"
)

// simDrift is the drift that proxies allow for, parts per million.
const simDrift = 600

// simProxy is one proxy: a real Quorum over its own links, and a real steward
// that does not run: what it would do is done here.
type simProxy struct {
	s        *sim
	slot     int
	dead     bool
	quorum   *Quorum
	steward  *steward
	links    []*simLink // by master
	sessions []func()   // by client, what its operation's end by a broken connection is
	last     struct {   // acquire of a connection that several clients share
		op   *Op
		over *bool // it is answered
	}

	settling bool
	again    bool // settle once more when all records are written
	writing  int  // records that are being written
	failed   bool // one could not be
	written  []bool
	rounds   int // of writing
}

func newSimProxy(s *sim, slot int) *simProxy {
	p := &simProxy{s: s, slot: slot, sessions: make([]func(), s.cfg.clients)}
	shape := electorate{name: simQuorum, size: len(s.masters), opTimeout: 50, drift: simDrift, founders: s.founders(), unclaimed: s.cfg.skip.claims}
	p.steward = newSteward(shape, p, simLog)
	p.steward.ctx = simContext
	p.steward.settles = 500 * time.Millisecond // proxies find their masters again sooner here
	p.steward.begin = p.begin
	var masters []Master
	for _, m := range s.masters {
		l := newSimLink(p, m)
		m.links = append(m.links, l)
		p.links = append(p.links, l)
		p.steward.ups = append(p.steward.ups, l.u)
		masters = append(masters, l)
	}
	p.quorum = New(Config{
		Masters: masters, OpTimeout: 50 * time.Millisecond, DriftPPM: simDrift, Clock: p,
		Rand: s.rand.Int64N, off: s.cfg.off,
	})
	p.steward.reseat, p.steward.voids = p.quorum.reseat, p.quorum.voids
	for _, l := range p.links {
		l.u.quorum.Store(p.quorum)
	}
	return p
}

var simLog = slog.New(slog.DiscardHandler)

// noConn is a connection of which nothing is needed but its end.
type noConn struct{ net.Conn }

func (noConn) Close() error { return nil }

// open opens all connections at once.
func (p *simProxy) open() {
	for _, l := range p.links {
		l.opened()
	}
}

// Now implements Clock.
func (p *simProxy) Now() time.Duration { return p.s.now }

// AfterFunc implements Clock.
func (p *simProxy) AfterFunc(d time.Duration, f func()) {
	p.s.AfterFunc(d, func() {
		if !p.dead {
			f()
		}
	})
}

// die ends the proxy: nobody hears of what it was doing. What it has sent may
// still be executed.
func (p *simProxy) die() {
	p.s.note("p%d dies", p.slot)
	p.s.count.deaths++
	p.s.count.addStats(p)
	p.s.end.died(p)
	p.dead = true
	for _, l := range p.links {
		if p.s.chance(0.3) {
			l.killedFrom = l.generation + 1 // closed with an error
		}
		m := l.master
		for i := range m.links {
			if m.links[i] == l {
				m.links = append(m.links[:i:i], m.links[i+1:]...)
				break
			}
		}
	}
	for _, end := range p.sessions {
		if end != nil {
			end()
		}
	}
}

// remember is what the proxy knows from having read the horizons of the
// masters that have lost them.
func (p *simProxy) remember() {
	if p.dead {
		return
	}
	p.steward.shape.seen = true
	for _, l := range p.links {
		if l.master.lost {
			l.u.memory.raise(l.master.forgot)
		}
	}
}

// settleSoon looks at all masters again, a moment later: steward.changed.
func (p *simProxy) settleSoon() {
	if p.settling {
		return
	}
	p.settling = true
	p.AfterFunc(p.s.between(0.01, 0.2), func() {
		p.settling = false
		p.settle()
	})
}

// settle is steward.settle: it decides who may vote and writes what follows.
func (p *simProxy) settle() {
	if p.writing > 0 {
		p.again = true
		return
	}
	p.rounds = 0
	p.write(p.decide())
}

func (p *simProxy) decide() ([]view, agenda) {
	st := p.steward
	before := p.votes()
	st.mu.Lock()
	views, a := st.decide(nil)
	if p.s.cfg.skip.void {
		p.quorum.voids.forget()
	}
	st.mu.Unlock()
	for i, l := range p.links {
		votes, reason := l.u.link.votes()
		if votes != before.has(i) {
			p.s.note("m%d votes at p%d: %v %s", i, p.slot, votes, reason)
		}
	}
	return views, a
}

func (p *simProxy) votes() (b bitset) {
	for i, l := range p.links {
		if votes, _ := l.u.link.votes(); votes {
			b.set(i)
		}
	}
	return b
}

// write sends the records that follow from a decision.
func (p *simProxy) write(views []view, a agenda) {
	if !anyWrite(a.writes) {
		if a.unsettled {
			p.AfterFunc(lookAgain, p.settleSoon)
		}
		return
	}
	p.written, p.failed, p.writing = a.restored, false, 1
	for i, text := range a.writes {
		if text != nil {
			p.writing++
			p.links[i].write(&views[i], text, &a)
		}
	}
	p.wrote(true)
}

// wrote is the end of one write. After the last one it is decided again.
func (p *simProxy) wrote(ok bool) {
	p.failed = p.failed || !ok
	if p.writing--; p.writing > 0 {
		return
	}
	p.steward.mu.Lock()
	p.steward.consume(p.written)
	p.steward.mu.Unlock()
	views, a := p.decide()
	if p.rounds++; p.failed || p.rounds == 8 {
		p.AfterFunc(lookAgain, p.settleSoon)
	} else {
		p.write(views, a)
	}
	if p.again && p.writing == 0 {
		p.again = false
		p.settleSoon()
	}
}

// write is upstream.write.
func (l *simLink) write(v *view, text []byte, a *agenda) {
	w, m := l.u.wire, l.master
	if w == nil || w.generation != v.generation {
		l.proxy.wrote(false)
		return
	}
	seen, condition, marker, why := v.raw, v.condition(a.first), v.marker, v.restored
	if !a.restored[l.index] {
		why = ""
	}
	var present []byte
	var err error
	l.ask(func() {
		if m.replica {
			err = errNoRedial
			return
		}
		was := m.admitted()
		present, err = m.writeRecord(seen, text, condition, marker)
		m.noteAdmission(was, why, a.known)
	}, func() {
		l.proxy.wrote(l.u.wrote(w, v, text, present, err) == nil)
	}, func() { l.proxy.wrote(false) })
}

// noteAdmission counts the ways by which masters are admitted again.
func (m *simMaster) noteAdmission(was admission, why string, known bool) {
	now, count := m.admitted(), &m.s.count
	anew := !known && was.Serial == 0 // serials begin again where all records are gone
	if !anew && now.Serial <= max(was.Serial, m.lostSerial) || now.Identity != m.id.String() {
		return
	}
	m.lost, m.forgot, m.changed = false, 0, m.s.now
	m.s.note("m%d admitted with serial %d: %s", m.index, now.Serial, why)
	switch {
	case why == "" && !known: // the first start
	case why == "":
		count.durable++
	case !known:
		count.waitedAll++
	case strings.Contains(why, "must have") || strings.Contains(why, "may have forgotten"):
		count.waited++
	default:
		count.resynced++
	}
}

func (c *simCount) addStats(p *simProxy) {
	st := &p.quorum.Stats
	c.undone += int(st.Undone.Load())
	c.late += int(st.LateCopies.Load())
	c.split += int(st.SplitRetries.Load())
	c.herded += int(st.Herded.Load())
}
