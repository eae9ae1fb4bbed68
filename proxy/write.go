package proxy

import (
	"runtime"
	"time"
)

// The functions in this file move replies from the line to the socket. One
// goroutine at a time has the turn to do so; it keeps it until nothing at the
// head of the line is ready. Whoever completes what is at the head takes the
// turn if it is free.

// completed notes that the reply of a slot is there. Any goroutine may call it,
// and must not touch the slot afterwards.
func (s *session) completed(sl *slot) {
	l := &s.line
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return
	}
	sl.ready = true
	l.weigh(sl)
	s.weigh()
	runnable := sl.unblock(nil)
	mine := l.takeTurn()
	alone := l.published-l.head == 1
	l.mu.Unlock()
	if len(runnable) > 0 {
		s.begin(runnable)
	}
	switch {
	case !mine:
	case alone:
		s.write(1)
	default:
		// More of the same connection may be done in a moment, by the caller
		// even: they share a write.
		go s.writeSoon()
	}
}

// writeSoon writes what is ready when everybody else has had a go.
func (s *session) writeSoon() {
	runtime.Gosched()
	s.write(allBatches)
}

const allBatches = -1

// publish makes public what the reader has started, and writes what is ready.
// It reports whether the connection is still of use.
func (s *session) publish() bool {
	l := &s.line
	l.mu.Lock()
	if l.dead {
		lost := l.withdraw()
		l.mu.Unlock()
		abandon(lost)
		return false
	}
	l.publish()
	l.aside = s.tx.held(l.seenHead)
	s.weigh()
	mine := l.takeTurn()
	l.mu.Unlock()
	if mine {
		s.engage(true)
		s.write(allBatches)
		s.engage(false)
	}
	return true
}

// awaitRoom publishes, and waits until the line is short enough for the reader
// to go on. It reports whether the connection is still of use.
func (s *session) awaitRoom() bool {
	if !s.publish() {
		return false
	}
	l, cfg := &s.line, &s.srv.cfg
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.look(); l.full(cfg.MaxInFlight, cfg.MaxInFlightSize) && !l.dead; l.look() {
		l.awaitRoom()
	}
	return !l.dead
}

// write writes so many batches of what is ready, and leaves more of them, like
// what the socket does not take, to a goroutine. The caller has the turn, and
// has it no more when write returns. It never waits for the client.
func (s *session) write(batches int) {
	for ; s.gather(); batches-- {
		if batches == 0 {
			go s.writeOut()
			return
		}
		err := s.out.try()
		s.settle()
		switch {
		case err != nil:
			s.fail()
			return
		case !s.out.empty():
			go s.writeOut()
			return
		}
		s.drop()
	}
}

// writeOut writes what is claimed, waiting for the client, and goes on.
func (s *session) writeOut() {
	s.weighOutgoing()
	for !s.out.empty() {
		err := s.out.wait(s.srv.cfg.WriteTimeout, s.stillValid)
		s.settle()
		if err != nil {
			s.noteSlow(err)
			s.fail()
			return
		}
	}
	s.drop()
	s.write(allBatches)
}

// gather claims replies and hands them, and messages, to the writer. If there
// are none to write, the turn is over and it returns false.
func (s *session) gather() bool {
	for s.takeBatch() {
		s.addMessages() // before replies, for an UNSUBSCRIBE may be among them
		s.claim()
		if len(s.batch) > 0 || !s.out.empty() {
			return true
		}
	}
	return false
}

// takeBatch takes up what is ready. With nothing ready it ends the turn.
func (s *session) takeBatch() bool {
	l := &s.line
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		s.bury()
		return false
	}
	s.batch = l.take(s.batch[:0])
	s.messages = l.takePushes(s.messages)
	more := len(s.batch)+len(s.messages) > 0
	l.turn = more
	leave := !more && l.over()
	l.mu.Unlock()
	if leave {
		s.leave()
	}
	return more
}

// claim puts the replies that hold now into the writer's buffer. The first one
// that does not ends the batch: it is going to be completed again.
func (s *session) claim() {
	for i, sl := range s.batch {
		if !sl.claim() {
			s.putBack(s.batch[i+1:])
			s.batch = s.batch[:i]
			return
		}
		sl.acknowledged()
		s.pushProto = sl.proto
		sl.end = s.out.add(sl.reply)
	}
}

// putBack leaves slots that were not claimed for a later batch.
func (s *session) putBack(slots []*slot) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	for _, sl := range slots {
		sl.ready = true
	}
}

// stillValid reports whether what was claimed, but is not in the socket yet,
// may still be sent.
func (s *session) stillValid() bool {
	for _, sl := range s.batch[s.settled:] {
		if !sl.valid() {
			return false
		}
	}
	return true
}

// settle settles what is in the socket.
func (s *session) settle() {
	now := time.Now()
	for s.settled < len(s.batch) && s.batch[s.settled].end <= s.out.written {
		s.batch[s.settled].settle(now)
		s.settled++
	}
}

// drop takes the batch, which is written, off the line.
func (s *session) drop() {
	l := &s.line
	l.mu.Lock()
	l.drop(len(s.batch))
	l.outgoing = 0
	s.weigh()
	var runnable []*slot
	for _, sl := range s.batch {
		sl.ready = true // for good: nothing has to wait for it
		runnable = sl.unblock(runnable)
	}
	l.mu.Unlock()
	for _, sl := range s.batch {
		sl.release()
		s.srv.slots.Put(sl)
	}
	s.batch, s.settled = s.batch[:0], 0
	s.out.reset()
	s.begin(runnable)
}
