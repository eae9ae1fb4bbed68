package redlock

import (
	"hash/maphash"
	"time"
)

// copies tells the copies of a message, which several masters send, from new
// messages with the same text. Nothing in a message tells: payloads belong to
// the clients, and other publishers do not know of proxies.
//
// The rule: what a master sends is a copy of the oldest equal message that was
// passed on within the window, while this master had the topic, and that it has
// not sent yet; if there is none it is new. So of n equal messages in a row n are passed on, whatever
// the order in which the masters' copies arrive.
//
// A copy that comes later than the window is passed on again. A new message is
// lost only if all its copies are taken for others that these masters owe, which
// they do if they missed an equal message just before: then it came from one
// master that has failed since. So what is owed is forgotten whenever a
// connection is lost.
type copies struct {
	seed   maphash.Seed
	window time.Duration
	byText map[uint64][]*passed // oldest first
	all    []*passed            // the same, oldest first
}

// passed is one message that was passed on.
type passed struct {
	text uint64
	at   time.Duration
	from uint64 // a bit for each master that has sent it
}

// maxPassed is how many are remembered. Copies of older ones are passed on.
const maxPassed = 1 << 16

func (c *copies) init(window time.Duration) {
	c.seed, c.window = maphash.MakeSeed(), window
	c.forget()
}

// forget makes every copy count as new.
func (c *copies) forget() { c.byText, c.all = make(map[uint64][]*passed), nil }

// isFirst reports whether what the master of that place, which has had the topic
// since a time, sends is to be passed on.
func (c *copies) isFirst(now time.Duration, place int, since time.Duration, m *Message) bool {
	c.expire(now - c.window)
	text, master := c.hash(m), uint64(1)<<(place%64)
	for _, p := range c.byText[text] {
		if p.from&master == 0 && p.at >= since {
			p.from |= master
			return false
		}
	}
	p := &passed{text: text, at: now, from: master}
	c.byText[text] = append(c.byText[text], p)
	c.all = append(c.all, p)
	return true
}

// expire forgets what was passed on before a time, and the oldest of too many.
func (c *copies) expire(before time.Duration) {
	n := max(0, len(c.all)-maxPassed+1)
	for n < len(c.all) && c.all[n].at < before {
		n++
	}
	for _, p := range c.all[:n] {
		if rest := c.byText[p.text][1:]; len(rest) > 0 {
			c.byText[p.text] = rest
		} else {
			delete(c.byText, p.text)
		}
	}
	clear(c.all[:n])
	if c.all = c.all[n:]; len(c.all) == 0 {
		c.all = nil
	}
}

func (c *copies) hash(m *Message) uint64 {
	return maphash.Comparable(c.seed, *m)
}
