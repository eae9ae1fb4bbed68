package proxy

// A session ends in one of two ways. Usually the reader ends (the client quit,
// closed its side, or the server shuts down), the replies still owed go out,
// and whoever writes the last one takes leave. Or the connection is found to be
// of no use: then it is dead, and what is unanswered is undone.

// end is the reader's last deed.
func (s *session) end() {
	l := &s.line
	l.mu.Lock()
	l.ended = true
	leave := l.over()
	l.mu.Unlock()
	if leave {
		s.leave()
	}
}

// leave closes the connection of a session that is over.
func (s *session) leave() {
	if s.draining.Load() || s.parting.Load() {
		s.srv.lingering.Add(1)
		go s.linger()
	} else {
		s.conn.Close()
	}
	s.stopListening()
	s.srv.leave(s)
}

// kill ends the session at once. Any goroutine may call it.
func (s *session) kill() {
	l := &s.line
	l.mu.Lock()
	mine := l.kill()
	l.mu.Unlock()
	s.conn.Close()
	if mine {
		s.bury()
	}
}

// fail is kill for whoever has the turn.
func (s *session) fail() {
	s.line.mu.Lock()
	s.line.die()
	s.line.mu.Unlock()
	s.conn.Close()
	s.bury()
}

// bury abandons what is unanswered in a dead line. The caller has the turn,
// which nobody gets after it.
func (s *session) bury() {
	l := &s.line
	l.mu.Lock()
	l.drop(s.settled)
	lost := l.clear()
	leave := l.over()
	l.mu.Unlock()
	s.batch, s.settled = nil, 0
	abandon(lost)
	if leave {
		s.leave()
	}
}

// abandon undoes the operations of slots that will never be answered.
func abandon(slots []*slot) {
	for _, sl := range slots {
		sl.abandon()
	}
}

// kill marks the line as dead and takes the turn for good. It reports whether
// nobody had it, so that the caller has to bury the session. The lock is held.
func (l *line) kill() bool {
	mine := !l.turn
	l.turn = true
	l.die()
	return mine
}

// die marks the line as dead. The lock is held.
func (l *line) die() {
	l.dead = true
	l.pushes, l.pushed = nil, 0
	l.wakeReader()
}

// clear empties a dead line of its published slots and returns those whose
// operations are to be abandoned. The lock is held.
func (l *line) clear() []*slot {
	lost := l.started(l.head, l.published)
	l.head = l.published
	return lost
}

// withdraw is clear for the slots that the reader has not published.
func (l *line) withdraw() []*slot {
	lost := l.started(l.published, l.tail)
	l.tail = l.published
	return lost
}

// started returns the slots of a range whose operations are started. What is
// being started just now is left to whoever does that, see [session.begun].
func (l *line) started(from, to uint64) []*slot {
	var list []*slot
	for seq := from; seq < to; seq++ {
		if sl := *l.place(seq); sl.blockers == 0 && !sl.starting {
			list = append(list, sl)
		}
	}
	return list
}
