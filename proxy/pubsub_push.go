package proxy

import (
	"errors"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// Messages go to a connection beside its line of replies: whoever has the turn
// to write appends those that wait to the replies that are ready, so they come
// between two replies, and a message never waits for a command that is on its
// way to the masters.

// message is one message on its way to one subscriber. Subscribers share what
// the bus delivered.
type message struct {
	to *listener
	*redlock.Message
}

// messageOverhead is about what a waiting message costs beside its text.
const messageOverhead = 64

func (m *message) size() int { return messageOverhead + len(m.Channel) + len(m.Payload) }

var errUnread = errors.New("too many messages wait to be read")

// push hands a message to the connection. It never blocks. A client for which
// more than Config.MaxPushed bytes wait is cut off; Redis's default is the same,
// over a minute.
func (s *session) push(m message) {
	l := &s.line
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return
	}
	l.pushes = append(l.pushes, m)
	l.pushed += m.size()
	s.weigh()
	slow := l.pushed > s.srv.cfg.MaxPushed && len(l.pushes) > 1
	mine := false
	if slow {
		mine = l.kill()
	} else {
		mine = l.takeTurn()
	}
	l.mu.Unlock()
	switch {
	case slow:
		go s.cutOff(mine)
	case mine:
		go s.writeSoon()
	}
}

// cutOff is the rest of [session.kill] for a client that does not read.
func (s *session) cutOff(mine bool) {
	s.noteSlow(errUnread)
	s.conn.Close()
	if mine {
		s.bury()
	}
}

// takePushes appends to list the messages that wait, some 64 KiB at most. The
// lock is held.
func (l *line) takePushes(list []message) []message {
	n, size := 0, 0
	for n < len(l.pushes) && size < maxWrite {
		size += l.pushes[n].size()
		n++
	}
	list = append(list, l.pushes[:n]...)
	clear(l.pushes[:n])
	l.pushed -= size
	if l.pushes = l.pushes[n:]; len(l.pushes) == 0 {
		l.pushes = nil
	}
	return list
}

// addMessages puts the messages that were taken into the writer's buffer,
// except those that are not wanted any more.
func (s *session) addMessages() {
	for i := range s.messages {
		if m := &s.messages[i]; m.to.state.Load() == listenerHears {
			s.out.buf = m.append(s.out.buf, s.pushProto)
		}
	}
	clear(s.messages)
	s.messages = s.messages[:0]
}

// append appends the message as Redis sends it.
func (m *message) append(dst []byte, proto int) []byte {
	if m.Topic.Pattern {
		dst = resp.AppendPush(dst, proto, 4)
		dst = resp.AppendBulkString(dst, "pmessage")
		dst = resp.AppendBulkString(dst, m.Topic.Name)
	} else {
		dst = resp.AppendPush(dst, proto, 3)
		dst = resp.AppendBulkString(dst, "message")
	}
	dst = resp.AppendBulkString(dst, m.Channel)
	return resp.AppendBulkString(dst, m.Payload)
}

// acknowledged lets the subscriptions of a claimed reply hear from now on.
func (sl *slot) acknowledged() {
	for _, l := range sl.listeners {
		l.state.CompareAndSwap(listenerNew, listenerHears)
	}
}

// tell publishes what the script or transaction of the slot does, once for each
// time it is decided.
func (sl *slot) tell() {
	if sl.told {
		return
	}
	sl.told = true
	for _, p := range sl.lock.Publications() {
		sl.s.srv.hub.bus.Publish(string(p.Channel), string(p.Payload), nil)
	}
}

// isFinal reports whether the outcome holds whatever becomes of the reply, as
// that of a release does: then nobody who waits for its message has to wait for
// the replies before it, or suffers if the client is gone. What created or
// extended a lock holds once it is claimed.
func (sl *slot) isFinal() bool {
	for i := range sl.ops {
		op := &sl.ops[i]
		deletes := len(op.Swap.And) == 0 && op.Swap.Leaf(op.Outcome.Case).Effect == redlock.Delete
		if op.Outcome.Applied && !deletes {
			return false
		}
	}
	return true
}
