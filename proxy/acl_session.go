package proxy

import (
	"slices"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// forbidden answers a command that the user may not run, or not on these keys or
// channels. It reports false for all others, and for what is wrong in itself:
// that comes first.
func (s *session) forbidden(sl *slot, args [][]byte) bool {
	r := s.account.rights.Load()
	s.acting = r
	switch {
	case r == nil || !r.on:
		s.logOut()
		return false
	case r.all():
		return false
	}
	name, known := s.fullName(args)
	if !known || resp.ArityError(args) != "" {
		return false
	}
	d := r.denies(name, args)
	if d == notDenied {
		return false
	}
	text := d.errText(name)
	s.noteDenied(d, name, args)
	switch {
	case name == "exec":
		s.tx, text = transaction{}, "EXECABORT Transaction discarded because of: "+text
	case s.tx.open:
		s.tx.failed, s.tx.queue = true, nil
	}
	s.answer(sl, resp.AppendError(sl.reply, text))
	return true
}

// logOut is for a user who is gone.
func (s *session) logOut() {
	s.tx = transaction{}
	s.stopListening()
	s.set(func(c *client) { c.authed = false })
	s.tellGuard()
}

// queuedFault is why the transaction may not be run: the user's rights have
// changed since.
func (s *session) queuedFault(queue [][][]byte) string {
	r := s.rights()
	for _, args := range queue {
		name, _ := s.fullName(args)
		if d := r.denies(name, args); d != notDenied {
			s.noteDenied(d, name, args)
			return "EXECABORT Transaction discarded because of: " + d.errText(name) + ", which it had when the command was queued"
		}
	}
	return ""
}

// rights are those of the user now; none if there is no such user any more.
func (c *client) rights() *rights {
	if r := c.account.rights.Load(); r != nil {
		return r
	}
	return &rights{commands: map[string]bool{}}
}

// env is what the present command depends on, which was not forbidden.
func (s *session) env() *resp.Env { return s.acting.env }

// mayStay reports whether the connection may go on after a change of the users.
func (s *session) mayStay() bool {
	s.mu.Lock()
	a, authed := s.account, s.authed
	s.mu.Unlock()
	r := a.rights.Load()
	return !authed || r != nil && r.on
}

// silence makes connections hear nothing more in channels that they may not
// listen to any more, and returns them.
func (h *hub) silence() (ended []*session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		t.mu.Lock()
		for l := range t.listeners {
			if !l.s.mayStillListen(t.Topic) {
				l.state.Store(listenerClosed)
				ended = append(ended, l.s)
			}
		}
		t.mu.Unlock()
	}
	return ended
}

func (s *session) mayStillListen(topic redlock.Topic) bool {
	s.mu.Lock()
	a := s.account
	s.mu.Unlock()
	r := a.rights.Load()
	return r != nil && r.on && r.mayListen(topic)
}

// heedChange ends the connection if the user's rights were taken away while it
// subscribed.
func (s *session) heedChange(listeners []*listener) {
	if slices.ContainsFunc(listeners, func(l *listener) bool { return !s.mayStillListen(l.topic.Topic) }) {
		for _, l := range listeners {
			l.state.Store(listenerClosed)
		}
		s.drain()
	}
}
