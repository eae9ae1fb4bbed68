package redlock

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The simulation runs the real engine over simulated masters, network and
// clocks, in virtual time and in one goroutine: a seed gives the same schedule
// every time.
//
// Real are the rounds, what is known of a connection and its votes, the
// decision on who may vote, the horizon and the waiting for it. What does I/O
// in the product is done here over simulated connections: batches, records
// being written, and the steps of a resynchronisation. An operator's word
// (REDLOCK ADMIT) is not simulated: it is as good as the operator knows.

// sim is one schedule.
type sim struct {
	rand    *rand.Rand
	now     time.Duration
	events  eventHeap
	seq     int
	masters []*simMaster
	proxies []*simProxy // by slot; one that died is replaced
	clients []*simClient
	cfg     simConfig
	faults  []string
	count   simCount
	end     simEnd
	serial  int    // of markers
	early   bool   // nobody does anything yet
	created int    // copies, by anybody
	aimedAt *round // see simLink.aim
	victim  int
	log     []string
}

// simConfig is drawn from the seed, except for what a test fixes.
type simConfig struct {
	masters, proxies, clients int
	tokens                    tokenKind
	length                    time.Duration // then everything is well again
	// last is before that: what is acquired then is acquired for long, so that
	// what is left of failed attempts can be seen.
	last       time.Duration
	steps      bool // clocks of masters step
	deaths     bool // proxies die, others take their place
	changes    bool // the set of masters changes
	moves      bool // addresses come to lead to other servers
	calamities bool // many masters lose what they have at once
	flushes    bool // masters are emptied all the time
	aimed      bool // masters are emptied just after they have voted for an acquire, before others get it
	lagging    bool // many acquires reach one of the masters after their deadline
	sluggish   bool // much of what is sent takes as long as an op timeout
	several    bool // clients lock two keys at once
	hasty      bool // clients use a token again after two op timeouts, whether or not masters have answered
	calm       bool // no faults: everything answers within a millisecond
	verbose    bool
	off        rules
	skip       skips
}

// skips are rules outside of the rounds that a test can switch off.
type skips struct {
	votes       bool // count answers of any connection and identity
	since       bool // masters vote in rounds from before they got their vote back
	deadline    bool // execute what arrives after its deadline
	peers       bool // read one peer less
	rounds      bool // read them while rounds go on that count the old votes
	peerVotes   bool // read peers that do not vote
	confirm     bool // what is read from a peer counts, however the reading ends
	mark        bool // do not look whether the master was emptied meanwhile
	disputed    bool // admit although a key is disputed
	lacks       bool // remove copies although a peer holds the same
	raise       bool // do not raise the TTL of a copy that is there
	outwait     bool // do not wait for the horizon
	horizon     bool // do not raise it
	durable     bool // trust masters that do not persist every write
	clock       bool // do not look at masters' clocks
	record      bool // do not look at the record at the end of a batch
	replication bool // tell lives of masters apart by run_id alone
	claims      bool // fill a master that is not the one that was admitted before all know
	deposed     bool // a master's votes count until it is decided that it has none
	void        bool // rounds keep the votes of a master that has lost its own
}

// simCount is how often something happened.
type simCount struct {
	grants                                       int // entitlements, by acquire or extend
	durable, resynced, waited, waitedAll         int // masters admitted again, by way
	together                                     int // resynchronisations that overlap with another proxy's
	changes, moved                               int // of the set of masters, of addresses
	keepers                                      int // tie-breaks of split votes
	deaths, rolledBack, promoted, demoted, steps int
	undone, late, split, herded, joined, checked int
	dropped                                      int // copies removed from masters that were filled
}

func (c *simCount) add(o *simCount) {
	for _, p := range [...]struct {
		to *int
		n  int
	}{
		{&c.grants, o.grants}, {&c.durable, o.durable}, {&c.resynced, o.resynced}, {&c.waited, o.waited},
		{&c.waitedAll, o.waitedAll}, {&c.together, o.together}, {&c.keepers, o.keepers}, {&c.deaths, o.deaths},
		{&c.rolledBack, o.rolledBack}, {&c.promoted, o.promoted}, {&c.demoted, o.demoted}, {&c.steps, o.steps},
		{&c.undone, o.undone}, {&c.late, o.late}, {&c.split, o.split}, {&c.herded, o.herded}, {&c.joined, o.joined}, {&c.changes, o.changes}, {&c.moved, o.moved}, {&c.dropped, o.dropped}, {&c.checked, o.checked},
	} {
		*p.to += p.n
	}
}

// tokenKind is how clients choose tokens.
type tokenKind int

const (
	uniqueTokens   tokenKind = iota // a new one per acquire
	retriedTokens                   // one per lock, tried again through other proxies until it is got
	constantToken                   // "1" for everybody
	renewingTokens                  // one per client, acquired by acquire-or-renew
	tokenKinds
)

type event struct {
	at  time.Duration
	seq int
	run func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// eventHeap is a binary heap; container/heap would allocate for each event.
type eventHeap []event

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(&a[up]) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *eventHeap) pop() event {
	a := *h
	first, last := a[0], len(a)-1
	a[0], a[last] = a[last], event{}
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a[child].before(&a[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}

func (s *sim) Now() time.Duration { return s.now }

func (s *sim) AfterFunc(d time.Duration, f func()) {
	s.seq++
	s.events.push(event{s.now + max(d, 0), s.seq, f})
}

// note records what happened, for the log of a failing seed.
func (s *sim) note(format string, args ...any) {
	if s.cfg.verbose {
		s.log = append(s.log, fmt.Sprintf("%9.3fms ", float64(s.now)/1e6)+fmt.Sprintf(format, args...))
	}
}

// fault records a broken promise.
func (s *sim) fault(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	s.note("VIOLATION %s", msg)
	s.faults = append(s.faults, fmt.Sprintf("at %v: %s", s.now, msg))
}

func (s *sim) chance(p float64) bool { return s.rand.Float64() < p }

// calm reports whether nothing goes wrong, in general or any more.
func (s *sim) calm() bool { return s.cfg.calm || s.early || s.now > s.cfg.length }

// between is a random duration, in milliseconds.
func (s *sim) between(low, high float64) time.Duration {
	return time.Duration((low + s.rand.Float64()*(high-low)) * float64(time.Millisecond))
}

// runSeed runs one schedule and returns its violations.
func runSeed(seed uint64, fix func(*simConfig)) *sim {
	s := &sim{rand: newSimRand(seed)}
	s.cfg = simConfig{
		masters: []int{3, 3, 3, 5}[s.rand.IntN(4)],
		proxies: 1 + s.rand.IntN(3),
		clients: 2 + s.rand.IntN(4),
		tokens:  tokenKind(s.rand.IntN(int(tokenKinds))),
		length:  4 * time.Second,
		last:    600 * time.Millisecond,
	}
	// What follows from a clock that steps, or from a majority that is lost,
	// while a proxy is away, a new one can not know.
	switch s.rand.IntN(8) {
	case 0, 1:
		s.cfg.steps = true
	case 2, 3:
		s.cfg.deaths = true
	case 4:
		s.cfg.calamities = true
	case 5:
		s.cfg.changes = true
	case 6:
		s.cfg.moves = true
	}
	s.cfg.sluggish = s.rand.IntN(8) == 0
	fix(&s.cfg)
	if s.cfg.tokens == constantToken {
		s.cfg.proxies = 1 // the README says: through one proxy only
	}
	s.start()
	s.run(s.cfg.length)
	s.run(s.cfg.length + calmDown)
	if len(s.faults) == 0 && !s.cfg.calm {
		s.end.check(s)
	}
	for _, p := range s.proxies {
		s.count.addStats(p)
	}
	return s
}

func newSimRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// start makes everybody and their first events.
func (s *sim) start() {
	n := s.cfg.masters
	if s.cfg.changes {
		n++ // one waits to join
	}
	for i := range n {
		s.masters = append(s.masters, newSimMaster(s, i))
	}
	for i := range s.cfg.proxies {
		p := newSimProxy(s, i)
		s.proxies = append(s.proxies, p)
		p.open()
	}
	s.early = true
	s.run(10 * time.Millisecond) // calls wait until the masters are admitted
	s.early = false
	for i := range s.cfg.clients {
		c := newSimClient(s, i)
		s.clients = append(s.clients, c)
		s.AfterFunc(s.between(0, 20), c.step)
	}
	s.AfterFunc(s.cfg.length-s.cfg.last, func() { s.end.begin(s) })
	if s.cfg.calm {
		return
	}
	for _, m := range s.masters {
		s.AfterFunc(s.between(50, 2000), m.misbehave)
	}
	if s.cfg.calamities {
		s.AfterFunc(s.between(200, 2000), s.calamity)
	}
	if s.cfg.changes {
		s.AfterFunc(s.between(100, 900), s.changeSet)
	}
	if s.cfg.moves {
		s.AfterFunc(s.between(100, 900), s.move)
	}
	if s.cfg.deaths {
		s.AfterFunc(s.between(200, 1500), s.death)
	}
}

// run runs what happens until a moment, or until a promise is broken.
func (s *sim) run(until time.Duration) {
	for len(s.events) > 0 && len(s.faults) == 0 && s.events[0].at <= until {
		e := s.events.pop()
		s.now = e.at
		e.run()
	}
}
