//go:build linux

package caller

import (
	"context"
	"fmt"
	"time"

	"redlock-proxy/integration/torture/ledger"
)

// patience is how long a caller waits before it tries again.
const (
	leastPatience = 15 * time.Millisecond
	mostPatience  = 90 * time.Millisecond
)

// unique is what lock libraries do: a new token for each attempt, through any
// proxy.
func (c *caller) unique(ctx context.Context) {
	key, token, proxy := c.key(), c.token(), c.proxy()
	if c.chance(3) {
		c.shout(proxy, key, acquire(key, token, c.ttl())...)
		return
	}
	ttl := c.ttl()
	args := acquire(key, token, ttl)
	if c.chance(5) {
		args, ttl = []string{"SETNX", key, token}, DefaultTTL
	}
	if h := c.try(proxy, key, token, ttl, args); h != nil {
		c.hold(ctx, h)
		c.letGo(h)
		return
	}
	if c.chance(20) {
		c.do(c.proxy(), key, releases[0](key, token)...) // as Redlock libraries do
	}
	if c.chance(20) {
		c.do(c.proxy(), key, "GET", key)
	}
	c.sleep(leastPatience, mostPatience)
}

// try sends an acquire and notes the lock if it was granted.
func (c *caller) try(proxy int, key, token string, ttl time.Duration, args []string) *ledger.Hold {
	r := c.do(proxy, key, args...)
	if !r.yes() {
		return nil
	}
	return c.crew.Ledger.Grant(c.name, key, token, ttl, r.sent, r.arrived)
}

// hold uses a lock for some time: reads it wherever it likes, extends it through
// one proxy. An extend is answered when a majority has it; it may reach the last
// master after the next one that came through another proxy, and give the key
// its own TTL there. So between two proxies the token has to rest.
func (c *caller) hold(ctx context.Context, h *ledger.Hold) {
	extendBy := c.proxy()
	until := c.crew.Ledger.Now() + between(c.rand, 0, LongestTTL/2)
	for c.crew.Ledger.Now() < until && h.Left() > 0 && ctx.Err() == nil {
		switch n := c.rand.IntN(10); {
		case n < 4:
			c.sleep(10*time.Millisecond, 80*time.Millisecond)
		case n < 8:
			c.look(c.proxy(), h)
		default:
			c.extend(extendBy, h, c.ttl())
		}
		if c.chance(5) {
			c.rest()
			extendBy = c.proxy()
		}
	}
}

// look reads a lock: its holder must see it.
func (c *caller) look(proxy int, h *ledger.Hold) {
	queries := [][]string{{"GET", h.Key}, {"EXISTS", h.Key}, {"PTTL", h.Key}}
	args := queries[c.rand.IntN(len(queries))]
	r := c.do(proxy, h.Key, args...)
	if !r.known() || args[0] == "GET" && r.text == fmt.Sprintf("%q", h.Token) ||
		args[0] == "EXISTS" && r.text == ":1" || args[0] == "PTTL" && r.text[0] == ':' && r.text != ":-2" && r.text != ":-1" {
		return
	}
	h.Denied(r.sent, r.arrived, args[0]+" answered "+r.text)
}

func (c *caller) extend(proxy int, h *ledger.Hold, ttl time.Duration) {
	way := c.rand.IntN(len(extends))
	h.Extending(ttl)
	r := c.do(proxy, h.Key, extends[way](h.Key, h.Token, ttl)...)
	switch {
	case r.yes():
		h.Extended(ttl, r.sent, r.arrived)
	case r.no():
		h.Denied(r.sent, r.arrived, "an extend answered "+r.text)
	}
}

// letGo ends a lock in one of the ways in which locks end.
func (c *caller) letGo(h *ledger.Hold) {
	switch n := c.rand.IntN(10); {
	case n < 6:
		c.release(c.proxy(), h)
	case n < 7:
		h.GiveUp()
		c.shout(c.proxy(), h.Key, releases[0](h.Key, h.Token)...)
	case n < 8:
		c.line.close() // and never come back
		c.lapse(h)
	default:
		c.lapse(h)
	}
}

func (c *caller) release(proxy int, h *ledger.Hold) {
	way := releases[c.rand.IntN(len(releases))]
	h.GiveUp()
	r := c.do(proxy, h.Key, way(h.Key, h.Token)...)
	if r.no() {
		h.Denied(r.sent, r.arrived, "a release answered "+r.text)
	}
	for try := 0; !r.known() && try < 2; try++ {
		c.sleep(leastPatience, mostPatience)
		r = c.do(proxy, h.Key, way(h.Key, h.Token)...)
	}
}

// lapse waits until a lock is over.
func (c *caller) lapse(h *ledger.Hold) { time.Sleep(min(h.Left(), LongestTTL)) }

// deleting is unique, on keys that anybody deletes at any time.
func (c *caller) deleting(ctx context.Context) {
	if !c.chance(10) {
		c.unique(ctx)
		return
	}
	key := c.key()
	done := c.crew.Ledger.Erasing(key)
	r := c.do(c.proxy(), key, "DEL", key)
	if r.known() {
		done(0)
	} else {
		done(2 * c.crew.OpTimeout)
	}
	c.sleep(leastPatience, mostPatience)
}

// rest is how long a token is not used before it is used through another proxy.
func (c *caller) rest() { time.Sleep(2*c.crew.OpTimeout + 20*time.Millisecond) }

// retrying tries again with the same token until it has the lock.
func (c *caller) retrying(ctx context.Context) {
	key, token, ttl, proxy := c.key(), c.token(), c.ttl(), c.proxy()
	for ctx.Err() == nil {
		if h := c.try(proxy, key, token, ttl, acquire(key, token, ttl)); h != nil {
			c.hold(ctx, h)
			c.letGo(h)
			return
		}
		c.sleep(leastPatience, mostPatience)
		if c.chance(30) {
			c.rest()
			proxy = c.proxy()
		}
	}
}

// constant is a token that all have in common, through one proxy. So nobody
// may touch a lock that it may not have any more.
func (c *caller) constant(ctx context.Context) {
	const proxy, token = 0, "1"
	key, ttl := c.key(), c.ttl()
	h := c.try(proxy, key, token, ttl, acquire(key, token, ttl))
	if h == nil {
		c.sleep(leastPatience, mostPatience)
		return
	}
	safe := 10 * c.crew.OpTimeout
	for c.chance(60) && h.Left() > safe {
		c.look(proxy, h)
		c.sleep(leastPatience, mostPatience)
	}
	switch {
	case h.Left() > safe && c.chance(60):
		c.releaseOnce(proxy, h)
	default:
		c.lapse(h)
	}
}

// renewing has one token for ever, with which it acquires and renews by the same
// script, through one proxy.
func (c *caller) renewing(ctx context.Context) {
	proxy, token := c.number%len(c.crew.Proxies), c.name
	key, ttl := c.key(), c.ttl()
	h := c.try(proxy, key, token, ttl, renew(key, token, ttl))
	if h == nil {
		c.sleep(leastPatience, mostPatience)
		return
	}
	for c.chance(60) && h.Left() > 0 {
		ttl := c.ttl()
		h.Extending(ttl)
		r := c.do(proxy, key, renew(key, token, ttl)...)
		switch {
		case r.yes():
			h.Extended(ttl, r.sent, r.arrived)
		case r.no():
			h.Denied(r.sent, r.arrived, "a renewal answered "+r.text)
		}
		c.look(proxy, h)
	}
	if c.chance(60) {
		c.releaseOnce(proxy, h)
		return
	}
	c.lapse(h)
}

// releaseOnce is for a token that will be used again: if it is not known what
// became of the release, it has to rest.
func (c *caller) releaseOnce(proxy int, h *ledger.Hold) {
	h.GiveUp()
	r := c.do(proxy, h.Key, releases[0](h.Key, h.Token)...)
	switch {
	case r.no():
		h.Denied(r.sent, r.arrived, "a release answered "+r.text)
	case !r.known():
		c.rest()
	}
}
