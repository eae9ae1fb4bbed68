package redlock

import (
	"fmt"
	"time"
)

// simMaster is a Redis process: one store, one wall clock, one identity.
type simMaster struct {
	s        *sim
	index    int
	store    *store
	run      int           // changes with every restart
	offset   time.Duration // of its wall clock
	rate     float64       // of its wall clock
	stopped  time.Duration // executes nothing before this time
	record   []byte        // as proxies keep it there
	marks    map[*restoration]bool
	links    []*simLink
	executed map[*round]bool // rounds whose table was applied here
}

func newSimMaster(s *sim, i int) *simMaster {
	return &simMaster{
		s: s, index: i, store: newStore(),
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
	case s.cfg.flushes && x < 0.5:
		s.note("m%d FLUSHALL", m.index)
		m.store, m.record, m.marks = newStore(), nil, nil
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
		m.store, m.run, m.record, m.marks = newStore(), m.run+1, nil, nil
		for _, l := range m.links {
			l.fail()
		}
	case x < 0.88 && s.cfg.steps:
		by := s.between(-2000, 2000)
		s.note("m%d's clock steps by %v", m.index, by)
		m.offset += by
	case x < 0.9:
		s.note("m%d FLUSHALL", m.index)
		m.store, m.record, m.marks = newStore(), nil, nil
	}
	next := s.between(50, 2500)
	if s.cfg.flushes {
		next /= 4
	}
	s.AfterFunc(next, m.misbehave)
}

// simLink is one proxy's connection to one master. Commands arrive in order
// and replies come back in order.
type simLink struct {
	s          *sim
	proxy      *simProxy
	master     *simMaster
	up         bool
	generation int
	u          *upstream // the real bookkeeping of votes, without a connection
	linkGen    uint64    // of u.link, in the present generation
	identity   identity  // of the server at the other end
	restoring  *restoration
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
	if !l.up {
		return "down"
	}
	_, reason := l.u.link.votes()
	return reason
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
	sent := s.now
	l.waiting = append(l.waiting, c)
	l.arriveAt(func() { l.arrive(c, gen, l.master.run, sentWall, sent) })
}

// arriveAt runs f when what is sent now arrives, behind what was sent before.
func (l *simLink) arriveAt(f func()) {
	at := max(l.s.now+l.delay(), l.blocked, l.lastArrival())
	l.setArrival(at)
	l.s.AfterFunc(at-l.s.now, f)
}

// backAt runs f when what is answered now is back.
func (l *simLink) backAt(f func()) {
	at := max(l.s.now+l.delay(), l.blocked, l.lastBack)
	l.lastBack = at
	l.s.AfterFunc(at-l.s.now, f)
}

// ask executes something else than a call at the master and brings its result
// back, if the connection lives that long.
func (l *simLink) ask(exec func(), back func()) {
	gen, run, m := l.generation, l.master.run, l.master
	var arrive func()
	arrive = func() {
		switch {
		case m.run != run || gen < l.killedFrom || gen == l.generation && !l.up:
		case m.stopped > l.s.now:
			l.s.AfterFunc(m.stopped-l.s.now, arrive)
		default:
			exec()
			l.backAt(func() {
				if gen == l.generation && l.up {
					back()
				}
			})
		}
	}
	l.arriveAt(arrive)
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
func (l *simLink) arrive(c *Call, gen, run int, sentWall int64, sent time.Duration) {
	s, m := l.s, l.master
	if m.run != run || gen < l.killedFrom {
		return // the process, or the connection, is gone and its buffers with it
	}
	if m.stopped > s.now {
		s.AfterFunc(m.stopped-s.now, func() { l.arrive(c, gen, run, sentWall, sent) })
		return
	}
	if m.run == run && gen == l.generation && !l.up {
		return
	}
	if s.now > c.Deadline && c.Bounded() && !s.cfg.noDeadline {
		l.reply(c, gen, Answer{Status: Failed, Reason: ReasonTooLate}, sent)
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
		And:    v.and,
	}
	for k := range a.And {
		a.And[k].Expiry.From += sentWall - wall
		a.And[k].Expiry.To += int64(s.rand.IntN(3))
	}
	l.reply(c, gen, a, sent)
}

// reply sends an answer back, with the end of the batch.
func (l *simLink) reply(c *Call, gen int, a Answer, sent time.Duration) {
	end := l.master.suffix()
	l.backAt(func() { l.answer(c, gen, a, sent, end) })
}

// suffix is the end of a batch: TIME and the record.
func (m *simMaster) suffix() suffix {
	return suffix{timeMicros: int64(float64(m.s.now)*m.rate+float64(m.offset)) / 1000, record: m.record, ok: true}
}

// answer is a reply at the proxy.
func (l *simLink) answer(c *Call, gen int, a Answer, sent time.Duration, end suffix) {
	if gen != l.generation || !l.up {
		return // delivered as lost when the connection broke
	}
	l.waiting = l.waiting[1:]
	votes, reason := l.judge(sent, end)
	a.Votes = a.Status == Answered && (votes || l.s.cfg.blindVotes)
	if !a.Votes && a.Reason == "" {
		a.Reason = reason
	}
	c.Deliver(a)
}

// judge lets the real code look at the end of a batch.
func (l *simLink) judge(sent time.Duration, end suffix) (bool, string) {
	look := l.u.adopt(l.linkGen, end)
	_, before := l.u.link.votes()
	votes, reason := l.u.link.judge(l.linkGen, sent, l.s.now, end)
	_, after := l.u.link.votes()
	if look || before != after {
		l.proxy.settleSoon()
	}
	return votes, reason
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
	l.u.link.closed()
	l.proxy.settleSoon()
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
	l.opened()
}

// opened verifies the new connection.
func (l *simLink) opened() {
	s, m := l.s, l.master
	end := m.suffix()
	l.identity = identity{run: fmt.Sprintf("m%d-life%d", m.index, m.run), replication: "r"}
	l.linkGen = l.u.link.opened(l.identity, s.now, s.now, end)
	l.u.raw = end.record
	l.setArrival(s.now)
	s.note("m%d p%d connected", m.index, l.proxy.index)
	l.proxy.settleSoon()
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
