package redlock

import "time"

// restore resynchronises a master that may have lost locks, by the rules of
// resync.go, over simulated connections.
func (l *simLink) restore() {
	if l.restoring != nil && l.restoring.generation == l.linkGen {
		return
	}
	r := &restoration{generation: l.linkGen, noticed: l.s.now}
	l.restoring = r
	wait := 57 * time.Millisecond
	if l.s.cfg.noWait {
		wait = 0
	}
	l.s.AfterFunc(wait, func() { l.resync(r) })
}

// alive reports whether the connection is still that of the restoration.
func (l *simLink) alive(r *restoration) bool {
	return l.up && l.restoring == r && r.generation == l.linkGen && r.done == ""
}

func (l *simLink) resync(r *restoration) {
	if !l.alive(r) {
		return
	}
	again := func() { l.s.AfterFunc(l.s.between(10, 60), func() { l.resync(r) }) }
	n := len(l.proxy.links)
	need := n - (n/2 + 1) + 1
	if l.s.cfg.fewPeers {
		need--
	}
	var peers []*simLink
	for _, p := range l.proxy.links {
		if votes, _ := p.u.link.votes(); p != l && p.up && votes {
			peers = append(peers, p)
		}
	}
	if len(peers) < need {
		again()
		return
	}
	peers = peers[:need]
	run := &simScan{to: l, r: r, peers: peers, again: again}
	l.ask(func() {
		if l.master.marks == nil {
			l.master.marks = map[*restoration]bool{}
		}
		l.master.marks[r] = true
	}, run.start)
	l.s.AfterFunc(500*time.Millisecond, func() { // somebody was lost
		if !run.over {
			run.over = true
			again()
		}
	})
}

// start reads all peers.
func (run *simScan) start() {
	for _, p := range run.peers {
		run.generations = append(run.generations, p.linkGen)
		run.read(p)
	}
}

// simScan is one reading of all peers.
type simScan struct {
	to          *simLink
	r           *restoration
	peers       []*simLink
	generations []uint64
	answers     int
	found       State
	disputed    bool
	over        bool
	again       func()
}

func (s *simScan) read(p *simLink) {
	var state State
	p.ask(func() {
		m := p.master
		state = m.store.apply(m.wall(), &Swap{Key: simKey}, Window{}).before
		p.s.note("m%d p%d read for m%d: %s", m.index, p.proxy.index, s.to.master.index, describeState(state))
	}, func() {
		if s.over {
			return
		}
		s.answers++
		if state.Kind == Text {
			s.disputed = s.disputed || s.found.Kind == Text && string(s.found.Value) != string(state.Value)
			s.found = State{Kind: Text, Value: state.Value, TTL: max(s.found.TTL, state.TTL+copyMargin)}
		}
		if s.answers == len(s.peers) {
			s.over = true
			s.copy()
		}
	})
}

func (s *simScan) steady() bool {
	for i, p := range s.peers {
		if votes, _ := p.u.link.votes(); !p.up || p.linkGen != s.generations[i] || !votes {
			return false
		}
	}
	return true
}

func (s *simScan) copy() {
	l := s.to
	if !l.alive(s.r) {
		return
	}
	if s.disputed || !s.steady() {
		s.again()
		return
	}
	ok := true
	l.ask(func() { ok = s.found.Kind != Text || l.master.take(&s.found) }, func() {
		if !ok {
			s.again()
			return
		}
		l.s.note("m%d resynchronised by p%d", l.master.index, l.proxy.index)
		l.s.restored++
		s.r.done = "resynchronised"
		l.proxy.settleSoon()
	})
}

// take is copyScript.
func (m *simMaster) take(f *State) bool {
	now := m.wall()
	before := m.store.apply(now, &Swap{Key: simKey}, Window{}).before
	switch {
	case before.Kind == Absent:
		m.store.apply(now, &Swap{Key: simKey, Absent: Leaf{Effect: Set, Value: f.Value, TTL: f.TTL}}, Window{})
	case string(before.Value) != string(f.Value):
		return false
	default:
		m.store.apply(now, &Swap{Key: simKey, Other: Leaf{Effect: Expire, TTL: max(before.TTL, f.TTL) + 2000}}, Window{})
	}
	return true
}
