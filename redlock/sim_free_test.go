package redlock

// glimpse is what the key looked like when an acquire was sent.
type glimpse struct {
	free    bool // no master had it
	created int
}

// glimpse looks at all masters. Where all of them lose what they have at once it
// tells nothing: a grant that was under way holds all the same.
func (s *sim) glimpse() glimpse {
	g := glimpse{free: !s.cfg.several && !s.cfg.calamities && !s.cfg.aimed && !s.cfg.moves, created: s.created}
	for _, m := range s.masters {
		_, _, held := m.get(string(simKey))
		g.free = g.free && !held
	}
	return g
}

// checkDenied checks that nobody is told that a key is held which no master had
// from the time the acquire was sent until its answer.
func (c *simClient) checkDenied(g glimpse, out *Outcome) {
	if g.free && out.Err == nil && !out.Applied && c.s.created == g.created {
		c.s.fault("%s was told that the key is held, which no master had", c.name)
	}
}
