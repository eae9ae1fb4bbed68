package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// restoration is what is being done about a master that may have lost locks.
type restoration struct {
	generation uint64
	noticed    time.Duration // Clock time
	cancel     context.CancelFunc
	note       string
	marker     string // key on the master that shows that it was not emptied meanwhile
	done       string // why it may vote again; empty: not yet
	// until is when no lock can be left that the master has forgotten, 0 if
	// that is not known yet. It is found once: what is granted later does not
	// count on the master.
	until time.Duration
}

// tend begins a restoration for each master that lost something, and ends those
// whose master is another one by now. s.mu is locked.
func (s *steward) tend(ctx context.Context, views []view, lost []bool) {
	for i := range views {
		r := s.restoring[i]
		if r != nil && (!lost[i] || r.generation != views[i].generation) {
			r.cancel()
			s.restoring[i] = nil
			r = nil
		}
		if r == nil && lost[i] && views[i].open && ctx.Err() == nil {
			ctx, cancel := context.WithCancel(ctx)
			r = &restoration{generation: views[i].generation, noticed: s.clock.Now(), cancel: cancel}
			s.restoring[i] = r
			s.ended.Go(func() { s.restore(ctx, i, r) })
		}
	}
}

// tell puts what is being restored into the views. s.mu is locked.
func (s *steward) tell(views []view) {
	for i, r := range s.restoring {
		if r != nil && r.generation == views[i].generation {
			views[i].restored, views[i].note, views[i].marker = r.done, r.note, r.marker
		}
	}
}

// consume ends the restorations that led to an admission, whether its record
// could be written or not. s.mu is locked.
func (s *steward) consume(admitted []bool) {
	for i, r := range s.restoring {
		if r != nil && admitted[i] {
			r.cancel()
			s.restoring[i] = nil
		}
	}
}

// progress notes what a restoration is doing, and whether it is done.
func (s *steward) progress(r *restoration, note, done string) {
	s.mu.Lock()
	changed := r.note != note || r.done != done
	r.note, r.done = note, done
	s.mu.Unlock()
	if changed {
		s.changed()
	}
}

// restore gives a master its locks back, or waits until none of them can live.
func (s *steward) restore(ctx context.Context, i int, r *restoration) {
	pause := s.roundsEnd()
	for try := 0; ; try++ {
		if sleep(ctx, pause) != nil {
			return
		}
		done, err := s.tryRestore(ctx, i, r)
		switch {
		case ctx.Err() != nil:
			return
		case done != "":
			s.progress(r, "", done)
			return
		case err != nil:
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
	return time.Duration(driftOver(d, s.driftPPM)) + clockTolerance
}

// tryRestore resynchronises master i if enough others vote, otherwise looks
// whether the horizon has passed. It returns why the master may vote, or
// nothing.
func (s *steward) tryRestore(ctx context.Context, i int, r *restoration) (string, error) {
	to, ok := s.ups[i].peer(r.generation)
	if !ok {
		return "", nil // a new generation gets a restoration of its own
	}
	peers := s.votingPeers(i)
	n := len(s.ups)
	s.unmark(r)
	if len(peers) < n-(n/2+1)+1 {
		return s.outwait(r), nil
	}
	s.progress(r, "resynchronising", "")
	start := s.clock.Now()
	if err := s.mark(ctx, &to, r); err != nil {
		return "", err
	}
	copied, err := resync(ctx, to, peers, func(note string) { s.progress(r, note, "") })
	if err != nil {
		return "", err
	}
	took := (s.clock.Now() - start).Round(time.Millisecond)
	return fmt.Sprintf("admitted again: %d keys were resynchronised from %d other masters in %v", copied, len(peers), took), nil
}

// unmark forgets the marker of an earlier try.
func (s *steward) unmark(r *restoration) {
	s.mu.Lock()
	r.marker = ""
	s.mu.Unlock()
}

// mark puts a key on the master that is being filled, ahead of everything else.
func (s *steward) mark(ctx context.Context, to *peer, r *restoration) error {
	marker := ownKey(s.shape.name, fmt.Sprintf("restoring:%016x", rand.Uint64()))
	command := to.w.client.B().Arbitrary("SET", marker, "", "PX", strconv.FormatInt(markerLife.Milliseconds(), 10)).Build()
	if err := to.w.client.Do(ctx, command).Error(); err != nil {
		return err
	}
	s.mu.Lock()
	r.marker = marker
	s.mu.Unlock()
	return nil
}

// markerLife is how long a resynchronisation may take.
const markerLife = 10 * time.Minute

// votingPeers are the other masters that vote, with their connections.
func (s *steward) votingPeers(not int) (peers []peer) {
	for j, u := range s.ups {
		if j == not {
			continue
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
func (s *steward) outwait(r *restoration) string {
	if r.until == 0 {
		r.until = s.horizonSince(r.noticed)
	}
	now := s.clock.Now()
	switch {
	case r.until == 0:
		return ""
	case now >= r.until:
		return fmt.Sprintf("admitted again: every lock it may have forgotten has expired, %v after it was noticed", (now - r.noticed).Round(time.Millisecond))
	}
	at := time.Now().Add(r.until - now + time.Second).UTC().Format("15:04:05Z")
	s.progress(r, "locks it may have forgotten live until "+at+" at the latest, it votes then", "")
	return ""
}

// horizonSince is the furthest that masters which lost nothing and the memory
// of this proxy know of, plus the largest op timeout and drift.
func (s *steward) horizonSince(noticed time.Duration) time.Duration {
	until, known := noticed, false
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	for i, u := range s.ups {
		memory := u.memory.get()
		until = max(until, memory)
		u.mu.Lock()
		known = known || memory > 0 || u.wire != nil && !lost[i] && u.wire.horizonRead.Load()
		u.mu.Unlock()
	}
	if !known {
		return 0
	}
	return until + s.roundsEnd() + s.drift(until-noticed)
}
