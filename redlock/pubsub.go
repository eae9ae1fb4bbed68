package redlock

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Topic is what can be subscribed to: a channel, or a pattern of channels.
type Topic struct {
	Name    string
	Pattern bool
}

// Matches reports whether messages in a channel belong to the topic. In Redis
// not even the pattern * matches the channel with the empty name.
func (t Topic) Matches(channel string) bool {
	if !t.Pattern || channel == "" {
		return t.Name == channel
	}
	return MatchGlob(t.Name, channel)
}

// Message is one publication as a subscriber of Topic gets it.
type Message struct {
	Topic   Topic
	Channel string
	Payload string
}

// Bus carries messages between the clients of all proxies on the same masters.
//
// A message is published on every master, and has gone out once a quorum took
// it; a topic is subscribed to on every master, and a subscription is ready
// once a quorum has it. Two quorums share a master, so what is published after
// a subscription was ready arrives, as long as a quorum is up.
//
// It arrives from several masters. The first copy is passed on, later ones are
// dropped where they can be told: an equal message that another master sends
// within the op timeout is taken for a copy, see [copies]. Subscribers must
// expect a message twice, as after the loss of a connection to a master.
//
// Nothing here shares a connection, a queue or a mutex with lock operations.
// Connections are opened by the first use. A Bus over masters in memory
// delivers at once.
type Bus struct {
	log    *slog.Logger
	now    func() time.Duration
	need   int // the quorum
	links  []*busLink
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	first  sync.Once
	// unfinished are publications. None is added when closed is set.
	unfinished sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	topics  map[Topic]*Subscription
	waiting map[*readiness]struct{}
	copies  copies

	counted busCounters
}

// Subscription is the interest of one receiver in a topic.
type Subscription struct {
	bus     *Bus
	topic   Topic
	receive func(*Message)
}

// NewBus returns a bus within this process, for masters in memory.
func NewBus() *Bus {
	b := &Bus{topics: map[Topic]*Subscription{}, waiting: map[*readiness]struct{}{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// newBus returns a bus over the masters of a cluster.
func newBus(cfg *ClusterConfig) *Bus {
	b := NewBus()
	b.log, b.now, b.need = cfg.Logger, cfg.Clock.Now, len(cfg.Masters)/2+1
	b.copies.init(cfg.OpTimeout)
	for i := range cfg.Masters {
		b.links = append(b.links, newBusLink(b, i, &cfg.Masters[i]))
	}
	return b
}

// begin opens the connections when the bus is used for the first time.
func (b *Bus) begin() {
	b.first.Do(func() {
		for _, l := range b.links {
			b.ended.Go(l.run)
		}
	})
}

// close ends all connections, when the publications under way have ended.
func (b *Bus) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.unfinished.Wait()   // each ends in publishTimeout
	b.first.Do(func() {}) // nothing is begun any more
	b.cancel()
	b.ended.Wait()
}

// Subscribe begins to pass the messages of a topic to receive, one after the
// other, from any goroutine. receive must not block, nor call the bus. A topic
// has one subscription at a time: whoever has several receivers shares it.
func (b *Bus) Subscribe(topic Topic, receive func(*Message)) *Subscription {
	b.begin()
	s := &Subscription{bus: b, topic: topic, receive: receive}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.topics[topic] = s
	b.changed(topic)
	return s
}

// Close ends the subscription. A message that is on its way may still arrive.
func (s *Subscription) Close() {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.topics[s.topic] == s {
		delete(b.topics, s.topic)
		b.changed(s.topic)
	}
}

// changed tells the links that a topic came or went. The lock is held.
func (b *Bus) changed(topic Topic) {
	for _, l := range b.links {
		if l.up { // else all topics are looked at when it is
			l.changes = append(l.changes, topic)
			l.nudge()
		}
	}
}

// arrived passes on what a master sent, unless another one did before.
func (b *Bus) arrived(l *busLink, m *Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, since := b.topics[m.Topic], l.acked[m.Topic]
	switch {
	case s == nil:
	case b.copies.isFirst(b.now(), l.place, since, m):
		b.counted.received.Add(1)
		s.receive(m)
	default:
		b.counted.copies.Add(1)
	}
}

// deliver passes a message of this process to its subscribers.
func (b *Bus) deliver(channel, payload string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for topic, s := range b.topics {
		if topic.Matches(channel) {
			b.counted.received.Add(1)
			s.receive(&Message{Topic: topic, Channel: channel, Payload: payload})
		}
	}
}

// readyTimeout is how long a subscriber waits for a quorum of masters. Later
// it is told to go ahead: the topic is subscribed to as masters come back.
const readyTimeout = 2 * time.Second

// readiness is somebody who waits for a topic.
type readiness struct {
	topic Topic
	timer *time.Timer
	ready func()
}

// WhenReady calls ready once: at once if a quorum of masters has the
// subscription; when it has; or when that cannot be had at present, because too
// many masters are down, or after two seconds at the latest.
func (s *Subscription) WhenReady(ready func()) {
	b := s.bus
	b.mu.Lock()
	wait := !b.settled(s.topic)
	if wait {
		r := &readiness{topic: s.topic, ready: ready}
		b.waiting[r] = struct{}{}
		r.timer = time.AfterFunc(readyTimeout, func() { b.giveUp(r) })
	}
	b.mu.Unlock()
	if !wait {
		ready()
	}
}

// settled reports whether waiting for a quorum is over. The lock is held.
func (b *Bus) settled(topic Topic) bool {
	if len(b.links) == 0 || b.topics[topic] == nil {
		return true
	}
	has, may := 0, 0
	for _, l := range b.links {
		switch since, asked := l.acked[topic]; {
		case asked && since >= 0:
			has++
		case since != withheld && !l.down:
			may++
		}
	}
	return has >= b.need || has+may < b.need
}

func (b *Bus) giveUp(r *readiness) {
	b.mu.Lock()
	_, waits := b.waiting[r]
	delete(b.waiting, r)
	b.mu.Unlock()
	if waits {
		r.ready()
	}
}

// release tells those who wait for what is settled now. It must be called
// without the lock after anything that may settle a topic.
func (b *Bus) release() {
	var ready []func()
	b.mu.Lock()
	for r := range b.waiting {
		if b.settled(r.topic) {
			delete(b.waiting, r)
			r.timer.Stop()
			ready = append(ready, r.ready)
		}
	}
	b.mu.Unlock()
	for _, f := range ready {
		f()
	}
}
