package redlock

import (
	"bytes"
	"math"
)

// keepTTLDefault is the expiry, in milliseconds, that a Set with KeepTTL gives
// to a key that has none: no key without an expiry is ever stored.
const keepTTLDefault int64 = 24 * 60 * 60 * 1000

// store is what one master holds in one database: the table semantics of a
// [Swap] in memory. It has no lock and no clock of its own; the caller brings
// both. The zero value is not ready, see newStore.
type store struct {
	entries map[string]entry
	writes  int // since the last sweep
}

// entry is one key. Its value belongs to the store and is never modified, so
// answers may share it.
type entry struct {
	kind   Kind // Text or WrongType
	value  []byte
	expiry int64 // absolute milliseconds, 0 for none
}

// verdict is what a store says to one table.
type verdict struct {
	before  State
	mine    bool
	applied bool
	expiry  int64 // absolute milliseconds, of what a Set or Expire wrote
	and     []Held
}

func newStore() *store { return &store{entries: make(map[string]entry)} }

// apply applies the table at the time now, in milliseconds. A Delete or Expire
// of a key that is not there applies nothing.
func (s *store) apply(now int64, table *Swap, window Window) verdict {
	if len(table.And) > 0 {
		return s.applySeveral(now, table)
	}
	e, exists := s.find(now, table.Key)
	var v verdict
	if exists {
		v.before = State{Kind: e.kind, Value: e.value, TTL: e.remaining(now)}
	}
	which := table.Case(&v.before)
	v.mine = which == CaseMine
	if v.mine && !window.holds(e.expiry) {
		return v
	}
	v.applied, v.expiry = s.change(now, table.Key, table.Leaf(which), e, exists)
	return v
}

// change does to one key what a leaf says.
func (s *store) change(now int64, key []byte, l *Leaf, e entry, exists bool) (done bool, expiry int64) {
	switch {
	case l.Effect == Set:
		e = entry{kind: Text, value: bytes.Clone(l.Value), expiry: e.after(now, l.TTL)}
	case l.Effect == Expire && exists:
		e.expiry = e.after(now, l.TTL)
	case l.Effect == Delete && exists:
		delete(s.entries, string(key))
		return true, 0
	default:
		return false, 0
	}
	s.put(now, key, e)
	return true, e.expiry
}

// find returns the entry of a key that has not expired.
func (s *store) find(now int64, key []byte) (entry, bool) {
	e, ok := s.entries[string(key)]
	if ok && e.expired(now) {
		delete(s.entries, string(key))
		return entry{}, false
	}
	return e, ok
}

// put stores an entry and now and then looks for expired ones nobody asks for.
func (s *store) put(now int64, key []byte, e entry) {
	s.entries[string(key)] = e
	if s.writes++; s.writes >= sweepEvery {
		s.writes = 0
		s.sweep(now, sweepSample)
	}
}

// A sweep looks at twice as many entries as were written since the last one,
// so at most about half of what is stored can be expired.
const (
	sweepEvery  = 16
	sweepSample = 2 * sweepEvery
)

// sweep removes the expired among a few entries taken at random.
func (s *store) sweep(now int64, sample int) {
	for key, e := range s.entries {
		if e.expired(now) {
			delete(s.entries, key)
		}
		if sample--; sample <= 0 {
			return
		}
	}
}

// list returns the keys of strings that the filter lets through, at the time
// now in milliseconds.
func (s *store) list(now int64, f KeyFilter) (keys []string, err error) {
	size := 0
	err = s.each(now, f, func(key string) error {
		if size += len(key); size > maxKeysSize || len(keys) == maxKeysListed {
			return ErrTooManyKeys
		}
		keys = append(keys, key)
		return nil
	})
	return keys, err
}

// each gives take the keys of strings that the filter lets through.
func (s *store) each(now int64, f KeyFilter, take func(key string) error) error {
	for key, e := range s.entries {
		if e.expired(now) || !f.matches(key) {
			continue
		}
		if err := take(key); err != nil {
			return err
		}
	}
	return nil
}

// expired is Redis's rule: a key still exists in the millisecond of its expiry.
func (e *entry) expired(now int64) bool { return e.expiry != 0 && now > e.expiry }

func (e *entry) remaining(now int64) int64 {
	if e.expiry == 0 {
		return NoTTL
	}
	return e.expiry - now
}

// after is the expiry that a leaf's TTL gives to the entry.
func (e *entry) after(now, ttl int64) int64 {
	if ttl == KeepTTL {
		if e.expiry != 0 {
			return e.expiry
		}
		ttl = keepTTLDefault
	}
	if ttl > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ttl
}

// holds reports whether an expiry lies within the window.
func (w Window) holds(expiry int64) bool {
	return w == Window{} || w.From <= expiry && expiry <= w.To
}
