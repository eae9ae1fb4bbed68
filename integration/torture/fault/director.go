//go:build linux

// Package fault breaks what is on a stage, again and again, in an order drawn
// from a seed, and repairs it.
//
// Several faults are under way at a time: on masters, on networks, on proxies.
// What must be kept to is that only a minority of the masters may have lost
// memory at any one time, which is what Redlock promises to survive; a master
// counts until it is admitted again and every proxy counts its votes. Without
// that limit (Config.AnyLoss) nothing but the horizon protects the locks.
package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"redlock-proxy/integration/torture/stage"
)

// Config is what to do.
type Config struct {
	Seed    uint64
	Only    string // only faults of masters whose name contains this
	AnyLoss bool   // masters lose their memory in any number, and no proxy its own
	Events  func(format string, args ...any)
}

// Director is one sequence of faults.
type Director struct {
	cfg   Config
	stage *stage.Stage

	mu     sync.Mutex
	busy   map[any]bool // masters, proxies and networks that something happens to
	lost   map[*stage.Master]stage.Admission
	counts map[string]int
	failed error
}

// fault is one thing that may happen. It is over, and repaired, when run
// returns; its end may be hurried by the context.
type fault struct {
	name string
	// lossy: the master forgets locks, or trusts a clock that did not run well.
	lossy bool
	fits  func(*target) bool // nil: always
	run   func(*turn, *target) error
}

// target is whom it happens to.
type target struct {
	master *stage.Master
	proxy  *stage.Proxy
}

// turn is what a fault has at hand while it happens.
type turn struct {
	ctx   context.Context
	rand  *rand.Rand
	stage *stage.Stage
	// weaken, called right before a master loses its memory, makes locks rest
	// on it: a vote of which nothing depends is never missed.
	weaken func() error
}

// pause waits between from and to, or until the end.
func (t *turn) pause(from, to time.Duration) {
	timer := time.NewTimer(from + rand.N(to-from+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// New returns a director for what is on the stage.
func New(s *stage.Stage, cfg Config) *Director {
	return &Director{cfg: cfg, stage: s, busy: make(map[any]bool), lost: make(map[*stage.Master]stage.Admission), counts: make(map[string]int)}
}

// Run breaks things until the context ends; then everything is repaired. The
// error is of the harness, not of what it tests.
func (d *Director) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i, a := range d.actors() {
		r := rand.New(rand.NewPCG(d.cfg.Seed, uint64(i)))
		wg.Go(func() {
			if err := d.act(ctx, a, r); err != nil {
				d.mu.Lock()
				d.failed = err
				d.mu.Unlock()
				cancel()
			}
		})
	}
	wg.Wait()
	return d.failed
}

// Counts is how often each fault happened so far; those that can happen on this
// stage are there with 0.
func (d *Director) Counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := make(map[string]int)
	for _, a := range d.actors() {
		for _, f := range a.faults {
			counts[f.name] = d.counts[f.name]
		}
	}
	return counts
}

// Missing are the faults that have not happened yet.
func (d *Director) Missing() (names []string) {
	for name, n := range d.Counts() {
		if n == 0 {
			names = append(names, name)
		}
	}
	return names
}

// deck deals faults like cards: each once in an order of chance, then again.
// Those that cannot happen just now wait on top.
type deck struct {
	mu    sync.Mutex
	cards []fault
}

// actor causes one fault at a time.
type actor struct {
	faults  []fault
	deck    *deck
	targets []*target
	between time.Duration // at most, from one fault to the next
	what    func(*target) any
}

func (d *Director) actors() []actor {
	var masters, networks, proxies []*target
	for _, m := range d.stage.Masters {
		masters = append(masters, &target{master: m})
	}
	for _, p := range d.stage.Proxies {
		proxies = append(proxies, &target{proxy: p})
		for _, m := range d.stage.Masters {
			networks = append(networks, &target{master: m, proxy: p})
		}
	}
	onMaster := actor{d.only(d.masterFaults()), &deck{}, masters, 300 * time.Millisecond, func(t *target) any { return t.master }}
	onNetwork := actor{d.networkFaults(), &deck{}, networks, 900 * time.Millisecond, func(t *target) any { return *t }}
	onProxy := actor{d.proxyFaults(), &deck{}, proxies, 1500 * time.Millisecond, func(t *target) any { return t.proxy }}
	actors := []actor{onNetwork, onProxy}
	for range (len(masters) - 1) / 2 { // as many as may be missing
		actors = append(actors, onMaster)
	}
	return actors
}

func (d *Director) only(faults []fault) []fault {
	return slices.DeleteFunc(faults, func(f fault) bool { return !strings.Contains(f.name, d.cfg.Only) })
}

// act causes faults until the context ends.
func (d *Director) act(ctx context.Context, a actor, r *rand.Rand) error {
	for {
		t := &turn{ctx: ctx, rand: r, stage: d.stage}
		t.pause(a.between/6, a.between)
		if ctx.Err() != nil {
			return nil
		}
		f, on := d.deal(a, r)
		if on == nil {
			continue // nothing of what is left is possible just now
		}
		t.weaken = func() error { return d.weaken(t, on.master) }
		d.cfg.Events("%s: %v", f.name, on)
		if err := f.run(t, on); err != nil {
			return fmt.Errorf("%s: %v: %w", f.name, on, err)
		}
		d.cfg.Events("%s: %v: over", f.name, on)
		d.end(a, on, f)
	}
}

// deal takes the first card that can be played, and says on whom.
func (d *Director) deal(a actor, r *rand.Rand) (fault, *target) {
	a.deck.mu.Lock()
	defer a.deck.mu.Unlock()
	if len(a.deck.cards) == 0 {
		a.deck.cards = slices.Clone(a.faults)
		r.Shuffle(len(a.faults), func(i, j int) { a.deck.cards[i], a.deck.cards[j] = a.deck.cards[j], a.deck.cards[i] })
	}
	for i, f := range a.deck.cards {
		for _, j := range r.Perm(len(a.targets)) {
			t := a.targets[j]
			if f.fits != nil && !f.fits(t) || !d.take(a.what(t)) {
				continue
			}
			if !f.lossy || d.mayLose(t.master) {
				a.deck.cards = slices.Delete(a.deck.cards, i, i+1)
				return f, t
			}
			d.give(a.what(t))
		}
	}
	return fault{}, nil
}

// weaken lets as many other masters as may be missing create no keys for a
// while, so that the locks of this while rest on the bare majority.
func (d *Director) weaken(t *turn, m *stage.Master) error {
	if t.rand.IntN(4) == 0 {
		return nil
	}
	var others []*stage.Master
	for _, i := range t.rand.Perm(len(d.stage.Masters)) {
		other := d.stage.Masters[i]
		if len(others) < (len(d.stage.Masters)-1)/2 && other != m && d.take(other) {
			defer d.give(other)
			others = append(others, other)
		}
	}
	var failed []error
	for _, other := range others {
		failed = append(failed, expect(other.Server(), "+OK", "CONFIG", "SET", "maxmemory", "1"))
	}
	t.pause(300*time.Millisecond, time.Second)
	for _, other := range others {
		failed = append(failed, expect(other.Server(), "+OK", "CONFIG", "SET", "maxmemory", "0"))
	}
	return errors.Join(failed...)
}

func (d *Director) take(what any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[what] {
		return false
	}
	d.busy[what] = true
	return true
}

func (d *Director) give(what any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, what)
}

func (d *Director) end(a actor, t *target, f fault) {
	d.give(a.what(t))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[f.name]++
}

// mayLose notes that a master is about to lose its memory, if it may.
func (d *Director) mayLose(m *stage.Master) bool {
	if d.cfg.AnyLoss {
		return true
	}
	d.mu.Lock()
	lost := make(map[*stage.Master]stage.Admission)
	for m, since := range d.lost {
		if !d.busy[m] { // else it may not even have happened yet
			lost[m] = since
		}
	}
	d.mu.Unlock()
	for m, since := range lost {
		if m.Readmitted(since) == nil {
			d.mu.Lock()
			if d.lost[m] == since {
				delete(d.lost, m)
			}
			d.mu.Unlock()
		}
	}
	since, _ := m.Admission()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, already := d.lost[m]; already || len(d.lost) >= (len(d.stage.Masters)-1)/2 || since.Serial == 0 {
		return false
	}
	d.lost[m] = since
	return true
}

func (t *target) String() string {
	switch {
	case t.proxy == nil:
		return fmt.Sprintf("master %d", t.master.Place+1)
	case t.master == nil:
		return fmt.Sprintf("proxy %d", t.proxy.Number+1)
	}
	return fmt.Sprintf("proxy %d to master %d", t.proxy.Number+1, t.master.Place+1)
}
