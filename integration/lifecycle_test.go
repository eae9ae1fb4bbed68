package integration

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// TestShutdownFinishesWhatIsInFlight: SIGTERM while 100 acquires wait for their
// masters. Who is answered +OK has the lock, of everything else nothing stays
// (pitfall 46).
func TestShutdownFinishesWhatIsInFlight(t *testing.T) {
	for _, stalled := range []time.Duration{0, 20 * time.Millisecond, opTimeout + 150*time.Millisecond} {
		t.Run(fmt.Sprintf("masters stalled for %v", stalled), func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m)
			if stalled > 0 {
				m[0].Freeze()
				m[1].Freeze()
			}
			conns := sendAcquires(t, p.Addr, 100)
			p.Signal(syscall.SIGTERM)
			time.Sleep(stalled)
			m[0].Thaw()
			m[1].Thaw()
			granted := readGrants(t, conns)
			if code, err := p.Wait(10 * time.Second); err != nil || code != 0 {
				t.Errorf("exit code %d, error %v, want 0\n%s", code, err, p.Log())
			}
			t.Logf("%d of %d granted", len(granted), len(conns))
			checkOnlyGranted(t, m, granted)
		})
	}
}

// sendAcquires sends one acquire on each of n connections, that the proxy has
// certainly accepted.
func sendAcquires(t *testing.T, addr string, n int) []*harness.Conn {
	t.Helper()
	conns := make([]*harness.Conn, n)
	for i := range conns {
		conns[i] = dial(t, addr)
		expect(t, conns[i], "+PONG", "PING")
	}
	for i, c := range conns {
		c.Queue(acquire(fmt.Sprint("shutdown:", i), "t", lockTTL)...)
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return conns
}

// readGrants reads the reply of each acquire, if there is one.
func readGrants(t *testing.T, conns []*harness.Conn) map[string]bool {
	t.Helper()
	granted := make(map[string]bool)
	for i, c := range conns {
		switch reply, err := c.Read(); {
		case err != nil || strings.HasPrefix(reply, "-"):
		case reply == "+OK":
			granted[fmt.Sprint("shutdown:", i)] = true
		default:
			t.Errorf("acquire %d: got %s", i, reply)
		}
	}
	return granted
}

// checkOnlyGranted waits until the masters hold the granted locks, each by a
// majority, and no others.
func checkOnlyGranted(t *testing.T, m masters, granted map[string]bool) {
	t.Helper()
	eventually(t, soon, func() error {
		copies := make(map[string]int)
		for _, r := range m {
			for _, key := range keysOf(t, r, 0) {
				copies[key]++
			}
		}
		for key, n := range copies {
			if !granted[key] {
				return fmt.Errorf("%d masters hold %s, which was not granted", n, key)
			}
		}
		for key := range granted {
			if copies[key] < len(m)/2+1 {
				return fmt.Errorf("%d masters hold %s, which was granted", copies[key], key)
			}
		}
		return nil
	})
}

// TestKillLosesNoLock: a proxy that is killed leaves its locks to the next one.
func TestKillLosesNoLock(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("k", "mine", lockTTL)...)
	waitHeld(t, m, "k", "mine")
	p.Kill()
	c = dial(t, startProxy(t, m).Addr)
	expect(t, c, "$-1", acquire("k", "rival", lockTTL)...)
	expect(t, c, ":1", release("k", "mine")...)
	expect(t, c, ":0", release("k", "mine")...)
}

// TestAnotherProxyServesTheSameLocks: all state is on the masters. What one proxy
// has just released another one may see for a moment, where a copy that the
// other made is late; it is removed.
func TestAnotherProxyServesTheSameLocks(t *testing.T) {
	m := startMasters(t, 3)
	one, two := dial(t, startProxy(t, m).Addr), dial(t, startProxy(t, m).Addr)
	for range 50 {
		expect(t, one, "+OK", acquire("k", "mine", lockTTL)...)
		expect(t, two, "$-1", acquire("k", "rival", lockTTL)...)
		expect(t, two, `"mine"`, "GET", "k")
		expect(t, two, ":1", extend("k", "mine", lockTTL)...)
		expect(t, two, ":1", release("k", "mine")...)
		eventually(t, soon, func() error {
			if got := on(t, one, "GET", "k"); got != "$-1" {
				return fmt.Errorf("what was released: GET says %s", got)
			}
			return nil
		})
	}
	m.waitEmpty(t, soon)
}

// TestAClientThatLeavesWithoutItsReplyHoldsNothing: the connection is reset
// while an acquire is on its way, so its lock is released. (One that is closed
// in order looks the same as a client that has only said all it had to say;
// Redis, too, would execute the command.)
func TestAClientThatLeavesWithoutItsReplyHoldsNothing(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	m[0].Freeze()
	m[1].Freeze()
	for i, c := range sendAcquires(t, p.Addr, 20) {
		if i%2 == 0 {
			reset(t, c)
		}
	}
	time.Sleep(10 * time.Millisecond)
	m[0].Thaw()
	m[1].Thaw()
	eventually(t, soon, func() error {
		for i := 0; i < 20; i += 2 {
			key := fmt.Sprint("shutdown:", i)
			if got := do(t, p.Addr, "GET", key); got != "$-1" {
				return fmt.Errorf("%s, whose client left: %s", key, got)
			}
		}
		return nil
	})
}

// reset ends a connection with a RST.
func reset(t *testing.T, c *harness.Conn) {
	t.Helper()
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.Close()
}
