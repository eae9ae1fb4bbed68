package proxy

// hangUp is called when the client has closed its side of the connection. Most
// are gone then: a client whose patience ends closes the connection and releases
// over another one (rueidis does, when a context ends). So nothing that is
// unanswered may be sent to the masters again: it would come behind that
// release, and a lock be granted to nobody.
func (s *session) hangUp() {
	l := &s.line
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq := l.head; seq < l.tail; seq++ {
		sl := *l.place(seq)
		if sl.blockers > 0 || sl.starting {
			continue // not started, or just starting another operation
		}
		for op := range sl.ops {
			sl.followed(op)
		}
	}
}
