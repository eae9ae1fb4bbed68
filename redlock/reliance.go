package redlock

import (
	"bytes"
	"hash/maphash"
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
	mu   sync.Mutex
	head *round
}

// overlap is a round's place among the unanswered and what it was told there.
type overlap struct {
	renewed atomic.Bool // a copy may have been renewed or removed since
	removed atomic.Bool // a copy may have been removed since

	followed atomic.Bool // some operation that writes the key was sent since

	prev, next *round // guarded by the bucket
	listed     bool
}

func (q *Quorum) bucket(key []byte) *bucket {
	return &q.unanswered.buckets[maphash.Bytes(q.unanswered.seed, key)%uint64(len(q.unanswered.buckets))]
}

// enter tells the unanswered acquires and extends about a round that is about
// to be sent, and lists it if it is one. The bucket is locked.
func (b *bucket) enter(r *round) {
	if r.f.class == classRead {
		return
	}
	for o := b.head; o != nil; o = o.overlap.next {
		if bytes.Equal(o.table.Key, r.table.Key) {
			o.tell(&r.table)
		}
	}
	if r.f.class == classDelete {
		return
	}
	r.overlap.listed = true
	r.overlap.next = b.head
	if b.head != nil {
		b.head.overlap.prev = r
	}
	b.head = r
}

// tell notes what the table s may do to copies of this round.
func (r *round) tell(s *Swap) {
	r.overlap.followed.Store(true)
	mine := s.HasToken && s.Mine.writes() && bytes.Equal(r.table.Absent.Value, s.Token)
	if !mine && !s.Other.writes() {
		return
	}
	r.overlap.renewed.Store(true)
	if mine && s.Mine.Effect == Delete || s.Other.Effect == Delete {
		r.overlap.removed.Store(true)
	}
}

// leave takes a round that is answered everywhere off the list.
func (b *bucket) leave(r *round) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &r.overlap
	if !p.listed {
		return
	}
	if p.prev != nil {
		p.prev.overlap.next = p.next
	} else {
		b.head = p.next
	}
	if p.next != nil {
		p.next.overlap.prev = p.prev
	}
	p.prev, p.next, p.listed = nil, nil, false
}
