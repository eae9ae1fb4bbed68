package redlock

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// An acquire that is not answered everywhere may have created copies that this
// proxy will have to remove, or to count. A later operation on the same key may
// meet such a copy and renew or remove it, if it is by the same token or by
// none: then the copy must not be undone any more, or not be counted. So every
// operation that is sent tells the unanswered acquires of its key.

// unanswered are the acquires that some master still owes an answer, by a hash
// of their key. Its locks also serialise the sending of operations on one key.
type unanswered struct {
	seed    maphash.Seed
	buckets [1024]bucket
}

type bucket struct {
	mu sync.Mutex
	// The two are apart because an acquire that only creates has nothing to
	// tell other acquires: a thousand clients that poll one lock would go
	// through each other's, and keep the master's worker from the lock.
	acquires, extends *listing
	checks            []*stray // that are under way
}

// overlap is what an unanswered round was told.
type overlap struct {
	renewed atomic.Bool // a copy may have been renewed or removed since
	removed atomic.Bool // a copy may have been removed since; of an extend: its lock

	touches  atomic.Uint32 // how often that was so
	followed atomic.Bool   // of an extend: some operation that writes the key was sent since

	first listing   // of the round's key
	more  []listing // of its further keys
}

// listing is the place of a round among the unanswered of one of its keys. The
// bucket guards it.
type listing struct {
	r          *round
	k          int
	head       **listing // of the list it is in, nil if it is in none
	prev, next *listing
}

// place is where a round is listed for its key k.
func (o *overlap) place(k int) *listing {
	if k == 0 {
		return &o.first
	}
	return &o.more[k-1]
}

func (q *Quorum) bucketNumber(key []byte) int {
	return int(maphash.Bytes(q.unanswered.seed, key) % uint64(len(q.unanswered.buckets)))
}

func (q *Quorum) bucket(key []byte) *bucket { return &q.unanswered.buckets[q.bucketNumber(key)] }

// keyLock is the locks of the keys of one swap.
type keyLock struct {
	one  *bucket
	more []*bucket
}

// lock takes them, in the order of the buckets.
func (q *Quorum) lock(s *Swap) keyLock {
	if len(s.And) == 0 {
		b := q.bucket(s.Key)
		b.mu.Lock()
		return keyLock{one: b}
	}
	numbers := []int{q.bucketNumber(s.Key)}
	for i := range s.And {
		numbers = append(numbers, q.bucketNumber(s.And[i].Key))
	}
	slices.Sort(numbers)
	var l keyLock
	for _, n := range slices.Compact(numbers) {
		b := &q.unanswered.buckets[n]
		b.mu.Lock()
		l.more = append(l.more, b)
	}
	return l
}

func (l *keyLock) unlock() {
	if l.one != nil {
		l.one.mu.Unlock()
	}
	for _, b := range l.more {
		b.mu.Unlock()
	}
}

// enter tells the unanswered acquires and extends about a round that is about
// to be sent, and lists it if it is one. The round's keys are locked.
func (q *Quorum) enter(r *round) {
	if r.f.class == classRead {
		return
	}
	if n := len(r.table.And); n > 0 {
		r.overlap.more = make([]listing, n)
	}
	for k := range r.table.keys() {
		b := q.bucket(r.table.key(k))
		b.extends.tell(&r.table, k)
		if !r.table.onlyCreates(k) {
			b.acquires.tell(&r.table, k)
		}
		switch r.f.class {
		case classAcquire:
			r.register(&b.acquires, k)
			for _, s := range b.checks {
				s.met = s.met || r.mayLookLike(k, s)
			}
		case classModify:
			r.register(&b.extends, k)
		}
	}
}

// onlyCreates reports whether the swap leaves key k alone wherever it is there.
func (s *Swap) onlyCreates(k int) bool {
	p := s.part(k)
	return !(p.HasToken && p.Mine.writes()) && !s.Other.writes()
}

// register puts a round on a list for its key k.
func (r *round) register(head **listing, k int) {
	l := r.overlap.place(k)
	*l = listing{r: r, k: k, head: head, next: *head}
	if *head != nil {
		(*head).prev = l
	}
	*head = l
}

// tell tells those of a list, from l on, that have the same key as key k of s.
func (l *listing) tell(s *Swap, k int) {
	key := s.key(k)
	for ; l != nil; l = l.next {
		if bytes.Equal(l.r.table.key(l.k), key) {
			l.note(s, k)
		}
	}
}

// note notes what key k of the table s, which is the listed one, may do to
// copies of this round.
func (l *listing) note(s *Swap, k int) {
	o := &l.r.overlap
	o.followed.Store(true)
	p := s.part(k)
	if l.r.f.class == classModify && p.HasToken && p.Mine.Effect == Delete && l.r.holds(l.k, p.Token) {
		o.removed.Store(true)
	}
	mine := p.HasToken && p.Mine.writes() && l.r.mayCreate(l.k, p.Token)
	if !mine && !s.Other.writes() {
		return
	}
	o.renewed.Store(true)
	o.touches.Add(1)
	if mine && p.Mine.Effect == Delete || s.Other.Effect == Delete {
		o.removed.Store(true)
	}
}

// mayMake reports whether an acquire of a list, from l on, may make a copy that
// looks like a stray one of another round.
func (l *listing) mayMake(s *stray) bool {
	for ; l != nil; l = l.next {
		if l.r != s.of && l.r.mayLookLike(l.k, s) {
			return true
		}
	}
	return false
}

// mayLookLike reports whether a copy that the round makes of its key k may look
// like a stray one.
func (r *round) mayLookLike(k int, s *stray) bool {
	return bytes.Equal(r.table.key(k), s.key) && r.mayCreate(k, s.token)
}

// mayCreate reports whether a round gives its key k this value. It only looks at
// the table: the votes are not ours to read.
func (r *round) mayCreate(k int, value []byte) bool {
	c, possible := r.table.creation(k)
	return possible && bytes.Equal(c.value, value)
}

// holds reports whether a round extends a lock of its key k with this token.
func (r *round) holds(k int, token []byte) bool {
	p := r.table.part(k)
	return p.HasToken && bytes.Equal(p.Token, token)
}

// leave takes a round that is answered everywhere off the lists.
func (q *Quorum) leave(r *round) {
	for k := range r.table.keys() {
		if k > len(r.overlap.more) {
			return // it was never sent
		}
		b := q.bucket(r.table.key(k))
		b.mu.Lock()
		r.overlap.place(k).unlist()
		b.mu.Unlock()
	}
}

// unlist takes a listing off its list.
func (l *listing) unlist() {
	if l.head == nil {
		return
	}
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		*l.head = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	*l = listing{}
}
