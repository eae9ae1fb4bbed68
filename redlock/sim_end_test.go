package redlock

import (
	"slices"
	"time"
)

const (
	lastTTL = 60_000
	// calmDown is long enough to connect again and to see to what is owed.
	calmDown = 3 * time.Second
)

// votes reports whether the master does at every proxy.
func (m *simMaster) votes() bool {
	for _, l := range m.links {
		if votes, _ := l.u.link.votes(); !votes {
			return false
		}
	}
	return true
}

// simEnd looks for copies of failed acquires that are left when all masters are
// back. There must be none, but for those that are counted as left to their TTL.
type simEnd struct {
	began   bool
	left    uint64          // copies left to their TTL before
	failed  map[string]bool // tokens of acquires in the last phase that nobody got, or has any more
	excused map[string]bool
	crossed map[string]bool // released through another proxy than they were acquired through
	lost    bool            // a proxy died, and with it what it knew; or the set of masters changed
}

func (e *simEnd) begin(s *sim) {
	if s.cfg.tokens != uniqueTokens || s.cfg.calm {
		return // copies of one token may look like a lock
	}
	*e = simEnd{began: true, left: s.leftToTTL(), failed: make(map[string]bool), excused: make(map[string]bool), crossed: make(map[string]bool)}
}

func (s *sim) leftToTTL() (n uint64) {
	for _, p := range s.proxies {
		if !p.dead {
			n += p.quorum.Stats.LeftToTTL.Load()
		}
	}
	return n
}

// owed reports whether a copy will be looked at when a quorum votes again.
func (s *sim) owed(token string) bool {
	return slices.ContainsFunc(s.proxies, func(p *simProxy) bool {
		return slices.ContainsFunc(p.quorum.owed, func(list []stray) bool {
			return slices.ContainsFunc(list, func(o stray) bool { return string(o.token) == token })
		})
	})
}

func (e *simEnd) died(p *simProxy) { e.lost = true }

// copied excuses what a resynchronisation has copied: it may have made a
// majority of it, and it gives copies another TTL, by which a removal that a
// master missed does not know them.
func (e *simEnd) copied(token string) {
	if e.began {
		e.excused[token] = true
	}
}

func (e *simEnd) sent(c *simClient) {
	if e.began && !c.got {
		e.failed[string(c.token)] = true
	}
}

func (e *simEnd) got(c *simClient) {
	c.got = true
	if e.began {
		delete(e.failed, string(c.token))
	}
}

// released is a lock of which no copy must be left either, if all of them have
// the same TTL: one that missed an extend may be left to its own.
func (e *simEnd) released(c *simClient) {
	if e.began && !c.renewed && c.ttl == lastTTL {
		e.failed[string(c.token)] = true
		e.crossed[string(c.token)] = c.last != c.by
	}
}

func (e *simEnd) check(s *sim) {
	if !e.began || e.lost {
		return
	}
	s.count.checked++
	members := s.members()
	on := make(map[string]int)  // how many masters hold a token
	bad := make(map[string]int) // and of these, where it should not be
	for _, m := range members {
		back := m.changed < s.cfg.length-s.cfg.last && m.votes() // else it may have back what was removed, or not be back itself
		for _, name := range m.names() {
			value, ttl, _ := m.get(name)
			token := string(value)
			if ttl <= lastTTL/2 || !e.failed[token] || e.excused[token] || s.owed(token) {
				continue
			}
			s.note("m%d has %s: %q ttl %d", m.index, name, value, ttl)
			if on[token]++; back {
				bad[token]++
			}
		}
	}
	// While a majority is not trusted, after steps of clocks, what it holds can
	// not be told from a lock, and stays one until its TTL ends. Nor can what comes
	// late after a release through another proxy (README, What it cannot promise).
	left := 0
	for token, n := range on {
		if n <= len(members)/2 || !s.cfg.steps && !e.crossed[token] {
			left += bad[token]
		}
	}
	if counted := s.leftToTTL() - e.left; left > int(counted) {
		s.fault("%d copies of failed acquires are left, %d are counted", left, counted)
	}
}
