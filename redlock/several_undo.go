package redlock

import "time"

// piece is what an attempt creates at one key.
type piece struct {
	key, value []byte
	ttl        int64
	window     Window // of its expiry, if a master said that it is there
}

// piece returns what this attempt creates at key k of master i, and whether the
// master said that it did. possible is false if it creates nothing there.
func (r *round) piece(i, k int) (c piece, created, possible bool) {
	c, possible = r.table.creation(k)
	p, a := r.table.part(k), &r.votes[i]
	if !r.voted[i] || a.Status != Answered || !a.Applied || r.saw(i, k).Kind != Absent {
		return c, false, possible
	}
	value, ttl, created := p.created(r.voteCase(i))
	if created {
		c.value, c.ttl, c.window = value, ttl, a.expiry(k)
	}
	return c, created, possible
}

// creation is what the swap may create at key k.
func (s *Swap) creation(k int) (c piece, possible bool) {
	p := s.part(k)
	c.key = p.Key
	c.value, c.ttl, possible = p.created(CaseAbsent)
	if !possible && len(s.And) > 0 {
		c.value, c.ttl, possible = p.created(CaseMine)
	}
	return c, possible
}

// created reports whether master i said that this attempt created a key there.
func (r *round) created(i int) bool {
	for k := range r.table.keys() {
		if _, created, _ := r.piece(i, k); created {
			return true
		}
	}
	return false
}

// ttlsSeen is the shortest and the longest remaining TTL that key k had where the
// table was applied; 0 if it was nowhere.
func (r *round) ttlsSeen(k int) (shortest, longest time.Duration) {
	for i := range r.votes {
		if !r.counts(i) || !r.votes[i].Applied || r.saw(i, k).Kind != Text {
			continue
		}
		ttl := time.Duration(min(r.saw(i, k).TTL, maxStrayTTL)) * time.Millisecond
		if longest = max(longest, ttl); shortest == 0 || ttl < shortest {
			shortest = ttl
		}
	}
	return shortest, longest
}

// aboutBefore is when the copies of key k would have expired, in Clock time, that
// this release has removed or this extend has renewed; false if there were none.
func (r *round) aboutBefore(k int) (about [2]time.Duration, ok bool) {
	shortest, longest := r.ttlsSeen(k)
	return [2]time.Duration{r.started + shortest - copySkew, r.appliedAt + longest + r.f.q.opTimeout + copySkew}, longest > 0
}
