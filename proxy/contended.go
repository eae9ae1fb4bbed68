package proxy

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// contended counts the acquires that were denied, by key, for the keys that are
// denied most. It is a sketch: a fixed number of places in sets, where a new key
// takes over the place of the one with the least denials in its set, and the
// count with it (the "space-saving" of Metwally, Agrawal and El Abbadi), so that
// a key that is denied often is never missed. What it may be counted too much for
// is known.
//
// It looks back one to two minutes: a set keeps the counts of this minute and of
// the one before.
type contended [contendedSets]contendedSet

const (
	contendedSets   = 64
	contendedPlaces = 8
	contendedPeriod = time.Minute
	contendedKey    = 100 // bytes of a key that are kept
)

type contendedSet struct {
	mu     sync.Mutex
	began  time.Time // of the present minute
	counts [2][contendedPlaces]denied
}

// denied is a place: a key and how often it was denied.
type denied struct {
	hash    uint64
	count   uint64
	surplus uint64 // of count, what may belong to other keys
	db      int
	length  int // of the key
	key     [contendedKey]byte
}

// deny counts a denial. It does not allocate.
func (c *contended) deny(hash uint64, db int, key []byte, now time.Time) {
	s := &c[hash%contendedSets]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(now)
	least := &s.counts[0][0]
	for i := range s.counts[0] {
		d := &s.counts[0][i]
		if d.count > 0 && d.hash == hash {
			d.count++
			return
		}
		if d.count < least.count {
			least = d
		}
	}
	*least = denied{hash: hash, count: least.count + 1, surplus: least.count, db: db, length: len(key)}
	copy(least.key[:], key)
}

// advance begins a new minute when the present one is over.
func (s *contendedSet) advance(now time.Time) {
	switch past := now.Sub(s.began); {
	case past < contendedPeriod:
		return
	case past < 2*contendedPeriod:
		s.counts[1] = s.counts[0]
		s.began = s.began.Add(contendedPeriod)
	default:
		s.counts[1] = [contendedPlaces]denied{}
		s.began = now
	}
	s.counts[0] = [contendedPlaces]denied{}
}

// contendedCount is what was counted of one key.
type contendedCount struct {
	db      int
	key     string // its beginning, see cut
	count   uint64 // denied acquires in the last one to two minutes, at most
	surplus uint64 // count less this is the least it can be
}

// top returns the keys that were denied most, the first n.
func (c *contended) top(n int, now time.Time) (all []contendedCount) {
	for i := range c {
		all = append(all, c[i].list(now)...)
	}
	slices.SortFunc(all, func(a, b contendedCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.key, b.key), cmp.Compare(a.db, b.db))
	})
	return all[:min(n, len(all))]
}

// list returns the keys of one set, whose counts of two minutes are added up.
func (s *contendedSet) list(now time.Time) (all []contendedCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(now)
	index := make(map[uint64]int)
	for m := range s.counts {
		for i := range s.counts[m] {
			d := &s.counts[m][i]
			if d.count == 0 {
				continue
			}
			at, known := index[d.hash]
			if !known {
				at = len(all)
				index[d.hash] = at
				all = append(all, contendedCount{db: d.db, key: d.name()})
			}
			all[at].count += d.count
			all[at].surplus += d.surplus
		}
	}
	return all
}

// name is the key, as far as it was kept.
func (d *denied) name() string {
	if d.length > contendedKey {
		return string(d.key[:]) + "…"
	}
	return string(d.key[:d.length])
}
