package integration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// executed is how often a master has executed a command since its start,
// whoever sent it.
func executed(t *testing.T, r *harness.Redis, command string) int {
	t.Helper()
	stats := strings.ReplaceAll(do(t, r.Addr(), "INFO", "commandstats"), `\r\n`, "\n")
	found := regexp.MustCompile(`cmdstat_` + command + `:calls=(\d+),`).FindStringSubmatch(stats)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestALostReplyIsUnknown: of three masters one answers an acquire, one
// executes it but its reply gets lost, and one never gets it. The client gets an
// error, nothing is sent a second time, and what was created is given back as
// soon as the masters can be reached (pitfalls 13 and 14).
func TestALostReplyIsUnknown(t *testing.T) {
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("connections end: %v", cut), func(t *testing.T) {
			m := startMasters(t, 3)
			relays, addrs := relayed(t, m)
			c := dial(t, startProxyOn(t, addrs).Addr)
			const locks = 20
			expect(t, c, "+OK", acquire("before", "mine", lockTTL)...)
			expect(t, c, ":1", release("before", "mine")...)
			m.waitEmpty(t, soon)
			first, second := executed(t, m[0], "set"), executed(t, m[1], "set")
			relays[0].LoseReplies(true)
			relays[1].Lose(true)
			if cut {
				time.AfterFunc(30*time.Millisecond, relays[0].Cut)
				time.AfterFunc(30*time.Millisecond, relays[1].Cut)
			}
			acquireInVain(t, c, locks)
			if executed(t, m[0], "set") == first {
				t.Error("the first master executed nothing: this tests something else")
			}
			relays[0].LoseReplies(false)
			relays[1].Lose(false)
			m.waitEmpty(t, 2*soon)
			if n := executed(t, m[0], "set") - first; n > locks {
				t.Errorf("the first master executed %d SETs for %d acquires", n, locks)
			}
			if n := executed(t, m[1], "set") - second; n > 0 {
				t.Errorf("the second master executed %d SETs of acquires that had failed", n)
			}
			expect(t, c, "+OK", acquire("after", "mine", lockTTL)...)
			expect(t, c, ":1", release("after", "mine")...)
		})
	}
}

// TestALostGrantIsReleased: a majority executed an acquire and the replies got
// lost, so its client was told that nobody knows. A copy that has a majority is
// not taken away, as it may be somebody's lock; the client's own release, which
// it sends if it does not know, frees it everywhere (pitfalls 13 and 14).
func TestALostGrantIsReleased(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	c := dial(t, startProxyOn(t, addrs).Addr)
	relays[0].LoseReplies(true)
	relays[1].LoseReplies(true)
	acquireInVain(t, c, 1)
	relays[0].LoseReplies(false)
	relays[1].LoseReplies(false)
	eventually(t, soon, func() error { // their connections are lost first
		if got := on(t, c, "GET", "lost:0"); got != `"mine"` {
			return fmt.Errorf("GET: %s", got)
		}
		return nil
	})
	expect(t, c, ":1", release("lost:0", "mine")...)
	expect(t, c, ":0", release("lost:0", "mine")...)
	m.waitEmpty(t, soon)
}

// acquireInVain sends acquires that no quorum answers.
func acquireInVain(t *testing.T, c *harness.Conn, locks int) {
	t.Helper()
	for i := range locks {
		c.Queue(acquire(fmt.Sprint("lost:", i), "mine", lockTTL)...)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for range locks {
		if got, err := c.Read(); err != nil || !orNoQuorum(got) {
			t.Errorf("acquire: got %s, error %v, want -NOQUORUM …", got, err)
		}
	}
}

// TestAReleaseReachesAMasterThatWasAway: it could not be told of the release,
// its connection is lost, and it is told when there is a new one (pitfall 14).
func TestAReleaseReachesAMasterThatWasAway(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	c := dial(t, p.Addr)
	const locks = 50
	for i := range locks {
		expect(t, c, "+OK", acquire(fmt.Sprint("held:", i), "mine", lockTTL)...)
	}
	waitHeld(t, m, fmt.Sprint("held:", locks-1), "mine")
	relays[2].Lose(true)
	for i := range locks {
		expect(t, c, ":1", release(fmt.Sprint("held:", i), "mine")...)
		expect(t, c, ":0", release(fmt.Sprint("held:", i), "mine")...)
	}
	waitVotes(t, p, addrs[2], 0, 2*time.Second)
	if n := len(keysOf(t, m[2], 0)); n != locks {
		t.Errorf("the master that is away holds %d locks, want %d: this tests something else", n, locks)
	}
	relays[2].Lose(false)
	waitVotes(t, p, addrs[2], 1, 2*soon)
	m.waitEmpty(t, soon)
}

// TestAReleaseThatIsSentAgain: the reply to the first one got lost, with the
// client's connection or with the proxy. The second one says 0 if the first was
// executed, and neither touches the lock of whoever has it then (pitfalls 16
// and 17).
func TestAReleaseThatIsSentAgain(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(*testing.T, *harness.Proxy, *harness.Conn)
	}{
		{"the client's connection is lost", func(t *testing.T, _ *harness.Proxy, c *harness.Conn) { reset(t, c) }},
		{"the proxy is killed", func(_ *testing.T, p *harness.Proxy, _ *harness.Conn) { p.Kill() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMasters(t, 3)
			next := startProxy(t, m)
			for i := range 4 {
				first := startProxy(t, m)
				key := fmt.Sprint("again:", i)
				c := dial(t, first.Addr)
				expect(t, c, "+OK", acquire(key, "mine", lockTTL)...)
				waitHeld(t, m, key, "mine")
				slow := i%2 == 1 // the masters have it, and do not answer yet
				if slow {
					m[0].Freeze()
					m[1].Freeze()
				}
				c.Queue(release(key, "mine")...)
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
				test.lose(t, first, c)
				if slow {
					m[0].Thaw()
					m[1].Thaw()
				}
				m.waitEmpty(t, soon)
				again := dial(t, next.Addr)
				expect(t, again, ":0", release(key, "mine")...)
				expect(t, again, "+OK", acquire(key, "rival", lockTTL)...)
				expect(t, again, ":0", release(key, "mine")...)
				expect(t, again, `"rival"`, "GET", key)
				expect(t, again, ":1", release(key, "rival")...)
				first.Kill()
			}
		})
	}
}

// TestAnExpiredLockIsReleasedAtOnce: with 0 and without waiting, whether it is
// free or somebody else has it (pitfall 26).
func TestAnExpiredLockIsReleasedAtOnce(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		expect(t, c, "+OK", acquire("free", "mine", "50")...)
		expect(t, c, "+OK", acquire("taken", "mine", "50")...)
		eventually(t, soon, func() error {
			if got := on(t, c, acquire("taken", "rival", lockTTL)...); got != "+OK" {
				return fmt.Errorf("acquire: %s", got)
			}
			return nil
		})
		eventually(t, soon, func() error {
			if got := on(t, c, "EXISTS", "free"); got != ":0" {
				return fmt.Errorf("EXISTS: %s", got)
			}
			return nil
		})
		stalled := watchStalls(t)
		start := time.Now()
		const times = 20
		for range times {
			expect(t, c, ":0", release("free", "mine")...)
			expect(t, c, ":0", release("taken", "mine")...)
			expect(t, c, ":0", extend("free", "mine", lockTTL)...)
			expect(t, c, ":0", extend("taken", "mine", lockTTL)...)
		}
		if took, limit := time.Since(start)/times, opTimeout/5+2*stalled(); took > limit {
			t.Errorf("two releases and two extends took %v, want at most %v", took, limit)
		}
		expect(t, c, `"rival"`, "GET", "taken")
	})
}

// TestNothingStaysBehindAfterALongStop: a master is stopped under load until its
// connection is given up. When it goes on it executes what it was sent before,
// of locks that were released long ago (pitfalls 14 and 15).
func TestNothingStaysBehindAfterALongStop(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	load := startLoad(t, p.Addr, 8, nothingElse)
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		m[1].Freeze()
		waitVotes(t, p, m[1].Addr(), 0, 2*time.Second)
		time.Sleep(300 * time.Millisecond)
		m[1].Thaw()
		waitVotes(t, p, m[1].Addr(), 1, soon)
	}
	load.finish(t)
	m.waitEmpty(t, soon)
}
