package redlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// changeTTL is how long nobody else may change the set of masters, in
// milliseconds; longer than a change takes.
const changeTTL = 90_000

// ErrChanging says that the set of masters is being changed already.
var ErrChanging = errors.New("the set of masters is being changed, by this proxy or another one; try again when that is done")

// Change changes the set of masters by one, in every database that holds
// anything, and returns lines that say what was done. The change needs all
// masters but the one that leaves, and takes up to half a minute where others
// have to be resynchronised first. Errors say what is missing; nothing was
// changed then in the database that they name, and saying the same again goes on
// with the others.
func (c *Cluster) Change(ctx context.Context, change SetChange) ([]string, error) {
	if len(c.cfg.Masters) == 0 {
		return nil, errors.New("embedded masters can not be changed")
	}
	unlock, err := c.lockSet(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	used, err := c.databasesInUse(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, n := range used {
		d, err := c.database(n)
		if err != nil {
			return lines, err
		}
		if !d.steward.hasRecord(ctx) && n > 0 {
			continue // what it holds is none of ours
		}
		done, err := d.steward.change(ctx, change)
		if err != nil && !d.steward.already(change) {
			return lines, fmt.Errorf("db %d: %w", n, err)
		}
		for _, line := range done {
			lines = append(lines, fmt.Sprintf("db %d: %s", n, line))
		}
	}
	if len(lines) == 0 {
		return nil, errors.New("that is how it is already")
	}
	return lines, nil
}

// lockSet takes a lock, on the masters themselves, so that nobody else changes
// the set meanwhile.
func (c *Cluster) lockSet(ctx context.Context) (unlock func(), err error) {
	q, err := c.DB(0)
	if err != nil {
		return nil, err
	}
	key, token := []byte(ownKey(c.cfg.Name, "change")), []byte(rand.Text())
	run := func(s Swap) Outcome {
		done := make(chan Outcome, 1)
		op := &Op{Swap: s, Done: func(op *Op) {
			if q.Claim(op) {
				q.Settle(op)
				done <- op.Outcome
			}
		}}
		q.Start(op, 0)
		return <-done
	}
	out := run(Swap{Key: key, Absent: Leaf{Effect: Set, Value: token, TTL: changeTTL}})
	switch {
	case out.Err != nil:
		return nil, out.Err
	case !out.Applied:
		return nil, ErrChanging
	}
	return func() { run(*removalOf(key, token)) }, nil
}

// databasesInUse are those that this proxy uses, and those that hold keys, a
// record at least, on any of its masters.
func (c *Cluster) databasesInUse(ctx context.Context) (used []int, err error) {
	d, err := c.database(0)
	if err != nil {
		return nil, err
	}
	for _, u := range d.steward.ups {
		w, _ := u.connection()
		if w == nil {
			continue
		}
		info, err := w.client.Do(ctx, w.client.B().Arbitrary("INFO", "keyspace").Build()).ToString()
		if err != nil {
			return nil, fmt.Errorf("%s does not tell which databases it has: %w", u.Name(), err)
		}
		for field := range parseInfo(info) {
			if n, err := strconv.Atoi(strings.TrimPrefix(field, "db")); err == nil && n < maxDatabases && !slices.Contains(used, n) {
				used = append(used, n)
			}
		}
	}
	c.mu.Lock()
	for n, d := range c.databases {
		if d != nil && !slices.Contains(used, n) {
			used = append(used, n)
		}
	}
	c.mu.Unlock()
	slices.Sort(used)
	return used, nil
}

// hasRecord waits until a database that was just opened is known, and reports
// whether it has a record.
func (s *steward) hasRecord(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		seen, known := s.shape.seen, s.seats != nil && !s.early
		s.mu.Unlock()
		if known || sleep(ctx, 10*time.Millisecond) != nil {
			return seen
		}
	}
}

// already reports whether the set is as it would be after a change.
func (s *steward) already(c SetChange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (c.Add == "" || slices.Contains(s.seats.names, c.Add)) && (c.Remove == "" || !slices.Contains(s.seats.names, c.Remove))
}
