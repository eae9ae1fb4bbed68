package proxy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"redlock-proxy/redlock"
)

// lockSnapshot is what the status page shows of the locks. Reading them takes
// time of the masters, so it is read only while somebody looks, by one for all,
// and seldom enough to take less than a twentieth of anybody's time.
type lockSnapshot struct {
	locks Locks
	mark  func([]byte) uint64

	mu      sync.Mutex
	reading chan struct{} // closed when the reading that is going on is done, nil if none is
	took    time.Duration
	seen    snapshot
}

// snapshot is the locks of all databases in use.
type snapshot struct {
	at        time.Time // zero: never
	databases []databaseLocks
}

type databaseLocks struct {
	db     int
	survey redlock.Survey
	err    error
}

const (
	snapshotLocks  = 50 // of each database
	snapshotPeriod = 2 * time.Second
	snapshotShare  = 20
	snapshotWait   = time.Second // for the first one
)

// get returns the latest snapshot. It begins a new one if that is old; ctx is
// that of the server.
func (l *lockSnapshot) get(ctx context.Context) snapshot {
	l.mu.Lock()
	if l.reading == nil && time.Since(l.seen.at) > max(snapshotPeriod, snapshotShare*l.took) {
		l.reading = make(chan struct{})
		go l.read(ctx)
	}
	reading, first := l.reading, l.seen.at.IsZero()
	l.mu.Unlock()
	if first && reading != nil {
		select {
		case <-reading:
		case <-time.After(snapshotWait):
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *lockSnapshot) read(ctx context.Context) {
	began := time.Now()
	var all []databaseLocks
	for _, db := range l.locks.Databases() {
		survey, err := l.locks.Survey(ctx, db, redlock.KeyFilter{}, snapshotLocks, l.mark)
		all = append(all, databaseLocks{db, survey, err})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took, l.seen = time.Since(began), snapshot{time.Now(), all}
	close(l.reading)
	l.reading = nil
}

// note says in a line what the snapshot is of.
func (s *snapshot) note(now time.Time) string {
	if s.at.IsZero() {
		return "The masters are being read."
	}
	text := fmt.Sprintf("As of %s ago.", wholeSeconds(now.Sub(s.at)))
	held := 0
	for _, d := range s.databases {
		held += len(d.survey.Locks)
		if d.err != nil {
			text += fmt.Sprintf(" Database %d: %v.", d.db, d.err)
			continue
		}
		if d.survey.More || !d.survey.Voting || len(d.survey.Missing) > 0 {
			text += fmt.Sprintf(" Database %d: %s.", d.db, surveySummary(&d.survey))
		}
	}
	if held == 0 {
		text += " None."
	}
	return text
}
