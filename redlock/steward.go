package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// steward sees to it that the masters of one database vote that may: it looks
// at all of them whenever one changes, and writes the records that follow.
type steward struct {
	shape electorate
	ups   []*upstream
	log   *slog.Logger
	wake  chan struct{}

	clock    Clock
	driftPPM atomic.Int64 // the largest of the proxies
	ended    sync.WaitGroup
	counted  restorations

	mu        sync.Mutex        // held while deciding and writing; guards shape.seen and the rest
	failed    map[string]string // by master, the last error of a write
	announced map[string]string // by master, why it does not vote as last logged
	early     bool              // some master had not been tried when it was last decided
	restoring []*restoration    // by master, nil for none
	lost      []bool            // by master, as last decided
	set       *record           // of masters, as last decided
	seats     *seats            // the same for this proxy
	reseat    func(*seats)      // tells the quorum
	voids     *voids            // of the quorum
	founders  func() []string   // the members of database 0, for others
	slowest   int64             // the largest op timeout in any record, milliseconds
	ctx       context.Context   // of run

	settles time.Duration // see horizonSettles
	// begin begins a restoration of a master, until its context ends. The
	// simulation, which must not block, brings its own.
	begin func(ctx context.Context, master int, r *restoration)
}

func newSteward(shape electorate, clock Clock, log *slog.Logger) *steward {
	s := &steward{shape: shape, clock: clock, restoring: make([]*restoration, shape.size), log: log, wake: make(chan struct{}, 1), failed: make(map[string]string), announced: make(map[string]string)}
	s.driftPPM.Store(shape.drift)
	s.settles, s.voids = horizonSettles, newVoids(shape.size)
	s.begin = func(ctx context.Context, master int, r *restoration) {
		s.ended.Go(func() { s.restore(ctx, master, r) })
	}
	return s
}

// changed makes the steward look again. It does not block.
func (s *steward) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// lookAgain is when failed writes of records are tried again.
const lookAgain = time.Second

func (s *steward) run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	defer s.ended.Wait()
	for {
		var again <-chan time.Time
		if !s.settle(nil) {
			again = time.After(lookAgain)
		}
		select {
		case <-s.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// settle decides and writes until nothing is left to write. It returns false
// if it is to be tried again. orders are what an operator wants done about each
// master, nil for nothing.
func (s *steward) settle(orders []order) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.announce()
	views, a := s.decide(orders)
	const rounds = 8 // each but the first corrects what other proxies wrote meanwhile
	for range rounds {
		if !anyWrite(a.writes) {
			return !a.unsettled
		}
		if a.first && !s.untouched(views, a.writes) {
			if views, a = s.decide(nil); a.first {
				return false // some master could not be read
			}
			continue
		}
		written := s.write(views, a)
		s.consume(a.restored)
		views, a = s.decide(nil)
		if !written {
			return false
		}
	}
	return false
}

func (s *steward) decide(orders []order) ([]view, agenda) {
	views, made := make([]view, len(s.ups)), s.voids.count()
	for i, u := range s.ups {
		views[i] = u.view()
	}
	s.early = slices.ContainsFunc(views, view.untried)
	s.tell(views)
	if s.founders != nil && !s.shape.seen {
		s.shape.founders = s.founders()
	}
	a := s.shape.convene(views, orders)
	if n := s.void(a.set); n > 0 {
		made += n
		s.tell(views)
		a = s.shape.convene(views, orders)
	}
	if a.known {
		s.shape.seen, s.shape.last = true, a.set
	}
	s.lost = a.lost
	s.compare(a.set)
	for _, note := range a.notes {
		s.log.Warn(note)
	}
	s.take(&a)
	for i, u := range s.ups {
		u.stand(&views[i], a.standings[i], a.lost[i], a.seats, a.set.Admitted)
	}
	s.voids.decided(made, s.clock.Now())
	if s.ctx != nil {
		s.tend(s.ctx, views, &a)
	}
	return views, a
}

// compare takes over what other proxies allow that this one does not, and says
// so: whoever waits for rounds to end has to wait for the slowest of them, by
// the worst of clocks.
func (s *steward) compare(set *record) {
	if set.OpTimeout > max(s.slowest, s.shape.opTimeout) {
		s.log.Warn("another proxy of this quorum runs with a larger --op-timeout, so a master that lost its locks is kept out longer; give all proxies the same",
			"op_timeout", time.Duration(set.OpTimeout)*time.Millisecond, "mine", time.Duration(s.shape.opTimeout)*time.Millisecond)
	}
	if set.Drift > s.driftPPM.Load() {
		s.log.Warn("another proxy of this quorum runs with a larger --clock-drift, and trusts clocks that this one does not; give all proxies the same",
			"clock_drift_ppm", set.Drift, "mine", s.shape.drift)
	}
	s.slowest = max(s.slowest, set.OpTimeout)
	s.driftPPM.Store(max(s.driftPPM.Load(), set.Drift))
}

// void makes the votes void of masters that had one by the last decision and
// have none by the records now, and returns how many they are.
func (s *steward) void(set *record) (n uint64) {
	if s.set == nil || !s.set.sameSet(set) {
		return 0
	}
	for place := range set.Admitted {
		if k := s.seats.masters[place]; k != nobody && set.deposes(s.set.Admitted, place) {
			s.voids.void(k)
			n++
		}
	}
	return n
}

// take seats the masters. Nobody votes while the seats change: neither may the
// votes of the old set count for the new one nor the other way round.
func (s *steward) take(a *agenda) {
	s.set = a.set
	if s.seats != nil && s.seats.equal(a.seats) {
		return
	}
	for i, u := range s.ups {
		u.revoke(reasonReseated)
		if s.restoring[i] != nil {
			s.end(i)
		}
	}
	s.seats, s.shape.sat = a.seats, a.seats
	s.reseat(a.seats)
}

// write sends all records at once and waits for the answers. A master that
// does not answer loses its connection, so this ends.
func (s *steward) write(views []view, a agenda) bool {
	failed := make([]error, len(s.ups))
	var wg sync.WaitGroup
	for i, text := range a.writes {
		if text != nil {
			wg.Go(func() { failed[i] = s.ups[i].write(&views[i], text, a.first) })
		}
	}
	wg.Wait()
	ok := true
	for i, err := range failed {
		ok = ok && err == nil
		if err == nil {
			s.counted.admitted[a.ways[i]].Add(1)
		}
		if err != nil && err.Error() != s.failed[views[i].name] {
			s.failed[views[i].name] = err.Error()
			s.log.Warn("record of the quorum could not be written, trying again", "master", views[i].name, "error", err)
		}
	}
	return ok
}

// untouched reads all records again before the first ones are written, on the
// connections that are all open by now, and reports whether there still are
// none. What was read when the connections were opened can be seconds old: since
// then another proxy may have made its first start, and a master that has voted
// for it may be empty again.
func (s *steward) untouched(views []view, writes [][]byte) bool {
	has := make([]bool, len(s.ups))
	var wg sync.WaitGroup
	for i, u := range s.ups {
		if writes[i] != nil {
			wg.Go(func() { has[i] = !u.hasNoRecord(&views[i]) })
		}
	}
	wg.Wait()
	return !slices.Contains(has, true)
}

// announce logs whose vote has changed. Masters that are down were logged by
// their upstream.
func (s *steward) announce() {
	if s.early && !s.shape.seen {
		return // at start: what is said of the others would be about to change
	}
	s.release()
	for _, u := range s.ups {
		open, votes, reason := u.stands()
		if was, known := s.announced[u.Name()]; !open || known && was == reason {
			continue
		}
		s.announced[u.Name()] = reason
		if votes {
			s.log.Info("master votes", "master", u.Name(), "db", u.db)
		} else {
			s.log.Warn("master does not vote", "master", u.Name(), "db", u.db, "reason", reason)
		}
	}
}

// members are the names of the masters of the quorum, nil if they are not known.
func (s *steward) members() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shape.seen {
		return nil
	}
	return s.seats.names
}

// release lets calls go that waited for the first look at all masters.
func (s *steward) release() {
	for _, u := range s.ups {
		if !u.ready.Swap(true) {
			u.nudge()
		}
	}
}

func anyWrite(writes [][]byte) bool {
	for _, w := range writes {
		if w != nil {
			return true
		}
	}
	return false
}

// admit is REDLOCK ADMIT for one master, by address, or "ALL". It returns a
// line for each.
func (s *steward) admit(name string) []string {
	orders := make([]order, len(s.ups))
	for i, u := range s.ups {
		if strings.EqualFold(name, "ALL") || u.Name() == name {
			orders[i] = admitOrder
		}
	}
	if !anyOf(orders) {
		return nil
	}
	s.settle(orders)
	var lines []string
	for i, u := range s.ups {
		switch why := u.Down(); {
		case orders[i] == noOrder:
		case why == "":
			lines = append(lines, u.Name()+" is admitted and votes")
		default:
			lines = append(lines, fmt.Sprintf("%s does not vote: %s", u.Name(), why))
		}
	}
	return lines
}
