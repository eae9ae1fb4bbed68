package redlock

import (
	"fmt"
	"sync"
	"time"
)

// publishTimeout bounds a publication. It is longer than an op timeout, for the
// first one has to wait for connections, and one that comes late still wakes
// somebody up.
const publishTimeout = time.Second

// Bounds of what waits to be published on one master.
const (
	maxUnpublished      = 4096
	maxUnpublishedBytes = 32 << 20
)

// publication is one message on its way to the masters.
type publication struct {
	bus              *Bus
	channel, payload string
	deadline         time.Duration
	need, masters    int

	mu        sync.Mutex
	took      int // masters that have it
	failed    int
	reason    string // why the last one failed
	receivers int64  // the largest number that a master told
	done      func(receivers int64, err error)
	timer     *time.Timer
}

func (p *publication) size() int { return len(p.channel) + len(p.payload) + 64 }

// Publish sends a message to the subscribers of all proxies on the masters, and
// to whoever else subscribes there. done is called once, by any goroutine and
// possibly before Publish returns, and may be nil: when a quorum of masters has
// the message, with the largest number of receivers that one of them told; or
// with an error when a quorum cannot be had, after a second at the latest. Some
// may have received it then.
func (b *Bus) Publish(channel, payload string, done func(receivers int64, err error)) {
	if done == nil {
		done = func(int64, error) {}
	}
	if len(b.links) == 0 {
		b.deliver(channel, payload)
		b.counted.published.Add(1)
		done(0, nil)
		return
	}
	p := &publication{
		bus: b, channel: channel, payload: payload, done: done,
		deadline: b.now() + publishTimeout, need: b.need, masters: len(b.links),
	}
	if !b.begins() {
		b.counted.unpublished.Add(1)
		done(0, errClosed)
		return
	}
	b.begin()
	p.mu.Lock()
	p.timer = time.AfterFunc(publishTimeout, p.tooLate)
	p.mu.Unlock()
	for _, l := range b.links {
		if why := l.push(p); why != "" {
			p.missed(l, why)
		}
	}
}

// begins counts one more publication, unless the bus is closed.
func (b *Bus) begins() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.unfinished.Add(1)
	}
	return !b.closed
}

// published notes that a master has the message.
func (p *publication) published(receivers int64) {
	p.mu.Lock()
	p.took++
	p.receivers = max(p.receivers, receivers)
	receivers = p.receivers
	finish := p.finish(p.took >= p.need)
	p.mu.Unlock()
	if finish != nil {
		p.bus.counted.published.Add(1)
		finish(receivers, nil)
	}
}

// missed notes that a master does not get the message.
func (p *publication) missed(l *busLink, why string) {
	p.mu.Lock()
	p.failed++
	p.reason = fmt.Sprintf("%s: %s", l.addr.Address, why)
	err := p.error()
	finish := p.finish(p.failed > p.masters-p.need)
	p.mu.Unlock()
	if finish != nil {
		p.bus.counted.unpublished.Add(1)
		finish(0, err)
	}
}

func (p *publication) tooLate() {
	p.mu.Lock()
	if p.reason == "" {
		p.reason = fmt.Sprintf("no answer for %v", publishTimeout)
	}
	err := p.error()
	finish := p.finish(true)
	p.mu.Unlock()
	if finish != nil {
		p.bus.counted.unpublished.Add(1)
		finish(0, err)
	}
}

// finish returns what is to be called, without the lock, if the publication
// ends now. The lock is held.
func (p *publication) finish(ends bool) func(int64, error) {
	if !ends || p.done == nil {
		return nil
	}
	p.timer.Stop()
	p.bus.unfinished.Done()
	done := p.done
	p.done = nil
	return done
}

// PublishError says that no quorum of masters took a message. Who subscribes on
// those that did has received it.
type PublishError struct {
	Masters, Need, Took int
	Reason              string // of one master that did not
}

// Error is the text behind "-NOQUORUM ".
func (e *PublishError) Error() string {
	return fmt.Sprintf("%d of %d masters took the message, %d needed; %s", e.Took, e.Masters, e.Need, e.Reason)
}

func (p *publication) error() error {
	return &PublishError{Masters: p.masters, Need: p.need, Took: p.took, Reason: p.reason}
}

// outbox is what waits to be published on one master.
type outbox struct {
	wake chan struct{}

	mu     sync.Mutex
	closed string // why nothing is taken at present
	list   []*publication
	bytes  int
}

// push adds a publication, or says why it cannot.
func (o *outbox) push(p *publication) (refused string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed != "":
		return o.closed
	case len(o.list) >= maxUnpublished || o.bytes > maxUnpublishedBytes:
		return "too many messages wait for it"
	}
	o.list = append(o.list, p)
	o.bytes += p.size()
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return ""
}

// open says that publications are taken again.
func (o *outbox) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = ""
}

// take returns what waits, and says from now on why nothing more is taken,
// unless that is empty.
func (o *outbox) take(closed string) []*publication {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list, o.bytes, o.closed = nil, 0, closed
	return list
}
