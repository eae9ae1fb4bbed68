package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var scenarios = []scenario{
	{name: "acquire-free", play: (*play).acquireFree},
	{name: "acquire-held", play: (*play).acquireHeld},
	{name: "release-own", play: (*play).releaseOwn},
	{name: "release-other", play: (*play).releaseOther},
	{name: "release-after-lapse", play: (*play).releaseAfterLapse},
	{name: "extend-own", play: (*play).extendOwn},
	{name: "extend-after-lapse", play: (*play).extendAfterLapse},
	{name: "query-owned", play: (*play).queryOwned},
	{name: "lapse-hands-over", play: (*play).lapseHandsOver},
	{name: "contention", play: (*play).contention, slow: true},
	{name: "master-killed", play: (*play).masterKilled, slow: true},
	{name: "proxy-restarted", play: (*play).proxyRestarted, slow: true},
}

func (p *play) acquireFree() {
	c := p.client()
	p.wants(c.lock(p.name, lockTTL).try(), acquired)
	ttl, err := p.server.pttl(c.key(p.name))
	if most := int(lockTTL.Milliseconds()); err != nil || ttl <= 0 || ttl > most+1000 {
		p.fail("PTTL %d, %v", ttl, err)
	}
}

func (p *play) acquireHeld() {
	p.wants(p.lock(lockTTL).try(), acquired)
	p.refused(p.lock(lockTTL).try())
}

func (p *play) releaseOwn() {
	a := p.lock(lockTTL)
	p.wants(a.try(), acquired)
	p.wants(a.release(), released)
	p.wants(p.lock(lockTTL).try(), acquired)
}

func (p *play) releaseOther() {
	a, b := p.lock(lockTTL), p.lock(p.lib.short)
	p.wants(b.try(), acquired)
	sleep(p.lib.short)
	p.wants(a.try(), acquired)
	p.sees(b.release())
	p.refused(p.lock(lockTTL).try())
}

func (p *play) releaseAfterLapse() {
	a := p.lock(p.lib.short)
	p.wants(a.try(), acquired)
	sleep(p.lib.short)
	p.sees(a.release())
}

func (p *play) extendOwn() {
	a := p.lock(p.lib.short)
	p.wants(a.try(), acquired)
	p.wants(a.extend(lockTTL), extended)
	sleep(p.lib.short)
	p.refused(p.lock(lockTTL).try())
}

func (p *play) extendAfterLapse() {
	a := p.lock(p.lib.short)
	p.wants(a.try(), acquired)
	sleep(p.lib.short)
	p.sees(a.extend(lockTTL))
	p.sees(p.lock(lockTTL).try())
}

func (p *play) queryOwned() {
	a := p.lock(lockTTL)
	p.sees(a.query())
	p.wants(a.try(), acquired)
	p.sees(a.query())
	p.wants(a.release(), released)
	p.sees(a.query())
}

func (p *play) lapseHandsOver() {
	a, b := p.lock(p.lib.short), p.lock(p.lib.short)
	began := time.Now()
	p.wants(a.try(), acquired)
	for b.try() != acquired {
		if time.Since(began) > p.lib.short+2*time.Second {
			p.fail("not handed over 2 s after the TTL")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	if time.Since(began) < p.lib.short {
		p.fail("handed over before the TTL was over")
	}
	p.sees("handed over")
}

func (p *play) contention() { p.contend(50, func(int) {}) }

// killAfter is the round of masterKilled after which a master is killed, of all
// callers together.
const killAfter = callers * 25 / 3

func (p *play) masterKilled() {
	p.contend(25, func(round int) {
		if round == killAfter {
			p.ask("/kill-master")
		}
	})
	p.ask("/heal")
}

func (p *play) ask(fault string) {
	if err := p.server.fault(fault); err != nil {
		p.fail("%v", err)
	}
}

const callers = 8

// contend lets callers, each with a client of its own, acquire and release one
// lock for so many rounds. after is called with the number of rounds that have
// ended.
func (p *play) contend(rounds int, after func(int)) {
	var inside, done atomic.Int32
	var all sync.WaitGroup
	for range callers {
		l := p.lock(lockTTL)
		all.Go(func() {
			for range rounds {
				began := time.Now()
				if word := l.wait(); word != acquired {
					p.fail("acquire: %s", word)
					return
				}
				if time.Since(began) > lockTTL*8/10 {
					p.fail("a caller waited as long as a TTL: a lock was held by nobody")
				}
				if inside.Add(1) > 1 {
					p.fail("two callers inside")
				}
				time.Sleep(time.Millisecond / 2)
				inside.Add(-1)
				if word := l.release(); word != released {
					p.fail("release: %s", word)
					return
				}
				after(int(done.Add(1)))
			}
		})
	}
	all.Wait()
	if done.Load() == int32(callers*rounds) {
		p.sees("all rounds ended")
	}
}

func (p *play) proxyRestarted() {
	a := p.lock(lockTTL)
	p.wants(a.try(), acquired)
	p.ask("/restart-proxy")
	if p.lib.lacks["extend-own"] == "" {
		p.wants(again(func() string { return a.extend(lockTTL) }), extended)
	}
	p.refused(again(p.lock(lockTTL).try))
	p.wants(again(a.release), released)
	b := p.lock(lockTTL)
	p.wants(again(b.try), acquired)
	p.wants(b.release(), released)
}

// again repeats what failed because the old connection was closed.
func again(f func() string) string {
	word := f()
	for range 3 {
		if !strings.HasPrefix(word, "error") {
			break
		}
		time.Sleep(100 * time.Millisecond)
		word = f()
	}
	return word
}
