package proxy

import "sync"

// line holds the commands of one connection that are not answered yet, oldest
// first. Their places are numbered from 1, for ever:
//
//	head ≤ published ≤ tail
//
// The reader appends at tail and publishes what it has started, in batches.
// Whoever has the turn to write takes published slots off at head.
type line struct {
	// The reader's own.
	tail     uint64
	unlisted int64  // bytes of slots not published yet
	seenHead uint64 // head, held and largest when it last looked
	seenHeld int64
	expected int

	mu        sync.Mutex
	ring      []*slot // its length is a power of two; only the reader grows it
	head      uint64
	published uint64
	held      int64 // bytes of published slots and their replies
	largest   int   // about the largest reply lately
	pushes    []message
	pushed    int   // bytes of pushes
	aside     int   // bytes of the transaction
	outgoing  int   // bytes of replies that are copied for a client that does not take them
	weighed   int64 // what of all that counts, see weigh

	turn    bool       // somebody has the turn to write; for good once dead
	dead    bool       // nothing more can be written
	ended   bool       // the reader will append nothing more
	left    bool       // the session has been taken leave of
	hasRoom *sync.Cond // slots were taken off, or the line is dead; made when it is waited for
}

const (
	firstRing = 4
	// firstReply is how large a reply is taken to be before there was one: a
	// client may ask for many large values before the first one arrives.
	firstReply = 4 << 10
)

func (l *line) init() {
	l.expected, l.largest = firstReply, firstReply
	l.tail, l.seenHead, l.head, l.published = 1, 1, 1, 1
}

func (l *line) place(seq uint64) **slot { return &l.ring[seq&uint64(len(l.ring)-1)] }

// append puts a slot at the end. Only the reader may call it.
func (l *line) append(sl *slot, size int) {
	if l.tail-l.seenHead == uint64(len(l.ring)) {
		l.grow()
	}
	sl.seq, sl.args, sl.held = l.tail, size, size+l.expected
	l.unlisted += int64(sl.held)
	*l.place(l.tail) = sl
	l.tail++
}

// grow makes room in the ring, if there is none.
func (l *line) grow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seenHead = l.head
	if l.tail-l.head < uint64(len(l.ring)) {
		return
	}
	old := l.ring
	l.ring = make([]*slot, max(firstRing, 2*len(old)))
	for seq := l.head; seq < l.tail; seq++ {
		*l.place(seq) = old[seq&uint64(len(old)-1)]
	}
}

// full reports whether the reader has to stop, as far as it has seen.
func (l *line) full(slots int, bytes int) bool {
	return l.tail-l.seenHead >= uint64(slots) || l.seenHeld+l.unlisted >= int64(bytes)
}

// publish makes the reader's slots known. The lock is held.
func (l *line) publish() {
	l.published = l.tail
	l.held += l.unlisted
	l.unlisted = 0
	l.look()
}

// look updates what the reader knows. The lock is held.
func (l *line) look() { l.seenHead, l.seenHeld, l.expected = l.head, l.held, l.largest }

// weigh counts the reply of a slot in the place of what was expected. The lock
// is held.
func (l *line) weigh(sl *slot) {
	l.held += sl.weigh()
	l.largest = max(len(sl.reply), l.largest-l.largest/64)
}

// weighOwn is weigh for a slot that the reader has not published.
func (l *line) weighOwn(sl *slot) { l.unlisted += sl.weigh() }

// weigh returns by how much the size of the reply differs from what the slot
// was counted for.
func (sl *slot) weigh() int64 {
	was := sl.held
	sl.held = sl.args + len(sl.reply)
	return int64(sl.held - was)
}

// isReady reports whether a reply can go out. The lock is held.
func (l *line) isReady() bool {
	return l.head < l.published && (*l.place(l.head)).ready
}

// take appends to batch the slots at the head that are ready, some 64 KiB of
// replies at most, and marks them as not ready: whether they are, a claim will
// tell. They stay in the line. The lock is held.
func (l *line) take(batch []*slot) []*slot {
	size := 0
	for seq := l.head; seq < l.published && size < maxWrite; seq++ {
		sl := *l.place(seq)
		if !sl.ready {
			break
		}
		sl.ready = false
		size += len(sl.reply)
		batch = append(batch, sl)
	}
	return batch
}

// maxWrite is about how many bytes are claimed and written at once.
const maxWrite = 64 << 10

// drop takes n slots off at the head. The lock is held.
func (l *line) drop(n int) {
	for range n {
		p := l.place(l.head)
		l.held -= int64((*p).held)
		*p = nil
		l.head++
	}
	l.wakeReader()
}

// awaitRoom waits until slots were taken off, or the line is dead. The lock is
// held. Only the reader may call it.
func (l *line) awaitRoom() {
	if l.hasRoom == nil {
		l.hasRoom = sync.NewCond(&l.mu)
	}
	l.hasRoom.Wait()
}

// wakeReader ends awaitRoom. The lock is held.
func (l *line) wakeReader() {
	if l.hasRoom != nil {
		l.hasRoom.Signal()
	}
}

// takeTurn takes the turn to write if a reply or a message can go out and nobody
// else has it. The lock is held.
func (l *line) takeTurn() bool {
	if l.turn || !l.isReady() && len(l.pushes) == 0 {
		return false
	}
	l.turn = true
	return true
}

// over reports, once, that the line is empty and will stay so. The lock is
// held.
func (l *line) over() bool {
	if l.left || !l.ended || l.head != l.published {
		return false
	}
	l.left = true
	return true
}
