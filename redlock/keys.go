package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lock clients list keys now and then: KEYS or SCAN of their own prefix,
// DBSIZE. That is no operation on a lock and must not delay any: each master is
// asked over a connection of its own, a thousand keys at a time.

// Bounds of [Cluster.Keys].
const (
	maxKeysListed = 100_000
	maxKeysSize   = 16 << 20 // bytes
	maxPattern    = 1024     // bytes: matching takes up to length × key length, of a master's only thread
	listTimeout   = 5 * time.Second
	listsAtOnce   = 2 // of one proxy: a list takes up to twice maxKeysSize for each master
)

// errListing answers those for whom there was no room in Cluster.listing.
var errListing = errors.New("other clients are listing keys; try again")

// KeyFilter says which keys are asked for.
type KeyFilter struct {
	Pattern []byte // as in KEYS; nil: any
	Type    string // as in SCAN … TYPE; empty: any
}

// ErrTooManyKeys is wrapped by the error of [Cluster.Keys] if the list is too
// long to be made.
var ErrTooManyKeys = fmt.Errorf("more than %d keys, or more than %d MiB of them, match; ask with a pattern that fewer match, or scan a master", maxKeysListed, maxKeysSize>>20)

// errPattern refuses a pattern before a master is asked.
var errPattern = fmt.Errorf("%w: patterns of more than %d bytes are not taken", ErrTooManyKeys, maxPattern)

// Keys lists the keys, sorted, that a quorum of masters holds in a database,
// with whatever value; those of the proxies are left out.
//
// It returns when a quorum has answered, and the other masters have, or have
// had an op timeout more. A key that a quorum may hold, because masters that
// did not answer could have it, is listed too: a list without it would call a
// lock free that may be held. An error that is no [ErrTooManyKeys] says that
// fewer than a quorum answered.
func (c *Cluster) Keys(ctx context.Context, db int, f KeyFilter) ([]string, error) {
	if len(f.Pattern) > maxPattern {
		return nil, errPattern
	}
	d, err := c.database(db)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
		return nil, errListing
	}
	for {
		s := d.quorum.seats.Load()
		keys, err := d.keys(ctx, s, f, c.cfg.OpTimeout)
		if err != nil || s.hold(d.quorum.seats.Load()) {
			return keys, err
		}
	}
}

// keyList is what one master says.
type keyList struct {
	master int
	keys   []string
	err    error
}

// keys asks all masters and counts.
func (d *database) keys(ctx context.Context, s *seats, f KeyFilter, patience time.Duration) ([]string, error) {
	lists := make(chan keyList, len(s.masters))
	for i, k := range s.masters {
		if k == nobody {
			lists <- keyList{i, nil, errors.New(reasonUnknownMember)}
			continue
		}
		go func() {
			keys, err := d.masters[k].list(ctx, f)
			lists <- keyList{i, keys, err}
		}()
	}
	t := keyTally{names: s.names, seen: make(map[string]heldBy), why: make([]error, len(s.masters))}
	var enough <-chan time.Time
	for range s.masters {
		select {
		case l := <-lists:
			t.add(l)
		case <-enough:
			return t.result()
		case <-ctx.Done():
			return t.result()
		}
		if enough == nil && t.answered >= t.need() {
			enough = time.After(patience)
		}
	}
	return t.result()
}

// heldBy counts the masters that hold a key. SCAN may return one twice.
type heldBy struct{ masters, last int }

// keyTally counts keys as masters list them.
type keyTally struct {
	names    []string // of the masters
	answered int
	seen     map[string]heldBy
	why      []error // by master, why it did not answer
}

func (t *keyTally) need() int { return len(t.names)/2 + 1 }

func (t *keyTally) add(l keyList) {
	t.why[l.master] = l.err
	if l.err != nil {
		return
	}
	t.answered++
	for _, key := range l.keys {
		h := t.seen[key]
		if h.last != t.answered {
			t.seen[key] = heldBy{h.masters + 1, t.answered}
		}
	}
}

func (t *keyTally) result() ([]string, error) {
	if t.answered < t.need() {
		return nil, t.failure()
	}
	unknown := len(t.names) - t.answered
	var keys []string
	size := 0
	for key, h := range t.seen {
		if h.masters+unknown >= t.need() {
			keys = append(keys, key)
			size += len(key)
		}
	}
	if len(keys) > maxKeysListed || size > maxKeysSize {
		return nil, ErrTooManyKeys
	}
	slices.Sort(keys)
	return keys, nil
}

// failure says why there is no quorum.
func (t *keyTally) failure() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d masters listed their keys, %d needed", t.answered, len(t.names), t.need())
	for i, err := range t.why {
		switch {
		case errors.Is(err, ErrTooManyKeys):
			return err
		case err != nil:
			fmt.Fprintf(&b, "; %s: %v", t.names[i], err)
		}
	}
	return errors.New(b.String())
}

// matches reports whether an embedded master lists a string at this key.
func (f *KeyFilter) matches(key string) bool {
	return (f.Pattern == nil || string(f.Pattern) == "*" || MatchGlob(string(f.Pattern), key)) && (f.Type == "" || strings.EqualFold(f.Type, "string"))
}
