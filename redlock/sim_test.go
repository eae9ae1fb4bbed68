package redlock

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// The simulation runs the real engine over simulated masters, network and
// clocks, in virtual time and in one goroutine: a seed gives the same schedule
// every time.

// sim is one schedule.
type sim struct {
	rand     *rand.Rand
	now      time.Duration
	events   eventHeap
	seq      int
	masters  []*simMaster
	proxies  []*simProxy
	clients  []*simClient
	cfg      simConfig
	faults   []string
	restored int // masters resynchronised
	grants   int // entitlements, by acquire or extend
	log      []string
}

// simConfig is drawn from the seed, except for what a test fixes.
type simConfig struct {
	masters, proxies, clients int
	tokens                    tokenKind
	length                    time.Duration
	off                       rules
	blindVotes                bool // rule switched off: count answers of any connection and identity
	noDeadline                bool // rule switched off: execute what arrives after its deadline
	restores                  bool // masters that lost something are resynchronised
	noWait, fewPeers, noMark  bool // rules of that switched off
	steps                     bool // clocks of masters step
	flushes                   bool // masters are emptied all the time
	several                   bool // clients lock two keys at once
	calm                      bool // no faults: everything answers within a millisecond
	verbose                   bool
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

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

func (s *sim) Now() time.Duration { return s.now }

func (s *sim) AfterFunc(d time.Duration, f func()) {
	s.seq++
	heap.Push(&s.events, event{s.now + max(d, 0), s.seq, f})
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

// between is a random duration, in milliseconds.
func (s *sim) between(low, high float64) time.Duration {
	return time.Duration((low + s.rand.Float64()*(high-low)) * float64(time.Millisecond))
}

// runSeed runs one schedule and returns its violations.
func runSeed(seed uint64, fix func(*simConfig)) *sim {
	s := &sim{rand: newSimRand(seed)}
	s.cfg = simConfig{
		masters:  []int{3, 3, 3, 5}[s.rand.IntN(4)],
		proxies:  1 + s.rand.IntN(3),
		clients:  2 + s.rand.IntN(4),
		tokens:   tokenKind(s.rand.IntN(int(tokenKinds))),
		length:   4 * time.Second,
		restores: true, steps: s.rand.IntN(4) == 0,
	}
	fix(&s.cfg)
	if s.cfg.tokens == constantToken {
		s.cfg.proxies = 1 // the README says: through one proxy only
	}
	for i := range s.cfg.masters {
		s.masters = append(s.masters, newSimMaster(s, i))
	}
	for i := range s.cfg.proxies {
		s.proxies = append(s.proxies, newSimProxy(s, i))
	}
	for i := range s.cfg.clients {
		c := newSimClient(s, i)
		s.clients = append(s.clients, c)
		s.AfterFunc(s.between(0, 20), c.step)
	}
	if !s.cfg.calm {
		for _, m := range s.masters {
			s.AfterFunc(s.between(50, 2000), m.misbehave)
		}
	}
	s.run(s.cfg.length + 2*time.Second)
	return s
}

func newSimRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// run runs what happens until a moment, or until a promise is broken.
func (s *sim) run(until time.Duration) {
	for len(s.events) > 0 && len(s.faults) == 0 && s.events[0].at <= until {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.run()
	}
}
