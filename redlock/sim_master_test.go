package redlock

import (
	"fmt"
	"time"
)

// simMaster is a Redis process: one store, one wall clock, one identity.
type simMaster struct {
	s         *sim
	index     int
	store     *store
	run       int           // changes with every restart
	offset    time.Duration // of its wall clock
	rate      float64       // of its wall clock
	stopped   time.Duration // executes nothing before this time
	hasRecord bool
	links     []*simLink
	executed  map[*round]bool // rounds whose table was applied here
}

func newSimMaster(s *sim, i int) *simMaster {
	return &simMaster{
		s: s, index: i, store: newStore(), hasRecord: true,
		offset: time.Duration(1_700_000_000+s.rand.IntN(1000)) * time.Second,
		rate:   1 + (s.rand.Float64()-0.5)*500e-6,
	}
}

// wall is the master's wall clock in milliseconds.
func (m *simMaster) wall() int64 {
	return int64((float64(m.s.now)*m.rate + float64(m.offset)) / 1e6)
}

// misbehave does something a real master does sometimes, and comes again.
func (m *simMaster) misbehave() {
	s := m.s
	switch x := s.rand.Float64(); {
	case x < 0.35:
		d := s.between(5, 400)
		s.note("m%d stopped for %v", m.index, d)
		m.stopped = s.now + d
	case x < 0.6:
		l := m.links[s.rand.IntN(len(m.links))]
		d := s.between(1, 600)
		s.note("m%d p%d partitioned for %v", m.index, l.proxy.index, d)
		l.blocked = s.now + d
	case x < 0.8:
		m.links[s.rand.IntN(len(m.links))].fail()
	case x < 0.85:
		s.note("m%d restarts empty", m.index)
		m.store, m.run, m.hasRecord = newStore(), m.run+1, false
		for _, l := range m.links {
			l.fail()
		}
	case x < 0.87:
		s.note("m%d FLUSHALL", m.index)
		m.store, m.hasRecord = newStore(), false
	}
	s.AfterFunc(s.between(50, 2500), m.misbehave)
}

// simLink is one proxy's connection to one master. Commands arrive in order
// and replies come back in order.
type simLink struct {
	s          *sim
	proxy      *simProxy
	master     *simMaster
	up         bool
	generation int
	admitted   bool
	blocked    time.Duration // nothing gets through before this time
	lastSent   time.Duration // arrival of the last command at the master
	lastBack   time.Duration // arrival of the last reply at the proxy
	waiting    []*Call       // sent, not answered
	killedFrom int           // connections before this generation are dead at the master
}

// Name implements Master.
func (l *simLink) Name() string { return fmt.Sprintf("m%d", l.master.index) }

// Down implements Master.
func (l *simLink) Down() string {
	switch {
	case !l.up:
		return "down"
	case !l.admitted:
		return "restarted without its data"
	}
	return ""
}

// Send implements Master.
func (l *simLink) Send(c *Call) bool {
	if !l.up {
		return false
	}
	s := l.s
	if s.chance(0.05) && !s.cfg.calm { // waits in the worker's queue for a while
		gen := l.generation
		l.lastSent = max(l.lastSent, s.now+s.between(0, 30))
		s.AfterFunc(l.lastSent-s.now, func() { l.unqueue(c, gen) })
		return true
	}
	if l.lastSent > s.now {
		gen := l.generation
		s.AfterFunc(l.lastSent-s.now, func() { l.unqueue(c, gen) })
		return true
	}
	l.transmit(c)
	return true
}

// unqueue is a worker that gets to a call.
func (l *simLink) unqueue(c *Call, gen int) {
	if !l.up || gen != l.generation || l.s.now > c.Deadline || !c.Wanted() {
		c.Deliver(Answer{Status: Unsent, Reason: "not sent in time"})
		return
	}
	l.transmit(c)
}

// transmit puts the call on the wire.
func (l *simLink) transmit(c *Call) {
	s, gen := l.s, l.generation
	sentWall := l.master.wall()
	at := max(s.now+l.delay(), l.blocked, l.lastArrival())
	l.waiting = append(l.waiting, c)
	l.setArrival(at)
	s.AfterFunc(at-s.now, func() { l.arrive(c, gen, l.master.run, sentWall) })
}

func (l *simLink) lastArrival() time.Duration  { return l.proxy.arrivals[l.master.index] }
func (l *simLink) setArrival(at time.Duration) { l.proxy.arrivals[l.master.index] = at }
func (l *simLink) delay() time.Duration {
	s := l.s
	switch x := s.rand.Float64(); {
	case s.cfg.calm || x < 0.85:
		return s.between(0.05, 0.5)
	case x < 0.97:
		return s.between(0.5, 8)
	}
	return s.between(8, 120)
}

// arrive executes a command at the master.
func (l *simLink) arrive(c *Call, gen, run int, sentWall int64) {
	s, m := l.s, l.master
	if m.run != run || gen < l.killedFrom {
		return // the process, or the connection, is gone and its buffers with it
	}
	if m.stopped > s.now {
		s.AfterFunc(m.stopped-s.now, func() { l.arrive(c, gen, run, sentWall) })
		return
	}
	if m.run == run && gen == l.generation && !l.up {
		return
	}
	if s.now > c.Deadline && c.Bounded() && !s.cfg.noDeadline {
		l.reply(c, gen, Answer{Status: Failed, Reason: ReasonTooLate}, false)
		return
	}
	wall := m.wall()
	window := c.Window
	if c.About != [2]time.Duration{} {
		window = Window{wall + (c.About[0] - s.now).Milliseconds(), wall + (c.About[1] - s.now).Milliseconds()}
	}
	v := m.store.apply(wall, c.Table, window)
	if v.applied {
		m.noteApplied(c)
	}
	s.note("m%d p%d executes %s: saw %s applied %v", m.index, l.proxy.index, describe(c), describeState(v.before), v.applied)
	a := Answer{
		Status: Answered, Before: v.before, Mine: v.mine, Applied: v.applied,
		Expiry: Window{sentWall + v.expiry - wall, wall + v.expiry - wall + int64(s.rand.IntN(3))},
	}
	l.reply(c, gen, a, m.hasRecord)
}

// reply sends an answer back.
func (l *simLink) reply(c *Call, gen int, a Answer, votes bool) {
	s := l.s
	at := max(s.now+l.delay(), l.blocked, l.lastBack)
	l.lastBack = at
	s.AfterFunc(at-s.now, func() { l.answer(c, gen, a, votes) })
}

// answer is a reply at the proxy.
func (l *simLink) answer(c *Call, gen int, a Answer, votes bool) {
	if gen != l.generation || !l.up {
		return // delivered as lost when the connection broke
	}
	l.waiting = l.waiting[1:]
	a.Votes = a.Status == Answered && (votes && l.admitted || l.s.cfg.blindVotes)
	if !a.Votes && a.Reason == "" {
		a.Reason = "restarted without its data"
	}
	c.Deliver(a)
}

// fail breaks the connection; what was sent may still be executed until the
// next connection kills the old one.
func (l *simLink) fail() {
	if !l.up {
		return
	}
	s := l.s
	s.note("m%d p%d connection lost", l.master.index, l.proxy.index)
	l.up = false
	lost := l.waiting
	l.waiting = nil
	for _, c := range lost {
		c.Deliver(Answer{Status: Lost, Reason: "connection lost"})
	}
	gen := l.generation
	l.generation++
	if s.chance(0.5) {
		l.killedFrom = gen + 1 // the master noticed as well
	}
	s.AfterFunc(s.between(1, 300), l.connect)
}

// connect opens a verified connection: the old one is killed first.
func (l *simLink) connect() {
	s := l.s
	if l.blocked > s.now || l.master.stopped > s.now {
		s.AfterFunc(s.between(20, 100), l.connect)
		return
	}
	l.generation++
	l.killedFrom = l.generation
	l.up = true
	l.admitted = l.master.run == 0 && l.master.hasRecord
	l.setArrival(s.now)
	s.note("m%d p%d connected, admitted %v", l.master.index, l.proxy.index, l.admitted)
	if l.admitted {
		l.proxy.quorum.Returned(l)
	}
}

func (m *simMaster) noteApplied(c *Call) {
	if m.executed == nil {
		m.executed = map[*round]bool{}
	}
	if c.side == nil {
		m.executed[c.round] = true
	}
}

func describe(c *Call) string {
	t := c.Table
	switch {
	case c.side != nil && t.HasToken:
		return fmt.Sprintf("undo %q", t.Token)
	case c.side != nil:
		return fmt.Sprintf("repair %q ttl %d", t.Absent.Value, t.Absent.TTL)
	case t.Absent.Effect == Set && t.HasToken:
		return fmt.Sprintf("acquire-or-renew %q ttl %d", t.Token, t.Absent.TTL)
	case t.Absent.Effect == Set:
		return fmt.Sprintf("acquire %q ttl %d", t.Absent.Value, t.Absent.TTL)
	case t.Other.Effect == Delete:
		return "removal"
	case t.Mine.Effect == Delete:
		return fmt.Sprintf("release %q", t.Token)
	case t.Mine.Effect == Expire:
		return fmt.Sprintf("extend %q ttl %d", t.Token, t.Mine.TTL)
	}
	return "read"
}

func describeState(s State) string {
	if s.Kind == Absent {
		return "nothing"
	}
	return fmt.Sprintf("%q ttl %d", s.Value, s.TTL)
}

// simProxy is one proxy: a real Quorum over its own links.
type simProxy struct {
	index    int
	quorum   *Quorum
	arrivals []time.Duration // of the last command at each master
}

func newSimProxy(s *sim, i int) *simProxy {
	p := &simProxy{index: i, arrivals: make([]time.Duration, len(s.masters))}
	var masters []Master
	for _, m := range s.masters {
		l := &simLink{s: s, proxy: p, master: m, up: true, admitted: true}
		m.links = append(m.links, l)
		masters = append(masters, l)
	}
	p.quorum = New(Config{
		Masters: masters, OpTimeout: 50 * time.Millisecond, DriftPPM: 500, Clock: s,
		Rand: s.rand.Int64N, off: s.cfg.off,
	})
	return p
}
