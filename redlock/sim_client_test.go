package redlock

import (
	"fmt"
	"time"
)

var simKey = []byte("lock")

// How long a token is not to be used after its last use through another proxy: two
// op timeouts and a tick; and how long something that a lost connection may have
// left behind is looked for.
const (
	simRest = 101 * time.Millisecond
	simLate = answerTimeout + 2*simRest
)

// simPairs are what clients lock where they lock several keys: any two of them
// have a key in common, so still only one client can hold its own.
var simPairs = [][2][]byte{
	{simKey, []byte("second")}, {[]byte("second"), []byte("third")}, {[]byte("third"), simKey},
}

// over makes a swap of one key that of the client's keys.
func (c *simClient) over(s Swap) Swap {
	if !c.s.cfg.several {
		return s
	}
	s.Key, s.Other = c.pair[0], Leaf{Effect: Learn}
	s.And = []Part{{Key: c.pair[1], Token: s.Token, HasToken: s.HasToken, Absent: s.Absent, Mine: s.Mine}}
	return s
}

// simClient is a lock client: it acquires, holds, perhaps extends, releases.
// until is the end of what it believes to hold, counted as the design
// promises: from the reply on its socket.
type simClient struct {
	s       *sim
	index   int
	name    string
	attempt int // the number of the present token
	held    int // the last token that got the lock
	token   []byte
	ttl     int64
	until   time.Duration // entitled before this time
	since   time.Duration // of the entitlement
	sent    time.Duration // when the present request was sent
	asked   time.Duration // and the last acquire
	by      *simProxy     // that the lock was acquired through
	unknown []sending     // acquires whose reply never came
	got     bool          // the present token was granted some time
	renewed bool          // or somebody tried to extend it
	pair    [2][]byte     // its keys, where there are several
	turn    int           // counts acquires
	last    *simProxy     // of the last operation
	mixed   bool          // the present token was used again through another proxy, a second after another one
}

func newSimClient(s *sim, i int) *simClient {
	return &simClient{s: s, index: i, name: fmt.Sprintf("c%d", i), pair: simPairs[i%len(simPairs)]}
}

func (c *simClient) holds() bool { return c.s.now < c.until }

// step is what the client does next.
func (c *simClient) step() {
	s := c.s
	if s.now > s.cfg.length {
		if c.holds() {
			c.release()
		}
		return
	}
	if !c.holds() {
		c.acquire()
		return
	}
	left := c.until - s.now
	if c.ttl == lastTTL {
		left = s.cfg.length - s.now + time.Millisecond
	}
	switch {
	case s.chance(0.3):
		c.extend()
	case s.chance(0.2):
		c.read()
	case s.chance(0.15):
		c.wait(left) // lets it lapse
	case s.cfg.tokens == constantToken && left < time.Second:
		// A late release of a token that others use too is the client's own
		// fault, on one Redis as well.
		c.wait(left)
	default:
		c.release()
	}
}

func (c *simClient) wait(d time.Duration) { c.s.AfterFunc(d, c.step) }

// next comes again after a little while. A token that is used again gets two
// op timeouts to leave every queue and every wire: the README asks for that
// where the next use may go through another proxy.
func (c *simClient) next() {
	low := 0.0
	if c.usesTokensAgain() && (c.s.cfg.proxies > 1 || c.s.cfg.deaths) {
		low = 101
	}
	c.wait(c.s.between(low, low+60))
}

// usesTokensAgain reports whether a token of the client's own may be sent again after
// it was released, or not got.
func (c *simClient) usesTokensAgain() bool {
	return c.s.cfg.tokens == retriedTokens || c.s.cfg.tokens == renewingTokens
}

// proxy is one that lives, nil if none does.
func (c *simClient) proxy() *simProxy {
	first := c.s.rand.IntN(len(c.s.proxies))
	for i := range c.s.proxies {
		if p := c.s.proxies[(first+i)%len(c.s.proxies)]; !p.dead {
			return p
		}
	}
	return nil
}

func (c *simClient) newToken() {
	switch c.s.cfg.tokens {
	case uniqueTokens, retriedTokens:
		if c.s.cfg.tokens == retriedTokens && c.held == c.attempt-1 {
			return // the last one never got the lock: the same again
		}
		c.attempt, c.held = c.attempt+1, c.attempt
		c.mixed = false
		c.unknown, c.got, c.renewed = nil, false, false
		c.token = fmt.Appendf(nil, "%s-%d", c.name, c.attempt)
	case constantToken:
		c.token = []byte("1")
	default:
		c.token = []byte(c.name)
	}
	ttls := []int64{20, 60, 120, 300, 800}
	if c.s.cfg.tokens == constantToken {
		ttls = []int64{120, 1500, 2500}
	}
	if c.s.cfg.tokens == renewingTokens && c.ttl != 0 {
		return // as real clients do, with one TTL for one token
	}
	c.ttl = ttls[c.s.rand.IntN(len(ttls))]
	if c.s.end.began {
		c.ttl = lastTTL
	}
}

func (c *simClient) acquire() {
	c.newToken()
	swap := Swap{Key: simKey, Absent: Leaf{Effect: Set, Value: c.token, TTL: c.ttl}}
	if c.s.cfg.tokens == renewingTokens {
		swap.Token, swap.HasToken = c.token, true
		swap.Mine = Leaf{Effect: Expire, TTL: c.ttl}
	}
	c.asked = c.s.now
	c.s.end.sent(c)
	c.send("acquire", swap, c.acquired)
}

func (c *simClient) acquired(out *Outcome, replied bool) {
	s := c.s
	switch {
	case !replied && out != nil && out.Applied && s.chance(0.7) && s.cfg.tokens <= retriedTokens:
		c.unknown = append(c.unknown, sending{c.sent, c.ttl})
		c.wait2(s.between(0, 80), c.lookForOwn)
		return
	case !replied:
		c.unknown = append(c.unknown, sending{c.sent, c.ttl})
		c.next()
		return
	case !out.Applied:
		c.next()
		return
	}
	c.entitle(s.now, s.now, c.ttl, "acquire")
	c.next()
}

func (c *simClient) wait2(d time.Duration, f func()) { c.s.AfterFunc(d, f) }

// sending is an acquire whose reply never came.
type sending struct {
	at  time.Duration
	ttl int64
}

func (u sending) until() time.Duration { return u.at + time.Duration(u.ttl)*time.Millisecond }

// lookForOwn is a client whose reply got lost behind the proxy's socket: if it reads its own token it
// takes itself for the holder, from the time it had sent the request. With
// several such requests it cannot know which one it was.
func (c *simClient) lookForOwn() {
	c.send("look", readSwap(c.token), func(out *Outcome, replied bool) {
		var from sending
		for _, u := range c.unknown {
			if from.ttl == 0 || u.until() < from.until() {
				from = u
			}
		}
		if replied && out.Err == nil && out.Case == CaseMine && c.s.now < from.until() {
			c.entitle(c.s.now, from.at, from.ttl, "own token read")
		}
		c.next()
	})
}

// entitle checks the invariant: never two clients entitled at once.
func (c *simClient) entitle(now, from time.Duration, ttl int64, how string) {
	for _, o := range c.s.clients {
		if o != c && o.until > now {
			c.s.fault("%s holds %q until %v by %s, but %s holds %q until %v",
				c.name, c.token, from+time.Duration(ttl)*time.Millisecond, how, o.name, o.token, o.until)
		}
	}
	if !c.holds() {
		c.since = now
	}
	c.held = c.attempt
	c.s.count.grants++
	c.until = from + time.Duration(ttl)*time.Millisecond
	c.s.note("%s holds until %v by %s", c.name, c.until, how)
}

func (c *simClient) extend() {
	s := c.s
	ttl := c.ttl + int64(s.rand.IntN(100))
	// Whoever asks for less time must not count on more.
	until := min(c.until, s.now+time.Duration(ttl)*time.Millisecond)
	c.until, c.renewed = until, true
	swap := Swap{Key: simKey, Token: c.token, HasToken: true, Mine: Leaf{Effect: Expire, TTL: ttl}}
	c.send("extend", swap, func(out *Outcome, replied bool) {
		switch {
		case replied && out.Applied:
			c.entitle(s.now, s.now, ttl, "extend")
		case replied && out.Err == nil:
			if s.now < until {
				s.fault("%s was told that its lock is not its own while entitled", c.name)
			}
			c.until = 0
		}
		c.next()
	})
}

// release gives the lock up at once, whatever the answer will be.
func (c *simClient) release() {
	s := c.s
	until := c.until
	c.until = s.now
	// Through another proxy the release may overtake the acquire on one master.
	known := s.now > c.asked+simRest
	swap := Swap{Key: simKey, Token: c.token, HasToken: true, Mine: Leaf{Effect: Delete}}
	if s.cfg.tokens == uniqueTokens && until-s.now > 60*time.Millisecond && !s.cfg.several && s.chance(0.3) {
		swap = Swap{Key: simKey, Other: Leaf{Effect: Delete}, Wrong: Leaf{Effect: Delete}} // DEL
	}
	c.send("release", swap, func(out *Outcome, replied bool) {
		if replied && out.Err == nil && out.Applied && known {
			s.end.released(c)
		}
		if replied && out.Err == nil && !out.Applied && s.now < until && !c.mixed {
			s.fault("%s released in time and was told it was not the holder", c.name)
		}
		c.next()
	})
}

// read checks that a lock that is held is never reported as free.
func (c *simClient) read() {
	s := c.s
	until := c.until
	c.send("read", readSwap(c.token), func(out *Outcome, replied bool) {
		if replied && out.Err == nil && out.Case != CaseMine && s.now < until && c.until == until {
			s.fault("%s holds the lock, but a read says case %d", c.name, out.Case)
		}
		c.next()
	})
}

func readSwap(token []byte) Swap { return Swap{Key: simKey, Token: token, HasToken: true} }

// send starts an operation and brings the answer: replied is false if the
// client is gone before the reply, or the reply is lost behind the socket.
func (c *simClient) send(what string, swap Swap, then func(out *Outcome, replied bool)) {
	s, p := c.s, c.proxy()
	if what == "extend" && s.now < c.sent+simRest && p != c.last && c.last != nil {
		if p = c.last; p.dead { // it must not use the token through another one yet
			s.AfterFunc(c.sent+simRest-s.now, func() { then(nil, false) })
			return
		}
	}
	if !s.cfg.hasty && c.usesTokensAgain() && c.last != nil && p != c.last && !c.last.dead && s.now < c.sent+simLate && c.last.silent(c.sent) {
		p = c.last // nor for longer if a master did not answer there
	}
	c.mixed = c.mixed || c.last != nil && p != c.last && s.now < c.sent+simLate && s.cfg.tokens == retriedTokens
	c.sent = s.now
	if p == nil {
		s.AfterFunc(s.between(10, 100), func() { then(nil, false) })
		return
	}
	c.last = p
	q, op, over := p.quorum, &Op{Swap: c.over(swap)}, false
	p.sessions[c.index] = func() { // the proxy dies
		if !over {
			over = true
			then(nil, false)
		}
	}
	if s.chance(0.03) && !s.calm() {
		s.AfterFunc(s.between(0, 60), func() { // the client hangs up
			if !over && !p.dead {
				over = true
				s.note("%s hangs up", c.name)
				q.Abandon(op)
				then(nil, false)
			}
		})
	}
	seen := glimpse{}
	if what == "acquire" {
		seen = s.glimpse()
	}
	op.Done = func(op *Op) {
		s.AfterFunc(c.lineDelay(), func() {
			if over || !q.Claim(op) {
				return
			}
			over = true
			out := op.Outcome
			s.checkApplied(op, &out)
			c.checkDenied(seen, &out)
			if out.Applied && what == "acquire" {
				s.end.got(c)
				c.by = p
			}
			q.Settle(op)
			s.note("%s gets %s: case %d applied %v err %v", c.name, what, out.Case, out.Applied, out.Err)
			then(&out, !s.chance(0.05) || s.calm())
		})
	}
	s.note("%s sends %s %q", c.name, what, c.token)
	if what == "acquire" && c.onSharedConnection(p, op, &over) {
		return
	}
	q.Start(op, 0)
}

// onSharedConnection is where every other acquire of a client follows the last
// unanswered one of the same proxy as if on one connection. It reports whether the
// acquire was started.
func (c *simClient) onSharedConnection(p *simProxy, op *Op, over *bool) (started bool) {
	if c.turn++; c.turn%2 == 0 {
		return false
	}
	last := p.last
	p.last.op, p.last.over = op, over
	if last.op == nil || *last.over {
		return false
	}
	if p.quorum.Join(op, last.op, 0) {
		c.s.count.joined++
		return true
	}
	last.op.Follow()
	op.Ordered = true
	return false
}

// lineDelay is how long a finished reply waits for those before it.
func (c *simClient) lineDelay() time.Duration {
	if c.s.chance(0.1) && !c.s.calm() {
		return c.s.between(0, 60)
	}
	return 0
}

// checkApplied: no success without its quorum of masters that really did it.
func (s *sim) checkApplied(op *Op, out *Outcome) {
	f := op.flight.Load()
	if !out.Applied || f.class == classDelete {
		return
	}
	n, covered := 0, 0
	for _, m := range s.masters {
		if far, did := m.executed[f.cur]; did {
			n++
			if far || s.cfg.skip.horizon {
				covered++
			}
		}
	}
	need := f.cur.seats.need
	if n < need {
		s.fault("success reported, but only %d of %d masters did it", n, len(f.cur.votes))
	} else if covered < need && f.class != classRead && !s.cfg.skip.votes {
		s.fault("success reported, but the horizon covers it on only %d of %d masters", covered, n)
	}
}
