package redlock

import (
	"fmt"
	"slices"
	"time"
)

// simLink is one proxy's connection to the master in one place. What is sent
// arrives in order and answers come back in order, as long as it lives.
type simLink struct {
	s          *sim
	proxy      *simProxy
	master     *simMaster
	index      int       // among those of the proxy
	u          *upstream // the real bookkeeping of connections and votes
	generation int
	killedFrom int           // connections before this generation are dead at the master
	life       int           // of the master, when it was opened
	blocked    time.Duration // nothing gets through before this time
	busy       time.Duration // the master is not done with a batch before this time
	arrival    time.Duration // of the last message at the master
	back       time.Duration // arrival of the last answer at the proxy
	inbox      []*simMessage // arrived, not executed
	waiting    []*simMessage // sent, not answered
	lastAt     time.Duration // when the last answer came
	lateAt     time.Duration // when one came last that took longer than an op timeout, or the connection was lost
	horizonAt  time.Duration // when the horizon was last asked for
}

// simMessage is something on its way to a master and back: a call that ends
// with the end of a batch, or anything else.
type simMessage struct {
	link       *simLink
	generation int
	life       int
	sent       time.Duration
	exec, back func() // at the master, and when its answer is there
	lost       func() // or will never be

	call   *Call
	raise  int64 // TTL that the horizon gets first
	voted  bool  // the master did, when this was sent
	window Window
	limit  int64 // on the master's clock, 0 for none
	answer Answer
	given  int64 // TTL that the call gave its key
	end    suffix
}

func newSimLink(p *simProxy, m *simMaster) *simLink {
	l := &simLink{s: p.s, proxy: p, master: m, index: len(p.links)}
	l.u = &upstream{
		addr: MasterAddr{Address: m.name()}, number: l.index, shape: p.steward.shape, clock: p, log: p.steward.log,
		changed: p.settleSoon, link: newLink(simDrift), unread: make(map[string]bool), count: make(tallyOfFailures),
	}
	l.u.worker = newWorker(l.u) // it does not run
	return l
}

// Name implements Master.
func (l *simLink) Name() string { return l.u.Name() }

// Down implements Master.
func (l *simLink) Down() string { return l.u.Down() }

// Send implements Master.
func (l *simLink) Send(c *Call) bool {
	if !l.up() {
		return false
	}
	s := l.s
	if c.side == nil && c.round.started < s.now {
		s.count.keepers++
	}
	if c.side == nil && c.round.f.class == classAcquire && !s.calm() {
		l.disturb(c)
	}
	if s.chance(0.05) && !s.calm() { // waits in the worker's queue for a while
		l.arrival = max(l.arrival, s.now+s.between(0, 30))
	} else if l.arrival <= s.now {
		l.transmit(c)
		return true
	}
	generation := l.generation
	s.AfterFunc(l.arrival-s.now, func() { l.unqueue(c, generation) })
	return true
}

// silent reports whether a master has not answered this proxy for an op timeout at
// some time since.
func (p *simProxy) silent(since time.Duration) bool {
	return slices.ContainsFunc(p.links, func(l *simLink) bool {
		return !l.up() || l.lateAt > since || len(l.waiting) > 0 && l.waiting[0].sent < p.s.now-simRest/2
	})
}

// disturb does to an acquire that is being sent what the schedule is about.
func (l *simLink) disturb(c *Call) {
	s := l.s
	if s.cfg.aimed {
		l.aim(c)
	}
	if s.cfg.lagging && s.chance(0.1) {
		l.blocked = max(l.blocked, s.now+s.between(55, 150))
	}
}

// aim has some acquires reach one master at once, which is emptied as soon as it
// has voted, and the others late.
func (l *simLink) aim(c *Call) {
	s := l.s
	if c.round != s.aimedAt {
		s.aimedAt, s.victim = c.round, -1
		if s.chance(0.2) {
			s.victim = s.rand.IntN(len(c.round.calls))
		}
	}
	switch s.victim {
	case -1:
	case int(c.index):
		s.AfterFunc(s.between(0.6, 2), func() { l.master.lose(l.master.flush) })
	default:
		l.arrival = max(l.arrival, s.now+s.between(15, 45))
	}
}

func (l *simLink) up() bool { return l.u.wire != nil }

// unqueue is a worker that gets to a call.
func (l *simLink) unqueue(c *Call, generation int) {
	if l.proxy.dead {
		return
	}
	if !l.up() || generation != l.generation || l.s.now > c.Deadline || !c.Wanted() {
		c.Deliver(Answer{Status: Unsent, Reason: "not sent in time"})
		return
	}
	l.transmit(c)
}

// transmit puts a call on the wire, like worker.encode.
func (l *simLink) transmit(c *Call) {
	g := &simMessage{call: c}
	var e encoder
	e.offset, e.ppm, g.voted = l.u.present()
	g.window = e.window(c)
	if c.Bounded() && e.offset.known && !l.s.cfg.skip.deadline {
		g.limit = e.offset.latest(c.Deadline, e.ppm).Milliseconds()
	}
	if g.voted && !l.s.cfg.skip.horizon {
		g.raise = horizonFor(l.u.wire.horizon.get(), l.s.now, c.Table.longestTTL())
	}
	l.send(g)
}

// ask executes something else than a call at the master and brings its result
// back, or tells that the connection did not live that long.
func (l *simLink) ask(exec, back, lost func()) {
	if !l.up() {
		lost()
		return
	}
	l.send(&simMessage{exec: exec, back: back, lost: lost})
}

func (l *simLink) send(g *simMessage) {
	s := l.s
	g.link, g.generation, g.life, g.sent = l, l.generation, l.life, s.now
	l.waiting = append(l.waiting, g)
	l.arrival = max(s.now+l.delay(), l.blocked, l.arrival)
	s.AfterFunc(l.arrival-s.now, g.arrive)
}

func (l *simLink) delay() time.Duration {
	s := l.s
	switch x := s.rand.Float64(); {
	case s.cfg.sluggish && !s.calm() && x < 0.3:
		return s.between(5, 60)
	case s.calm() || x < 0.85:
		return s.between(0.05, 0.5)
	case x < 0.97:
		return s.between(0.5, 8)
	}
	return s.between(8, 120)
}

// arrive puts a message into the master's buffer.
func (g *simMessage) arrive() {
	l := g.link
	l.inbox = append(l.inbox, g)
	if len(l.inbox) == 1 {
		l.work()
	}
}

// work executes what is in the buffer, in order, when the master can.
func (l *simLink) work() {
	for len(l.inbox) > 0 {
		if until := max(l.master.stopped, l.busy); until > l.s.now {
			l.s.AfterFunc(until-l.s.now, l.work)
			return
		}
		g := l.inbox[0]
		l.inbox = l.inbox[1:]
		g.run()
	}
}

// run executes a message.
func (g *simMessage) run() {
	l := g.link
	s, m := l.s, l.master
	if m.lives != g.life || g.generation < l.killedFrom {
		return // the process, or the connection, is gone and its buffers with it
	}
	if g.call == nil {
		g.exec()
		g.reply()
		return
	}
	if g.limit != 0 && !g.tooLate() && !s.calm() && s.chance(0.005) {
		g.stop()
		return
	}
	g.effect()
}

// stop stops the master in the middle of a script, between its look at the clock
// and its effect, whatever happens to the connection meanwhile.
func (g *simMessage) stop() {
	l := g.link
	s, d := l.s, l.s.between(5, 400)
	s.note("m%d p%d stopped for %v while it executes %s", l.master.index, l.proxy.slot, d, describe(g.call))
	g.limit = 0
	l.master.stopped = max(l.master.stopped, s.now+d)
	l.busy = l.master.stopped
	s.AfterFunc(l.busy-s.now, func() {
		if l.master.lives == g.life {
			g.effect()
		}
	})
	l.master.stopped++
}

// effect executes a call, and what follows it in its batch.
func (g *simMessage) effect() {
	l := g.link
	s := l.s
	g.execute()
	if !s.calm() && s.chance(0.02) { // others get in between the commands of a batch
		l.busy = s.now + s.between(0, 5)
		s.AfterFunc(l.busy-s.now, g.finish)
		return
	}
	g.finish()
}

// tooLate is how a script begins.
func (g *simMessage) tooLate() bool { return g.limit != 0 && g.link.master.wall() > g.limit }

// execute applies a call at the master.
func (g *simMessage) execute() {
	c, m := g.call, g.link.master
	if m.replica && (g.raise > 0 || classify(c.Table) != classRead) {
		g.answer = Answer{Status: Failed, Reason: "READONLY"}
		return
	}
	if g.raise > 0 {
		m.raiseHorizon(g.raise)
	}
	if g.tooLate() {
		g.answer = Answer{Status: Failed, Reason: ReasonTooLate}
		return
	}
	wall := m.wall()
	v := m.apply(c.Table, g.window)
	if g.link.s.cfg.verbose {
		m.s.note("m%d p%d executes %s: saw %s applied %v, expiry %d in %v, sent at %v", m.index, g.link.proxy.slot, describe(c), describeState(v.before), v.applied, wall+v.before.TTL, g.window, g.sent)
	}
	g.answer = Answer{Status: Answered, Before: v.before, Mine: v.mine, Applied: v.applied, And: v.and}
	if !v.applied {
		for k := range g.answer.And {
			g.answer.And[k].Expiry = Window{}
		}
		return
	}
	if c.Table.creates() {
		m.s.created++
	}
	g.given = givenBy(v.expiry, wall)
	for k := range g.answer.And {
		h := &g.answer.And[k]
		h.Given = givenBy(h.Expiry.From, wall)
	}
	m.noteApplied(g, g.given)
}

func givenBy(expiry, wall int64) int64 {
	if expiry == 0 {
		return 0
	}
	return expiry - wall
}

// finish is the end of a batch.
func (g *simMessage) finish() {
	m := g.link.master
	if m.lives != g.life {
		return
	}
	g.end = m.suffix()
	g.reply()
}

// reply sends the answer back.
func (g *simMessage) reply() {
	l := g.link
	l.back = max(l.s.now+l.delay(), l.blocked, l.back)
	l.s.AfterFunc(l.back-l.s.now, g.answered)
}

// answered is an answer at the proxy.
func (g *simMessage) answered() {
	l := g.link
	if g.generation != l.generation || !l.up() || l.proxy.dead {
		return
	}
	if l.waiting[0] != g {
		panic("answers out of order")
	}
	l.waiting = l.waiting[1:]
	if g.call == nil {
		g.back()
		return
	}
	l.lastAt = l.s.now
	if l.s.now > g.sent+simRest/2 {
		l.lateAt = l.s.now
	}
	l.judge(g)
	g.call.Deliver(g.answer)
	if g.answer.Status == Failed && endsVerification(g.answer.Reason) || l.u.link.replaced(g.end) {
		l.fail()
	}
}

// judge completes an answer, like worker.exchange.
func (l *simLink) judge(g *simMessage) {
	u, now := l.u, l.s.now
	if g.raise > 0 && g.answer.Reason != "READONLY" {
		u.raised(u.wire, g.raise, g.sent, now)
	}
	if l.s.cfg.skip.record {
		g.end.record = u.link.record
	}
	answers := []Answer{g.answer}
	call := g.call
	if call == nil {
		call = &Call{} // a probe
	}
	if l.s.cfg.skip.since {
		u.link.since = 0
	}
	if l.s.cfg.skip.deposed || l.s.cfg.skip.void {
		defer u.quorum.Load().voids.forget()
	}
	u.judge(u.wire, []*Call{call}, g.voted || l.s.cfg.skip.since, answers, []int64{g.given}, g.sent, now, g.end)
	g.answer = answers[0]
	if l.s.cfg.skip.votes {
		g.answer.Votes = g.answer.Status == Answered
	}
}

// fail breaks the connection; what was sent may still be executed until the
// next connection kills the old one.
func (l *simLink) fail() {
	if !l.up() {
		return
	}
	s := l.s
	s.note("m%d p%d connection lost", l.master.index, l.proxy.slot)
	l.u.wire.lose("connection lost")
	l.u.lost(l.u.wire)
	lost := l.waiting
	l.waiting = nil
	l.lateAt = s.now
	l.generation++
	if s.chance(0.5) {
		l.killedFrom = l.generation // the master noticed as well
	}
	for _, g := range lost {
		if g.call != nil {
			g.call.Deliver(Answer{Status: Lost, Reason: "connection lost"})
		} else {
			g.lost()
		}
	}
	l.proxy.AfterFunc(s.between(1, 300), l.connect)
}

// connect opens a verified connection: the old one is killed first.
func (l *simLink) connect() {
	s := l.s
	l.resolve()
	if l.blocked > s.now || l.master.stopped > s.now || l.master.replica {
		l.proxy.AfterFunc(s.between(20, 100), l.connect)
		return
	}
	l.generation++
	l.killedFrom = l.generation
	l.opened()
}

// simRedial is redialPeriod; schedules are short.
const simRedial = 400 * time.Millisecond

// opened puts a new connection into service, verified as verify does it.
func (l *simLink) opened() {
	s, m := l.s, l.master
	f := &facts{id: m.id, keys: int64(len(m.store.entries)), durable: m.durable && !m.promoted || s.cfg.skip.durable, end: m.suffix(), sent: s.now, received: s.now}
	if s.cfg.skip.replication {
		f.id.replication = "r"
	}
	l.inbox = nil // that of the connection which was killed
	l.life, l.arrival, l.back, l.busy, l.lastAt = m.lives, s.now, s.now, s.now, s.now
	w := &wire{facts: f, gone: make(chan struct{}), conn: noConn{}}
	s.note("m%d p%d connected", m.index, l.proxy.slot)
	l.u.opened(w)
	l.proxy.AfterFunc(watchPeriod, func() { l.look(w) })
}

// look is upstream.look.
func (l *simLink) look(w *wire) {
	s := l.s
	if l.u.wire != w {
		return
	}
	l.proxy.AfterFunc(watchPeriod, func() { l.look(w) })
	waits := time.Duration(0)
	if len(l.waiting) > 0 {
		waits = s.now - l.waiting[0].sent
	}
	if waits > answerTimeout || l.u.taken && s.now-w.facts.received > simRedial {
		l.fail()
		return
	}
	if waits > watchPeriod {
		return
	}
	if votes, _ := l.u.link.votes(); votes || l.proxy.quorum.Ready() {
		l.proxy.quorum.Returned(l)
	}
	if s.now-l.horizonAt > horizonPeriod {
		l.horizonAt = s.now
		ttl, end, sent := int64(0), suffix{}, s.now
		l.ask(func() { ttl, end = l.master.horizonTTL(), l.master.suffix() }, func() { l.u.heard(w, ttl, sent, end) }, func() {})
	}
	if len(l.waiting) == 0 && s.now-l.lastAt > idleProbe {
		l.probe()
	}
}

// probe is a batch without calls.
func (l *simLink) probe() {
	g := &simMessage{lost: func() {}}
	g.exec = func() { g.end = l.master.suffix() }
	g.back = func() {
		l.lastAt = l.s.now
		l.judge(g)
		if l.u.link.replaced(g.end) {
			l.fail()
		}
	}
	l.send(g)
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
