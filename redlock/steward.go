package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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
	driftPPM int64
	ended    sync.WaitGroup

	mu        sync.Mutex        // held while deciding and writing; guards shape.seen and the rest
	failed    map[string]string // by master, the last error of a write
	announced map[string]string // by master, why it does not vote as last logged
	early     bool              // some master had not been tried when it was last decided
	restoring []*restoration    // by place, nil for none
	lost      []bool            // by place, as last decided
	slowest   int64             // the largest op timeout in any record, milliseconds
	ctx       context.Context   // of run
}

func newSteward(shape electorate, clock Clock, driftPPM int, log *slog.Logger) *steward {
	return &steward{shape: shape, clock: clock, driftPPM: int64(driftPPM), restoring: make([]*restoration, shape.size), log: log, wake: make(chan struct{}, 1), failed: make(map[string]string), announced: make(map[string]string)}
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
// if it is to be tried again. asked marks masters to be admitted, nil for none.
func (s *steward) settle(asked []bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.announce()
	views, a := s.decide(asked)
	const rounds = 8 // each but the first corrects what other proxies wrote meanwhile
	for range rounds {
		if !anyWrite(a.writes) {
			return !a.unsettled
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

func (s *steward) decide(asked []bool) ([]view, agenda) {
	views := make([]view, len(s.ups))
	for i, u := range s.ups {
		views[i] = u.view()
	}
	s.early = slices.ContainsFunc(views, view.untried)
	s.tell(views)
	a := s.shape.convene(views, asked)
	s.shape.seen = s.shape.seen || a.known
	s.slowest, s.lost = max(s.slowest, a.opTimeout), a.lost
	for _, note := range a.notes {
		s.log.Warn(note)
	}
	for i, u := range s.ups {
		u.stand(&views[i], a.standings[i])
	}
	if s.ctx != nil {
		s.tend(s.ctx, views, a.lost)
	}
	return views, a
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
		if err != nil && err.Error() != s.failed[views[i].name] {
			s.failed[views[i].name] = err.Error()
			s.log.Warn("record of the quorum could not be written, trying again", "master", views[i].name, "error", err)
		}
	}
	return ok
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
	asked := make([]bool, len(s.ups))
	for i, u := range s.ups {
		asked[i] = strings.EqualFold(name, "ALL") || u.Name() == name
	}
	if !anyOf(asked) {
		return nil
	}
	s.settle(asked)
	var lines []string
	for i, u := range s.ups {
		switch why := u.Down(); {
		case !asked[i]:
		case why == "":
			lines = append(lines, u.Name()+" is admitted and votes")
		default:
			lines = append(lines, fmt.Sprintf("%s does not vote: %s", u.Name(), why))
		}
	}
	return lines
}
