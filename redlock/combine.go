package redlock

import "hash/maphash"

// Calls of a batch that compare and delete, or compare and expire, are combined to
// one command: what a master spends on such a call is mostly the start of a
// script.
const (
	combineFrom = 4   // fewer take as long one by one
	combineMost = 128 // a script is not interrupted, and looks at the clock once
)

// combine brings the batch into the order in which it is to be executed, and notes
// how many calls each command takes. Calls change places only if each has a key
// of its own: on one key their order stays.
func (w *worker) combine(conn *wire) {
	combines := len(w.batch) >= combineFrom && conn.facts.dialect.canonicalMany != "" && !conn.apart
	w.sizes = w.sizes[:0]
	for rest := w.batch; len(rest) > 0; {
		n := 0
		if combines {
			n = w.simple(rest)
		}
		if n == 0 {
			w.sizes, rest = append(w.sizes, 1), rest[1:]
			continue
		}
		w.gather(rest[:n])
		rest = rest[n:]
	}
}

// simple is how many calls the batch begins with that are plain acquires, or
// canonical, of different keys.
func (w *worker) simple(batch []*Call) int {
	w.seen.empty()
	for i, c := range batch {
		if !isPlainAcquire(c) && !isCanonical(c) || !w.seen.add(c.Table.Key) {
			return i
		}
	}
	return len(batch)
}

// gather puts the canonical ones of some calls behind the others.
func (w *worker) gather(calls []*Call) {
	w.behind = w.behind[:0]
	first := 0
	for _, c := range calls {
		if isPlainAcquire(c) {
			calls[first] = c
			first++
		} else {
			w.behind = append(w.behind, c)
		}
	}
	copy(calls[first:], w.behind)
	for range first {
		w.sizes = append(w.sizes, 1)
	}
	for rest := len(w.behind); rest > 0; {
		n := min(rest, combineMost)
		if rest < combineFrom {
			n = 1
		}
		w.sizes = append(w.sizes, n)
		rest -= n
	}
	clear(w.behind)
}

// keySet is a set of up to batchLimit keys that is emptied in no time. Two keys
// may be taken for one, which does not happen twice in 2^40 times.
type keySet struct {
	seed  maphash.Seed
	slots [2048]uint64 // hashes, whose lowest 16 bits are replaced by …
	round uint64       // … this, from 1 to 2^16-1, if they are in the set
}

func newKeySet() keySet { return keySet{seed: maphash.MakeSeed()} }

func (s *keySet) empty() {
	if s.round = (s.round + 1) & 0xffff; s.round == 0 {
		s.slots, s.round = [len(s.slots)]uint64{}, 1
	}
}

// add returns false for a key that is in the set.
func (s *keySet) add(key []byte) bool {
	hash := maphash.Bytes(s.seed, key)
	entry := hash&^0xffff | s.round
	for i := hash % uint64(len(s.slots)); ; i = (i + 1) % uint64(len(s.slots)) {
		switch at := s.slots[i]; {
		case at == entry:
			return false
		case at&0xffff != s.round:
			s.slots[i] = entry
			return true
		}
	}
}
