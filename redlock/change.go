package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The set of masters changes by one at a time: one joins, one leaves, or one
// takes the place of another. Majorities of the sets before and after then have
// a master in common, so a lock of the one is never free in the other. The new
// set is a new epoch in the records:
//
//  1. It is written to the masters that stay, each by compare-and-swap against
//     the record of the epoch before; a master takes only the first change of an
//     epoch. With it a master's votes for the old set end, because every batch
//     reads the record.
//  2. Every proxy that sees the new record at any master follows, and writes it
//     to those that do not have it yet.
//  3. Nobody votes in the new set until a majority of the old one has had it.
//     Of two changes that were begun at once only one can come to that, and the
//     old set has no majority from then on. The records remember it.
//  4. What joins has no vote until it is resynchronised like a master that
//     restarted empty.
//  5. A set of an even size needs as many masters as the odd one above it: before
//     one leaves an odd number, its votes end, which its own record has to say,
//     and so many of the others are resynchronised that every lock is on a
//     majority of those that stay.

// SetChange is a change of the set of masters. Addresses are as in the
// [ClusterConfig] of this proxy; the one to remove may also be as the records
// have it.
type SetChange struct {
	Add    string // empty: none joins
	Remove string // empty: none leaves
}

// fillTimeout is how long a change waits for a master to be resynchronised.
const fillTimeout = 30 * time.Second

// change carries a change out, and tells what was done.
func (s *steward) change(ctx context.Context, c SetChange) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*fillTimeout)
	defer cancel()
	s.settle(nil)
	next, err := s.plan(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Add == "" && next.Before%2 == 1 {
		if err := s.emptyOut(ctx, c); err != nil {
			return nil, err
		}
		if next, err = s.plan(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := s.propose(next); err != nil {
		return nil, err
	}
	return s.outcome(ctx, c), nil
}

// plan is the record of the set after a change, or why it can not be made now.
func (s *steward) plan(ctx context.Context, c SetChange) (*record, error) {
	if err := s.mayJoin(ctx, c.Add); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	views, a := s.decide(nil)
	if !a.known {
		return nil, errors.New("no record of this quorum can be read at present")
	}
	if c.Add != "" && slices.Contains(a.seats.names, c.Add) {
		return nil, fmt.Errorf("%s is a member already", c.Add)
	}
	leaves, err := s.seatOf(c.Remove, &a)
	if err != nil {
		return nil, err
	}
	for i, k := range a.seats.masters {
		if i != leaves && (k == nobody || a.standings[k].serial == 0) {
			return nil, fmt.Errorf("%s does not vote, and a change of the set needs all others: %s", a.seats.names[i], reasonAt(views, &a, i))
		}
	}
	return a.set.changed(c.Add, leaves, a.seats.names)
}

func reasonAt(views []view, a *agenda, place int) string {
	if k := a.seats.masters[place]; k != nobody {
		return a.standings[k].reason
	}
	return reasonUnknownMember
}

// seatOf is the place of a member by its name here or in the records, nobody
// for no name.
func (s *steward) seatOf(name string, a *agenda) (int, error) {
	if name == "" {
		return nobody, nil
	}
	if i := slices.Index(a.seats.names, name); i >= 0 {
		return i, nil
	}
	if i := slices.Index(a.set.Masters, name); i >= 0 {
		return i, nil
	}
	return nobody, fmt.Errorf("%s is no member: the members are %s", name, strings.Join(a.seats.names, ", "))
}

// mayJoin checks that a master is there and holds nothing.
func (s *steward) mayJoin(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	k := slices.IndexFunc(s.ups, func(u *upstream) bool { return u.Name() == name })
	if k < 0 {
		return fmt.Errorf("%s is not among the --masters of this proxy: add it to those of every proxy first, one proxy after the other", name)
	}
	u := s.ups[k]
	w, down := u.connection()
	if w == nil {
		return fmt.Errorf("%s is down: %s", name, down)
	}
	keys, err := w.client.Do(ctx, w.client.B().Arbitrary("DBSIZE").Build()).AsInt64()
	if err != nil {
		return fmt.Errorf("it is not known whether %s is empty: %w", name, err)
	}
	if keys > 0 {
		return fmt.Errorf("%s holds %d keys in database %d: it has to be empty (FLUSHALL there, if nobody needs them)", name, keys, u.db)
	}
	return nil
}

// changed is the record after the master at a place has left (or nobody), and
// another one has joined (or none): in its place if both.
func (r *record) changed(add string, leaves int, names []string) (*record, error) {
	next := *r
	next.Epoch++
	next.Change, next.After, next.Decided = fmt.Sprintf("%08x", rand.Uint32()), r.Change, false
	next.Before = len(r.Admitted)
	next.Admitted, next.Masters, next.From = slices.Clone(r.Admitted), slices.Clone(names), nil
	serial := uint64(0)
	for i, a := range r.Admitted {
		serial = max(serial, a.Serial)
		next.From = append(next.From, i+1)
	}
	joins := admission{Serial: serial + 1}
	switch {
	case add != "" && leaves != nobody:
		next.Admitted[leaves], next.Masters[leaves], next.From[leaves] = joins, add, 0
	case add != "":
		next.Admitted, next.Masters, next.From = append(next.Admitted, joins), append(next.Masters, add), append(next.From, 0)
	default:
		next.Admitted = slices.Delete(next.Admitted, leaves, leaves+1)
		next.Masters = slices.Delete(next.Masters, leaves, leaves+1)
		next.From = slices.Delete(next.From, leaves, leaves+1)
	}
	switch n := len(next.Admitted); {
	case n == 0:
		return nil, errors.New("the last master can not leave")
	case n > maxMasters:
		return nil, fmt.Errorf("a quorum has at most %d masters", maxMasters)
	}
	return &next, nil
}

// emptyOut ends the votes of a master that is to leave an odd number, and
// resynchronises so many others that every lock is on a majority of those that
// stay: any set of masters that holds just half of them misses one of these.
func (s *steward) emptyOut(ctx context.Context, c SetChange) error {
	s.mu.Lock()
	leaves, err := s.seatOf(c.Remove, &agenda{seats: s.seats, set: s.set})
	members, need := slices.Clone(s.seats.masters), s.seats.need
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case len(members) <= 3:
		return fmt.Errorf("a quorum of %d can not lose a master and keep its locks safe: replace it, or add others first", len(members))
	case members[leaves] == nobody:
		return fmt.Errorf("%s is not among the --masters of this proxy, which has to end its votes first", c.Remove)
	}
	leaver := s.ups[members[leaves]]
	unheard := fmt.Errorf("%s can not be told that its votes end, and other proxies may count them: replace it, or try again when it is there", c.Remove)
	if open, _, _ := leaver.stands(); !open {
		return unheard
	}
	if !s.give(members[leaves], leaveOrder) {
		return errRecords
	}
	if !leaver.voteEnded() {
		return unheard
	}
	for _, k := range slices.Delete(members, leaves, leaves+1)[:need] {
		if !s.give(k, refillOrder) {
			return errRecords
		}
		if err := s.await(ctx, k, fillTimeout); err != nil {
			return fmt.Errorf("%s was to be given all locks before %s leaves: %w; say REDLOCK ADMIT %s to keep it, or try again", s.ups[k].Name(), c.Remove, err, c.Remove)
		}
	}
	return nil
}

// errRecords is why a change stops.
var errRecords = errors.New("the records of the masters could not be written; see the log, and try again")

// give has an order written to the records.
func (s *steward) give(k int, o order) bool {
	orders := make([]order, len(s.ups))
	orders[k] = o
	return s.settle(orders)
}

// await waits until a master votes.
func (s *steward) await(ctx context.Context, k int, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		_, votes, reason := s.ups[k].stands()
		if votes {
			return nil
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			return errors.New(reason)
		}
	}
}

// propose brings a new set into force.
func (s *steward) propose(next *record) error {
	s.mu.Lock()
	s.shape.proposal = next
	s.mu.Unlock()
	s.settle(nil)
	s.mu.Lock()
	s.shape.proposal = nil
	s.mu.Unlock()
	s.settle(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set.setName() != next.setName() {
		return errRecords
	}
	return nil
}

// outcome tells what became of a change.
func (s *steward) outcome(ctx context.Context, c SetChange) []string {
	var lines []string
	if c.Remove != "" {
		lines = append(lines, c.Remove+" has left the quorum; take it out of the --masters of every proxy when they are restarted next")
	}
	for k, u := range s.ups {
		if u.Name() != c.Add {
			continue
		}
		if err := s.await(ctx, k, 5*time.Second); err != nil {
			lines = append(lines, fmt.Sprintf("%s has joined the quorum and does not vote yet: %v", c.Add, err))
		} else {
			lines = append(lines, c.Add+" has joined the quorum and votes")
		}
	}
	return lines
}
