package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// simRestore is steward.restore over simulated connections: what there are
// blocking steps are here questions and what to do with their answers.
type simRestore struct {
	p     *simProxy
	index int // of the master at the proxy
	to    *simLink
	ctx   context.Context
	r     *restoration
	try   int

	peers  []peer
	read   int // peers that have been read
	keys   map[string]found
	names  []string         // to be read again; nil for all
	bare   bool             // the master has no record
	given  map[string]found // what was copied
	pauses int
	active bool
}

var simContext = context.Background()

// begin implements steward.begin.
func (p *simProxy) begin(ctx context.Context, index int, r *restoration) {
	l := p.links[index]
	p.AfterFunc(0, func() {
		if ttl := p.steward.horizonKnown(); ttl > 0 && l.up() && l.u.wire.generation == r.generation && !p.s.cfg.skip.horizon {
			l.ask(func() { l.master.raiseHorizon(ttl) }, func() {}, func() {})
		}
	})
	x := &simRestore{p: p, index: index, to: p.links[index], ctx: ctx, r: r}
	p.AfterFunc(0, func() {
		wait := p.steward.roundsEnd()
		if p.s.cfg.skip.rounds {
			wait = 0
		}
		p.AfterFunc(wait, x.attempt)
	})
}

// again begins another attempt.
func (x *simRestore) again() {
	x.over()
	pause := 50 * time.Millisecond << min(x.try, 4)
	x.try++
	x.p.AfterFunc(pause, x.attempt)
}

func (x *simRestore) over() {
	if x.active {
		x.active = false
		x.to.master.resyncing--
	}
}

// attempt is steward.tryRestore.
func (x *simRestore) attempt() {
	st, s := x.p.steward, x.p.s
	if _, ok := x.to.u.peer(x.r.generation); !ok || x.ctx.Err() != nil {
		return
	}
	x.peers = st.votingPeers(x.index, x.r)
	need := enoughPeers(st.size())
	if s.cfg.skip.peers {
		need--
		x.peers = x.peers[:min(need, len(x.peers))]
	}
	if s.cfg.skip.peerVotes {
		x.peers = x.openPeers()
	}
	if len(x.peers) < need {
		x.await()
		return
	}
	s.note("m%d resynchronisation by p%d from %d masters", x.index, x.p.slot, len(x.peers))
	m := x.to.master
	if m.resyncing++; m.resyncing > 1 {
		s.count.together++
	}
	x.active = true
	x.mark(func() {
		x.keys, x.names, x.read, x.pauses = make(map[string]found), nil, 0, 0
		x.bare, x.given = x.to.u.raw == nil, make(map[string]found)
		x.readNext()
	})
}

// mark is steward.mark.
func (x *simRestore) mark(then func()) {
	st, s := x.p.steward, x.p.s
	s.serial++
	marker := ownKey(simQuorum, fmt.Sprintf("restoring:%d", s.serial))
	st.marked(x.r, "")
	x.to.ask(func() { x.to.master.set(marker, nil, simMarkerLife) }, func() {
		st.marked(x.r, marker)
		then()
	}, x.again)
}

const simMarkerLife = 600_000

// await is steward.await.
func (x *simRestore) await() {
	marker, kept := x.r.marker, false
	x.to.master.settle()
	if marker == "" {
		x.mark(x.again)
		return
	}
	x.to.ask(func() {
		m := x.to.master
		if _, _, kept = m.get(marker); kept {
			m.set(marker, nil, simMarkerLife)
		}
	}, func() {
		if kept {
			x.outwait()
		} else {
			x.mark(x.again)
		}
	}, x.again)
}

func (p *simProxy) linkOf(u *upstream) *simLink {
	i := slices.IndexFunc(p.links, func(l *simLink) bool { return l.u == u })
	return p.links[i]
}

func (x *simRestore) openPeers() (peers []peer) {
	for i, l := range x.p.links {
		if i != x.index && l.up() {
			peers = append(peers, peer{l.u, l.u.wire})
		}
	}
	return peers
}

// outwait is the other way, where peers can not be read.
func (x *simRestore) outwait() {
	st, skip := x.p.steward, &x.p.s.cfg.skip
	done := st.outwait(x.index, x.r)
	if skip.outwait && !done {
		st.finish(x.r, Outwaited, "every lock it may have forgotten")
		done = true
	}
	if !done {
		x.again()
		return
	}
	x.done()
}

func (x *simRestore) done() {
	x.over()
	if x.ctx.Err() != nil {
		return
	}
	x.p.s.note("m%d at p%d: %s", x.index, x.p.slot, x.r.done)
	x.p.settleSoon()
}

// readNext reads the next peer, then merges and copies.
func (x *simRestore) readNext() {
	if x.ctx.Err() != nil {
		x.over()
		return
	}
	if x.read == len(x.peers) {
		x.copy()
		return
	}
	l := x.p.linkOf(x.peers[x.read].u)
	if l.u.wire != x.peers[x.read].w {
		x.again()
		return
	}
	x.read++
	names := x.names
	if names != nil {
		x.dump(l, names)
		return
	}
	l.ask(func() { names = l.master.names() }, func() { x.dump(l, names) }, x.again)
}

// dump reads the keys of a peer.
func (x *simRestore) dump(l *simLink, names []string) {
	seen, end, sent, w := make(map[string]found), suffix{}, x.p.s.now, l.u.wire
	l.ask(func() {
		end = l.master.suffix()
		for _, name := range names {
			if value, ttl, ok := l.master.get(name); ok {
				seen[name] = found{value: string(value), ttl: ttl}
				x.p.s.note("m%d p%d read for m%d: %s is %q ttl %d", l.master.index, x.p.slot, x.index, name, value, ttl)
			}
		}
	}, func() {
		counts := l.u.judge(w, nil, true, nil, nil, sent, x.p.s.now, end)
		if skip := &x.p.s.cfg.skip; !counts && !skip.record && !skip.peerVotes && !skip.confirm {
			x.again()
			return
		}
		for _, name := range names {
			if f, ok := seen[name]; ok {
				merge(x.keys, name, f.value, f.ttl)
			}
		}
		x.readNext()
	}, x.again)
}

// copy gives the master what is not disputed.
func (x *simRestore) copy() {
	s := x.p.s
	for i := range x.peers {
		votes, _ := x.peers[i].u.link.votes()
		if !x.peers[i].steady() || !votes && !s.cfg.skip.peerVotes && !s.cfg.skip.confirm {
			x.again()
			return
		}
	}
	var disputed, names []string
	admitted := false
	for name, f := range x.keys {
		if f.disputed && !s.cfg.skip.disputed {
			disputed = append(disputed, name)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(disputed)
	x.to.ask(func() {
		m := x.to.master // that the connection leads to, when the script gets there
		m.changed = s.now
		if ttl := horizonOver(x.keys); ttl > 0 && !s.cfg.skip.horizon {
			m.raiseHorizon(ttl)
		}
		if admitted = x.bare && m.record() != nil; admitted {
			return
		}
		for _, name := range names {
			f := x.keys[name]
			x.given[name] = f
			if !m.take(name, &f, x.bare && x.pauses > 0) {
				disputed = append(disputed, name)
			}
		}
	}, func() {
		switch {
		case admitted:
			x.again()
			return
		case len(disputed) == 0 && x.bare:
			x.tidy(0)
			return
		case len(disputed) == 0:
			x.finish()
			return
		}
		x.p.AfterFunc(20*time.Millisecond<<min(x.pauses, 3), func() {
			x.pauses++
			x.keys, x.names, x.read = make(map[string]found), disputed, 0
			x.readNext()
		})
	}, x.again)
}

func (x *simRestore) finish() {
	x.p.steward.finish(x.r, Resynchronised, "resynchronised")
	x.done()
}

// tidy removes what was copied and is held by none of the peers, from the one
// with number k on, any more.
func (x *simRestore) tidy(k int) {
	s := x.p.s
	if x.ctx.Err() != nil {
		x.over()
		return
	}
	if k < len(x.peers) && !s.cfg.skip.lacks {
		l := x.p.linkOf(x.peers[k].u)
		if l.u.wire != x.peers[k].w {
			x.again()
			return
		}
		end, sent, w, emptied := suffix{}, s.now, l.u.wire, false
		l.ask(func() {
			emptied = l.master.record() == nil
			for name, f := range x.given {
				if value, _, ok := l.master.get(name); ok && string(value) == f.value {
					delete(x.given, name)
				}
			}
			end = l.master.suffix()
		}, func() {
			if counts := l.u.judge(w, nil, true, nil, nil, sent, s.now, end); (emptied || !counts) && !s.cfg.skip.confirm {
				x.again()
				return
			}
			x.tidy(k + 1)
		}, x.again)
		return
	}
	admitted := false
	x.to.ask(func() {
		m := x.to.master
		if admitted = m.record() != nil; admitted {
			return
		}
		for name, f := range x.given {
			if value, _, ok := m.get(name); ok && string(value) == f.value {
				m.del(name)
				s.count.dropped++
			}
		}
	}, func() {
		if admitted {
			x.again()
			return
		}
		x.finish()
	}, x.again)
}
