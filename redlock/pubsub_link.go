package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// busLink publishes and subscribes on one master, by two connections of their
// own that are opened and given up together.
type busLink struct {
	outbox
	bus   *Bus
	place int
	addr  *MasterAddr
	topic chan struct{} // there may be changes

	// Guarded by bus.mu.
	up   bool // connected
	down bool // the last try to connect failed
	// acked is since when the master has a topic that it was asked for on the
	// present connection; or notYet, or withheld.
	acked   map[Topic]time.Duration
	told    bool    // it was logged that it withholds topics
	changes []Topic // while up: came or went since they were last looked at
}

// What acked says of a topic that the master does not have.
const (
	notYet   time.Duration = -1
	withheld time.Duration = -2
)

func newBusLink(b *Bus, place int, addr *MasterAddr) *busLink {
	return &busLink{
		outbox: outbox{wake: make(chan struct{}, 1)},
		bus:    b, place: place, addr: addr,
		topic: make(chan struct{}, 1), acked: map[Topic]time.Duration{},
	}
}

// nudge says that there are changes.
func (l *busLink) nudge() {
	select {
	case l.topic <- struct{}{}:
	default:
	}
}

// run keeps a connection until the bus is closed.
func (l *busLink) run() {
	ctx, now := l.bus.ctx, l.bus.now
	backoff := firstBackoff
	for ctx.Err() == nil {
		since := now()
		if err := l.serve(ctx); err != nil {
			l.failed(err.Error())
		}
		if now()-since > lastBackoff {
			backoff = firstBackoff
		}
		pause(ctx, backoff)
		backoff = min(2*backoff, lastBackoff)
	}
	l.failed("closed")
}

// serve connects, and returns when the connection is gone. The error says why
// there was none.
func (l *busLink) serve(ctx context.Context) error {
	w, err := dialBus(ctx, l.addr)
	if err != nil {
		return err
	}
	l.opened()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.listen(w)
	}()
	l.speak(w)
	<-ended
	w.client.Close()
	l.lost(w.why)
	return nil
}

// opened takes up a new connection, on which all topics are to be asked for.
func (l *busLink) opened() {
	b := l.bus
	b.mu.Lock()
	l.up, l.down = true, false
	for topic := range b.topics {
		l.changes = append(l.changes, topic)
	}
	b.mu.Unlock()
	l.open()
	l.nudge()
}

// lost forgets what the connection was asked for. What is published meanwhile
// waits for the next one.
func (l *busLink) lost(why string) {
	b := l.bus
	b.mu.Lock()
	clear(l.acked)
	l.up, l.changes = false, nil
	b.copies.forget()
	b.mu.Unlock()
	if b.ctx.Err() == nil {
		b.log.Warn("publish/subscribe connection to master lost", "master", l.addr.Address, "reason", why)
	}
}

// failed notes that there is no connection to be had at present.
func (l *busLink) failed(why string) {
	b := l.bus
	b.mu.Lock()
	news := !l.down
	l.down = true
	b.mu.Unlock()
	if news && b.ctx.Err() == nil {
		b.log.Warn("no publish/subscribe connection to master", "master", l.addr.Address, "reason", why)
	}
	for _, p := range l.take(why) {
		p.missed(l, why)
	}
	b.release()
}

// speak publishes until the connection is gone.
func (l *busLink) speak(w *busWire) {
	for {
		select {
		case <-l.wake:
		case <-w.gone:
			return
		}
		if list := l.take(""); len(list) > 0 {
			l.publish(w, list)
		}
	}
}

// publish sends one batch and waits for the answers.
func (l *busLink) publish(w *busWire, list []*publication) {
	ctx, cancel := context.WithTimeout(w.ctx, answerTimeout)
	defer cancel()
	now := l.bus.now()
	var sent []*publication
	var commands rueidis.Commands
	for _, p := range list {
		if p.deadline < now {
			p.missed(l, "no connection in time")
			continue
		}
		sent = append(sent, p)
		commands = append(commands, w.client.B().Publish().Channel(p.channel).Message(p.payload).Build())
	}
	if len(sent) == 0 {
		return
	}
	for i, r := range w.client.DoMulti(ctx, commands...) {
		receivers, err := r.AsInt64()
		if err != nil {
			sent[i].missed(l, err.Error())
			continue
		}
		sent[i].published(receivers)
	}
	if ctx.Err() != nil {
		w.lose("no answer in time")
	}
}

// listen asks for topics, and for those that go to be taken off, until the
// connection is gone.
func (l *busLink) listen(w *busWire) {
	var ear rueidis.DedicatedClient
	for {
		select {
		case <-l.topic:
		case <-w.gone:
			return
		}
		c := l.look()
		if len(c.channels)+len(c.patterns) > 0 && ear == nil {
			ear, _ = w.client.Dedicate()
			defer ear.Close()
			ear.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: l.message, OnSubscription: l.subscribed})
		}
		if ear == nil {
			continue
		}
		if err := l.ask(w.ctx, ear, &c); err != nil {
			w.lose(err.Error())
			return
		}
		l.bus.release()
	}
}

// changes are topics to be asked for and to be taken off.
type changes struct {
	channels, patterns       []string
	oldChannels, oldPatterns []string
}

// look compares what is asked for with what is wanted.
func (l *busLink) look() (c changes) {
	b := l.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, topic := range l.changes {
		_, asked := l.acked[topic]
		wanted := b.topics[topic] != nil
		switch {
		case wanted && !asked:
			l.acked[topic] = notYet
			c.add(topic, &c.channels, &c.patterns)
		case !wanted && asked:
			delete(l.acked, topic)
			c.add(topic, &c.oldChannels, &c.oldPatterns)
		}
	}
	l.changes = nil
	return c
}

func (c *changes) add(topic Topic, channels, patterns *[]string) {
	if topic.Pattern {
		channels = patterns
	}
	*channels = append(*channels, topic.Name)
}

// topicsAtOnce bounds the length of one command.
const topicsAtOnce = 256

// ask tells the master. It returns when the last command is answered, though
// maybe not yet for all of its topics; the error says that the connection is of
// no use.
func (l *busLink) ask(ctx context.Context, ear rueidis.DedicatedClient, c *changes) error {
	for _, kind := range []struct {
		names   []string
		pattern bool
		command func(names []string) rueidis.Completed
	}{
		{c.oldChannels, false, func(names []string) rueidis.Completed { return ear.B().Unsubscribe().Channel(names...).Build() }},
		{c.oldPatterns, true, func(names []string) rueidis.Completed { return ear.B().Punsubscribe().Pattern(names...).Build() }},
		{c.channels, false, func(names []string) rueidis.Completed { return ear.B().Subscribe().Channel(names...).Build() }},
		{c.patterns, true, func(names []string) rueidis.Completed { return ear.B().Psubscribe().Pattern(names...).Build() }},
	} {
		for names := range slices.Chunk(kind.names, topicsAtOnce) {
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			err := ear.Do(ctx, kind.command(names)).Error()
			cancel()
			if _, answered := rueidis.IsRedisErr(err); answered {
				l.deny(names, kind.pattern, err)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// deny notes that the master does not let us have topics.
func (l *busLink) deny(names []string, pattern bool, err error) {
	b := l.bus
	b.mu.Lock()
	for _, name := range names {
		topic := Topic{Name: name, Pattern: pattern}
		if _, asked := l.acked[topic]; asked {
			l.acked[topic] = withheld
		}
	}
	news := !l.told
	l.told = true
	b.mu.Unlock()
	if news {
		b.log.Warn("master refuses subscriptions, so messages may not arrive; if it is for lack of permission give the user the channels: ACL SETUSER … &*",
			"master", l.addr.Address, "reason", err)
	}
}

// message is called by rueidis.
func (l *busLink) message(m rueidis.PubSubMessage) {
	topic := Topic{Name: m.Channel}
	if m.Pattern != "" {
		topic = Topic{Name: m.Pattern, Pattern: true}
	}
	l.bus.arrived(l, &Message{Topic: topic, Channel: m.Channel, Payload: m.Message})
}

// subscribed is called by rueidis when the master has, or has given up, a
// topic.
func (l *busLink) subscribed(s rueidis.PubSubSubscription) {
	topic := Topic{Name: s.Channel}
	switch s.Kind {
	case "subscribe":
	case "psubscribe":
		topic.Pattern = true
	default:
		return
	}
	b := l.bus
	b.mu.Lock()
	_, asked := l.acked[topic]
	if asked {
		l.acked[topic] = b.now()
	}
	b.mu.Unlock()
	if asked {
		b.release()
	}
}
