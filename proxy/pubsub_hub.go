package proxy

import (
	"sync"
	"sync/atomic"

	"redlock-proxy/redlock"
)

// Bounds of what clients subscribe to: per connection, and of all together in
// topics and in bytes of their names. Each topic is also one on every master.
const (
	maxListening  = 10_000
	maxTopics     = 100_000
	maxTopicBytes = 64 << 20
)

// hub knows which connections subscribe to what, and has one subscription on
// the bus for each topic that any does.
//
// A message passes several mutexes, always in this order: that of the bus, of
// the topic, of a connection's line. Nobody waits for a client under them.
type hub struct {
	bus *redlock.Bus

	mu     sync.Mutex
	topics map[redlock.Topic]*topic
	bytes  int // of names
	// patterns are those of topics that are patterns.
	patterns map[*topic]struct{}
}

// topic is a channel or a pattern that somebody subscribes to.
type topic struct {
	redlock.Topic
	sub *redlock.Subscription

	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener is the subscription of one connection to one topic.
type listener struct {
	s     *session
	topic *topic
	state atomic.Int32
}

// The states of a listener. It hears nothing until its acknowledgement is on
// the way to the client, and nothing more once it is to be closed: to a RESP2
// client a message after that would be the reply to its next command.
const (
	listenerNew int32 = iota
	listenerHears
	listenerClosed
)

func newHub(bus *redlock.Bus) *hub {
	return &hub{bus: bus, topics: map[redlock.Topic]*topic{}, patterns: map[*topic]struct{}{}}
}

// hasRoom reports whether so many more topics may be added.
func (h *hub) hasRoom(topics, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.topics)+topics <= maxTopics && h.bytes+bytes <= maxTopicBytes
}

// listen adds a subscription of s.
func (h *hub) listen(s *session, name redlock.Topic) *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[name]
	if t == nil {
		t = &topic{Topic: name, listeners: map[*listener]struct{}{}}
		t.sub = h.bus.Subscribe(name, t.receive)
		h.topics[name] = t
		h.bytes += len(name.Name)
		if name.Pattern {
			h.patterns[t] = struct{}{}
		}
	}
	l := &listener{s: s, topic: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners[l] = struct{}{}
	return l
}

// close ends the subscription.
func (l *listener) close() {
	l.state.Store(listenerClosed)
	h, t := l.s.srv.hub, l.topic
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	delete(t.listeners, l)
	last := len(t.listeners) == 0
	t.mu.Unlock()
	if last {
		delete(h.topics, t.Topic)
		delete(h.patterns, t)
		h.bytes -= len(t.Name)
		t.sub.Close()
	}
}

// receive passes a message on. The bus calls it.
func (t *topic) receive(m *redlock.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners {
		if l.state.Load() == listenerHears {
			l.s.srv.cfg.Metrics.deliveredTo()
			l.s.push(message{l, m})
		}
	}
}

// count is how many listen. Those whose connection is being closed do not.
func (t *topic) count() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners {
		if l.state.Load() != listenerClosed {
			n++
		}
	}
	return n
}

// subscribers returns how many connections subscribe to a channel by its name.
func (h *hub) subscribers(channel string) int {
	h.mu.Lock()
	t := h.topics[redlock.Topic{Name: channel}]
	h.mu.Unlock()
	if t == nil {
		return 0
	}
	return t.count()
}

// receivers returns how often a message in a channel is passed on here: a
// connection counts for each of its subscriptions that fit.
func (h *hub) receivers(channel string) int64 {
	n := h.subscribers(channel)
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.patterns {
		if t.Matches(channel) {
			n += t.count()
		}
	}
	return int64(n)
}

// channels returns the channels that fit a pattern, in no order.
func (h *hub) channels(fits func(name string) bool) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.topics {
		if !name.Pattern && fits(name.Name) {
			names = append(names, name.Name)
		}
	}
	return names
}

// counts returns the numbers of channels and of patterns.
func (h *hub) counts() (channels, patterns int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.topics) - len(h.patterns), len(h.patterns)
}
