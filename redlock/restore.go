package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// restoration is what is being done about a master that may have lost locks.
type restoration struct {
	generation uint64
	loss       loss
	sources    bitset        // masters that are read …
	readAt     time.Duration // … since this Clock time
	noticed    time.Duration // Clock time, or when it was marked
	cancel     context.CancelFunc
	note       string
	marker     string // key on the master that shows that it was not emptied meanwhile
	done       string // why it may vote again; empty: not yet
	spoiled    bool   // what was read does not count
	way        Way    // how it came to
	// until is when no lock can be left that the master has forgotten, 0 if
	// that is not known yet. Once horizonSettles has passed it stays: what is
	// granted later does not count on the master, as long as the marker is there.
	until   time.Duration
	untilAt string // the same for people
	settled bool
}

// good reports whether a master is still the one that is being restored. If its
// clock has stepped since, what it got may have expired early. If one that was
// read had no vote any more, others may hold what it did not.
func (r *restoration) good(v *view) bool {
	return r.generation == v.generation && v.steppedAt <= r.noticed && !r.spoiled
}

// tend begins a restoration for each master that lost something, and ends those
// whose master is another one by now, or has lost something else. It waits until
// enough other masters know of the loss. s.mu is locked.
func (s *steward) tend(ctx context.Context, views []view, a *agenda) {
	for i := range views {
		r, l := s.restoring[i], a.losses[i]
		if r != nil && (!a.lost[i] || !r.good(&views[i]) || r.loss.by != l.by || !l.enough) {
			s.end(i)
			r = nil
		}
		if r != nil {
			r.loss = l
		}
		if r == nil && a.lost[i] && l.enough && views[i].open && ctx.Err() == nil {
			ctx, cancel := context.WithCancel(ctx)
			r = &restoration{generation: views[i].generation, loss: l, noticed: s.clock.Now(), cancel: cancel}
			s.restoring[i] = r
			s.ups[i].restoring.Store(true)
			s.begin(ctx, i, r)
		}
	}
}

// tell puts what is being restored into the views. s.mu is locked.
func (s *steward) tell(views []view) {
	for i, r := range s.restoring {
		if r == nil {
			continue
		}
		if s.voids.since(r.sources, r.readAt) {
			r.spoiled = true
			views[i].restored = ""
		}
		if r.good(&views[i]) {
			views[i].restored, views[i].answers = r.done, r.loss.by
			views[i].way, views[i].note, views[i].marker = r.way, r.note, r.marker
		}
	}
}

// consume ends the restorations that led to an admission, whether its record
// could be written or not. s.mu is locked.
func (s *steward) consume(admitted []bool) {
	for i, r := range s.restoring {
		if r != nil && admitted[i] {
			s.end(i)
		}
	}
}

// end ends the restoration of master i. s.mu is locked.
func (s *steward) end(i int) {
	s.restoring[i].cancel()
	s.restoring[i] = nil
	s.ups[i].restoring.Store(false)
	s.ups[i].votesAt.Store(0)
}

// progress notes what a restoration is doing.
func (s *steward) progress(r *restoration, note string) {
	s.mu.Lock()
	changed := r.note != note
	r.note = note
	s.mu.Unlock()
	if changed {
		s.changed()
	}
}

// finish notes that a restoration is done.
func (s *steward) finish(r *restoration, way Way, why string) {
	s.mu.Lock()
	r.note, r.way, r.done = "", way, "admitted again: "+why
	s.mu.Unlock()
	s.changed()
}

// restore gives a master its locks back, or waits until none of them can live.
func (s *steward) restore(ctx context.Context, i int, r *restoration) {
	s.leaveHorizon(ctx, i, r)
	pause := s.roundsEnd()
	for try := 0; ; try++ {
		if sleep(ctx, pause) != nil {
			return
		}
		done, err := s.tryRestore(ctx, i, r)
		switch {
		case ctx.Err() != nil || done:
			return
		case errors.Is(err, errAdmitted): // the steward will see it
		case err != nil:
			s.counted.failed.Add(1)
			s.log.Info("restoring a master did not succeed, trying again", "master", s.ups[i].Name(), "error", err)
		}
		pause = 50 * time.Millisecond << min(try, 4)
	}
}

// roundsEnd is when rounds that counted a master's old votes have ended.
func (s *steward) roundsEnd() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	timeout := time.Duration(max(s.shape.opTimeout, s.slowest)) * time.Millisecond
	return timeout + s.drift(timeout) + 5*time.Millisecond
}

func (s *steward) drift(d time.Duration) time.Duration {
	return time.Duration(driftOver(d, s.driftPPM.Load())) + clockTolerance
}

// tryRestore resynchronises master i if enough others vote, otherwise looks
// whether the horizon has passed. It reports whether the master may vote.
func (s *steward) tryRestore(ctx context.Context, i int, r *restoration) (done bool, err error) {
	to, ok := s.ups[i].peer(r.generation)
	if !ok {
		return false, nil // a new generation gets a restoration of its own
	}
	peers := s.votingPeers(i, r)
	if len(peers) < enoughPeers(s.size()) {
		return s.outlast(ctx, i, &to, r)
	}
	s.ups[i].votesAt.Store(0)
	s.progress(r, "resynchronising")
	start := s.clock.Now()
	if err := s.mark(ctx, &to, r); err != nil {
		return false, err
	}
	copied, err := resync(ctx, to, peers, &meter{s: s, r: r, told: start})
	if err != nil {
		return false, err
	}
	took := (s.clock.Now() - start).Round(time.Millisecond)
	s.finish(r, Resynchronised, fmt.Sprintf("%d keys were resynchronised from %d other masters in %v", copied, len(peers), took))
	return true, nil
}

// meter tells how a resynchronisation goes on, in the reason why the master does
// not vote yet, once a second: each change of that is logged.
type meter struct {
	s      *steward
	r      *restoration
	told   time.Duration // Clock time
	copied int
}

func (m *meter) tell(format string, args ...any) {
	if now := m.s.clock.Now(); now-m.told >= time.Second {
		m.told = now
		m.s.progress(m.r, "resynchronising, "+fmt.Sprintf(format, args...))
	}
}

// read says how many keys have been read so far.
func (m *meter) read(n int) { m.tell("%d keys read", n) }

// copy says that n more of all keys were copied.
func (m *meter) copy(n, all int) {
	m.s.counted.keys.Add(uint64(n))
	m.copied += n
	m.tell("%d of %d keys copied", m.copied, all)
}

// differ says that so many keys hold the master up.
func (m *meter) differ(n, all int) {
	m.s.progress(m.r, fmt.Sprintf("resynchronising, %d of %d keys differ between masters", n, all))
}

// size is the number of masters of the quorum.
func (s *steward) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seats.masters)
}

// enoughPeers is how many of n masters have at least one in common with any
// quorum.
func enoughPeers(n int) int { return n - (n/2 + 1) + 1 }

// mark puts a key on the master that is being restored, ahead of everything
// else.
func (s *steward) mark(ctx context.Context, to *peer, r *restoration) error {
	s.marked(r, "")
	marker := ownKey(s.shape.name, fmt.Sprintf("restoring:%016x", rand.Uint64()))
	command := to.w.client.B().Arbitrary("SET", marker, "", "PX", markerLife).Build()
	if err := to.w.client.Do(ctx, command).Error(); err != nil {
		return err
	}
	s.marked(r, marker)
	return nil
}

// marked notes the marker. Whatever was waited for before does not count.
func (s *steward) marked(r *restoration, marker string) {
	s.mu.Lock()
	r.marker, r.noticed, r.until = marker, s.clock.Now(), 0
	s.mu.Unlock()
}

// markerLife is how long a marker lives, in milliseconds: ten minutes from when
// it was last seen to.
const markerLife = "600000"

// outlast is outwait on a master that is marked. If the marker is gone, another
// proxy may have admitted the master meanwhile, and it may have lost what was
// granted since: then the waiting begins anew.
func (s *steward) outlast(ctx context.Context, i int, to *peer, r *restoration) (bool, error) {
	if r.marker != "" {
		command := to.w.client.B().Arbitrary("PEXPIRE", r.marker, markerLife).Build()
		switch kept, err := to.w.client.Do(ctx, command).AsInt64(); {
		case err != nil:
			return false, err
		case kept == 1:
			if !r.settled {
				s.readHorizons()
			}
			return s.outwait(i, r), nil
		}
	}
	return false, s.mark(ctx, to, r)
}

// votingPeers are the other masters that vote and know what master i has lost,
// with their connections.
func (s *steward) votingPeers(i int, r *restoration) (peers []peer) {
	s.mu.Lock()
	known := r.loss.known
	r.sources, r.readAt = known, s.clock.Now()
	s.mu.Unlock()
	for j, u := range s.ups {
		if j == i || !known.has(j) {
			continue // (a master that is no member has no vote)
		}
		u.mu.Lock()
		if votes, _ := u.link.votes(); votes && u.wire != nil {
			peers = append(peers, peer{u, u.wire})
		}
		u.mu.Unlock()
	}
	return peers
}

// peer is the connection of one generation.
func (u *upstream) peer(generation uint64) (peer, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return peer{u, u.wire}, u.wire != nil && u.wire.generation == generation
}

// outwait looks whether every lock that may have been forgotten must have
// ended. Without any horizon nothing is known, and an operator has to decide.
func (s *steward) outwait(i int, r *restoration) (done bool) {
	now := s.clock.Now()
	if r.until == 0 || !r.settled {
		r.settled = now >= r.noticed+s.settles
		if until := s.horizonSince(r.noticed); until > r.until {
			r.until = until
			r.untilAt = time.Now().Add(until - now + time.Second).UTC().Format("2006-01-02T15:04:05Z")
		}
	}
	s.ups[i].votesAt.Store(int64(r.until))
	switch {
	case r.until == 0:
		s.progress(r, "")
		return false
	case now >= r.until && r.settled:
		s.finish(r, Outwaited, fmt.Sprintf("every lock it may have forgotten has expired, %v after it was noticed", (now-r.noticed).Round(time.Millisecond)))
		return true
	}
	s.progress(r, "locks it may have forgotten live until "+r.untilAt+" at the latest, it votes then")
	return false
}

// readHorizons asks all masters how far locks reach.
func (s *steward) readHorizons() {
	for _, u := range s.ups {
		if w, _ := u.connection(); w != nil {
			_ = u.readHorizon(w) // else it is not known from there
		}
	}
}

// horizonSettles is how long proxies take to tell each other how far locks
// reach, by what they leave on a master that lost its horizon: until all have
// found it again.
const horizonSettles = lastBackoff + 500*time.Millisecond

// leaveHorizon tells a master that lost it how far locks reach, as far as this
// proxy knows. Other proxies may know less, having restarted or not looked for a
// second, and if all masters are empty, one that has just started would take
// that for a first start.
func (s *steward) leaveHorizon(ctx context.Context, i int, r *restoration) {
	to, ok := s.ups[i].peer(r.generation)
	if ttl := s.horizonKnown(); ok && ttl > 0 {
		// Without it others know less, and a lost connection begins this again.
		_ = to.w.client.Do(ctx, to.script(horizonScript, []string{horizonKey(s.shape.name)}, []string{strconv.FormatInt(ttl, 10)})).Error()
	}
}

// horizonKnown is how long locks live that this proxy knows of, in milliseconds,
// 0 for none.
func (s *steward) horizonKnown() int64 {
	known := time.Duration(0)
	for _, u := range s.ups {
		known = max(known, u.memory.get())
	}
	if left := known - s.clock.Now(); left > 0 {
		return left.Milliseconds() + 1
	}
	return 0
}

// horizonSince is when nothing can be left that a master has forgotten, as far
// as the members that lost nothing and the memory of this proxy know, plus the
// largest op timeout and drift; 0 if nothing is known.
//
// Enough members that lost nothing must have told their horizon since it was
// noticed, to have one in common with any quorum; or all of those that are left.
// Otherwise a lock may have been taken through another proxy just before: it is
// waited for as long as the longest lock that was ever seen.
func (s *steward) horizonSince(noticed time.Duration) time.Duration {
	until, longest, known, heard, gone := noticed, time.Duration(0), false, 0, 0
	s.mu.Lock()
	lost, members := s.lost, s.seats.masters
	s.mu.Unlock()
	for i, u := range s.ups {
		until, longest = max(until, u.memory.get()), max(longest, u.longest.get())
		known = known || u.memory.get() > 0
		if !slices.Contains(members, i) {
			continue
		}
		u.mu.Lock()
		switch {
		case u.taken || s.voids.since(1<<i, noticed): // it is not the one that has the place
		case lost[i]:
			gone++
		case u.wire != nil && u.wire.horizonReadAt.Load() > int64(noticed):
			heard++
		}
		u.mu.Unlock()
	}
	switch {
	case heard == 0 && !known:
		return 0
	case heard < enoughPeers(len(members)) && heard+gone < len(members):
		until = max(until, noticed+longest)
	}
	return until + s.roundsEnd() + s.drift(until-noticed)
}
