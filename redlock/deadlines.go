package redlock

import (
	"sync"
	"time"
)

// deadlines tells rounds that their time is over. One ticker serves all of
// them, and only while there are any: a timer per operation costs more than
// the rest of its bookkeeping.
type deadlines struct {
	clock  Clock
	period time.Duration // how late a round may be told
	// spread is how far a round in the list may be due ahead of one before it:
	// some kinds stop voting a tenth of the op timeout before their deadline.
	spread time.Duration

	mu      sync.Mutex
	first   roundList // full time-outs, so oldest first
	again   roundList // retries with what is left of one, in any order
	ticking bool
}

// add lists a round until remove or its expiry.
func (d *deadlines) add(r *round, retry bool) {
	d.mu.Lock()
	r.list = &d.first
	if retry {
		r.list = &d.again
	}
	r.list.push(r)
	start := !d.ticking
	d.ticking = true
	d.mu.Unlock()
	if start {
		d.clock.AfterFunc(d.period, d.tick)
	}
}

func (d *deadlines) remove(r *round) {
	d.mu.Lock()
	r.list.unlink(r)
	d.mu.Unlock()
}

// tick expires what is due and goes on while anything is left.
func (d *deadlines) tick() {
	for r := d.due(); r != nil; r = d.due() {
		r.expire()
	}
	d.mu.Lock()
	d.ticking = d.first.head != nil || d.again.head != nil
	again := d.ticking
	d.mu.Unlock()
	if again {
		d.clock.AfterFunc(d.period, d.tick)
	}
}

// due takes one round whose time is over off its list. Rounds of different
// kinds stop voting at slightly different times, so the search looks past the
// first one that is not due.
func (d *deadlines) due() *round {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for r := d.first.head; r != nil; r = r.next {
		if now >= r.voteBy {
			d.first.unlink(r)
			return r
		}
		if r.voteBy-now > d.spread {
			break
		}
	}
	for r := d.again.head; r != nil; r = r.next {
		if now >= r.voteBy {
			d.again.unlink(r)
			return r
		}
	}
	return nil
}

// roundList is a doubly linked list through the rounds themselves.
type roundList struct{ head, tail *round }

func (l *roundList) push(r *round) {
	r.prev, r.listed = l.tail, true
	if l.tail != nil {
		l.tail.next = r
	} else {
		l.head = r
	}
	l.tail = r
}

func (l *roundList) unlink(r *round) {
	if !r.listed {
		return
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		l.head = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		l.tail = r.prev
	}
	r.prev, r.next, r.listed = nil, nil, false
}
