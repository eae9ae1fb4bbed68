package integration

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// standing is what INFO says of a master: "votes", or the reason why not.
func standing(t *testing.T, addr string, r *harness.Redis) string {
	t.Helper()
	return standingOf(t, addr, r.Addr())
}

// standingOf is standing of a master by the name that the proxy has for it.
func standingOf(t *testing.T, addr, master string) string {
	t.Helper()
	info := strings.ReplaceAll(on(t, dial(t, addr), "INFO", "redlock"), `\r\n`, "\n")
	line := regexp.MustCompile(`(?m)^master\d+:name=` + regexp.QuoteMeta(master) + `,.*$`).FindString(info)
	if line == "" {
		t.Fatalf("INFO does not show master %s:\n%s", master, info)
	}
	if strings.Contains(line, ",votes=1,") {
		return "votes"
	}
	_, reason, _ := strings.Cut(line, ",reason=")
	return reason
}

// waitStanding waits until INFO says so of a master; want is a part of it.
func waitStanding(t *testing.T, addr string, r *harness.Redis, want string) {
	t.Helper()
	eventually(t, soon, func() error {
		if got := standing(t, addr, r); !strings.Contains(got, want) {
			return fmt.Errorf("INFO says of %s: %q, want %q", r.Addr(), got, want)
		}
		return nil
	})
}

// admit is REDLOCK ADMIT.
func admit(t *testing.T, addr, name string) {
	t.Helper()
	if got := do(t, addr, "REDLOCK", "ADMIT", name); strings.HasPrefix(got, "-") {
		t.Fatalf("REDLOCK ADMIT %s: %s", name, got)
	}
}

// losses are ways in which a master loses its locks without anybody asking.
var losses = []struct {
	name string
	lose func(*testing.T, *harness.Redis)
}{
	{"restarted empty", func(t *testing.T, r *harness.Redis) {
		if err := r.Restart(); err != nil {
			t.Fatal(err)
		}
	}},
	{"FLUSHALL", func(t *testing.T, r *harness.Redis) { do(t, r.Addr(), "FLUSHALL") }},
	{"FLUSHDB", func(t *testing.T, r *harness.Redis) { do(t, r.Addr(), "FLUSHDB") }},
	{"flushed by a replica's data", func(t *testing.T, r *harness.Redis) {
		empty := startRedis(t, "--repl-diskless-sync-delay", "0")
		do(t, r.Addr(), "REPLICAOF", "127.0.0.1", fmt.Sprint(empty.Port))
		eventually(t, soon, func() error {
			if !strings.Contains(do(t, r.Addr(), "INFO", "replication"), "master_link_status:up") {
				return errors.New("the master has not become a replica")
			}
			return nil
		})
		do(t, r.Addr(), "REPLICAOF", "NO", "ONE")
	}},
}

// TestAMasterThatLostItsLocksGetsThemBack: a lock rests on masters 1 and 3,
// master 3 loses it. It votes again only when it has it back, so that masters 2
// and 3 never give it to a rival (pitfalls 4 and 40).
func TestAMasterThatLostItsLocksGetsThemBack(t *testing.T) {
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			do(t, m[1].Addr(), "DEL", "held") // a bare majority holds it
			loss.lose(t, m[2])

			// From the first moment on.
			for range 3 {
				if got := on(t, c, acquire("held", "rival", lockTTL)...); got == "+OK" {
					t.Fatal("a rival got the lock")
				}
			}
			eventually(t, soon, func() error {
				if got := do(t, m[2].Addr(), "GET", "held"); got != `"mine"` {
					return fmt.Errorf("master 3 holds %s", got)
				}
				return nil
			})
			waitStanding(t, p.Addr, m[2], "votes")
			m[0].Kill()
			for range 3 {
				if got := on(t, c, acquire("held", "rival", lockTTL)...); got == "+OK" {
					t.Fatal("a rival got the lock from master 3")
				}
			}
			expect(t, c, "+OK", acquire("new", "mine", lockTTL)...)
			expect(t, c, ":1", release("new", "mine")...)
		})
	}
}

// TestAMasterWithoutPeersStaysOut: where the locks that a master lost cannot be
// read from the others, it waits until none of them can live, or for a word.
func TestAMasterWithoutPeersStaysOut(t *testing.T) {
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			do(t, m[1].Addr(), "DEL", "held")
			m[0].Freeze()
			loss.lose(t, m[2])
			checkNoQuorum(t, c, "held", "mine")
			waitStanding(t, p.Addr, m[2], "live until ")
			checkNoQuorum(t, c, "held", "mine")
			m[0].Kill()
			admit(t, p.Addr, m[2].Addr())
			waitStanding(t, p.Addr, m[2], "votes")
			expect(t, c, "+OK", acquire("new", "mine", lockTTL)...)
			expect(t, c, ":1", release("new", "mine")...)
		})
	}
}

func TestLossIsShown(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	expect(t, dial(t, p.Addr), "+OK", acquire("held", "mine", lockTTL)...)
	m[0].Kill()
	if err := m[1].Restart(); err != nil {
		t.Fatal(err)
	}
	waitStanding(t, p.Addr, m[1], "restarted without its data; locks it may have forgotten live until ")
	status := do(t, p.Addr, "REDLOCK", "STATUS")
	for _, want := range []string{m[0].Addr(), m[1].Addr(), m[2].Addr(), "restarted without its data"} {
		if !strings.Contains(status, want) {
			t.Errorf("REDLOCK STATUS does not say %q:\n%s", want, status)
		}
	}
	if log := p.Log(); !strings.Contains(log, m[1].Addr()) {
		t.Errorf("the log does not name the master that restarted")
	}
	waitStanding(t, startUnreadyProxy(t, m.addrs()).Addr, m[1], "restarted without its data")
}

// TestARollingRestartOfTheMasters: each of them restarts empty, and a lock that
// was taken before the first is still held after the last.
func TestARollingRestartOfTheMasters(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	for _, r := range m {
		if err := r.Restart(); err != nil {
			t.Fatal(err)
		}
		expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
		expect(t, c, `"mine"`, "GET", "held")
		expect(t, c, ":1", extend("held", "mine", lockTTL)...)
		eventually(t, soon, func() error {
			if got := do(t, r.Addr(), "GET", "held"); got != `"mine"` {
				return fmt.Errorf("master %s holds %s", r.Addr(), got)
			}
			return nil
		})
		waitStanding(t, p.Addr, r, "votes")
	}
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
	expect(t, c, "+OK", acquire("held", "rival", lockTTL)...)
}

// TestAMasterThatPersistsEveryWriteComesBack by itself, with its locks.
func TestAMasterThatPersistsEveryWriteComesBack(t *testing.T) {
	m := startMasters(t, 3, "--appendonly", "yes", "--appendfsync", "always")
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	waitHeld(t, m, "held", "mine")
	if err := m[2].Restart(); err != nil {
		t.Fatal(err)
	}
	waitStanding(t, p.Addr, m[2], "votes")
	m[0].Kill()
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}

// TestScriptsOutliveTheMasters: neither a master's restart nor SCRIPT FLUSH on
// it shows a client a NOSCRIPT (pitfall 33).
func TestScriptsOutliveTheMasters(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	sha := strings.Trim(on(t, c, "SCRIPT", "LOAD", releaseScript), `"`)
	cycle := func(when string) {
		t.Helper()
		for i := range 20 {
			key := fmt.Sprintf("%s:%d", when, i)
			expect(t, c, "+OK", acquire(key, "t", lockTTL)...)
			expect(t, c, ":1", "EVALSHA", sha, "1", key, "t")
		}
	}
	cycle("at first")
	do(t, m[0].Addr(), "SCRIPT", "FLUSH")
	cycle("after SCRIPT FLUSH")
	for _, r := range m {
		do(t, r.Addr(), "SCRIPT", "FLUSH")
	}
	cycle("after SCRIPT FLUSH on all")
	if err := m[1].Restart(); err != nil {
		t.Fatal(err)
	}
	cycle("after a restart")
	waitStanding(t, p.Addr, m[1], "votes")
	m[2].Kill()
	cycle("with the restarted master's vote")
	expect(t, c, "+OK", "SCRIPT", "FLUSH")
	expect(t, c, "-NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", sha, "1", "k", "t")
}

// TestAMasterThatComesLater is not waited for once the quorum exists.
func TestAMasterThatComesLater(t *testing.T) {
	m := startMasters(t, 3, "--appendonly", "yes", "--appendfsync", "always")
	startProxy(t, m).Kill() // has admitted all three
	m[2].Kill()
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...)
	if err := m[2].Start(); err != nil {
		t.Fatal(err)
	}
	waitStanding(t, p.Addr, m[2], "votes")
	m[0].Kill()
	expect(t, c, ":1", release("k", "t")...)
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...)
	expect(t, c, ":1", release("k", "t")...)
}

// TestFirstStartWithAMasterMissing: who has held what is not known, so nothing
// is granted until all have been seen; then it starts by itself.
func TestFirstStartWithAMasterMissing(t *testing.T) {
	m := startMasters(t, 3)
	m[1].Kill()
	p := startUnreadyProxy(t, m.addrs())
	if got := do(t, p.Addr, acquire("k", "t", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") {
		t.Errorf("acquire at a first start without a master: got %s, want -NOQUORUM …", got)
	}
	if code, body, err := p.Get("/readyz"); code != 503 || !strings.Contains(body, m[1].Addr()) {
		t.Errorf("/readyz: got %d %q, error %v, want 503 and the missing master's name", code, body, err)
	}
	if err := m[1].Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if got := do(t, p.Addr, acquire("k", "t", lockTTL)...); got != "+OK" {
		t.Errorf("acquire after the missing master came: got %s, want +OK", got)
	}
}

// TestMastersWithDataNeedAWord: they are admitted by an operator.
func TestMastersWithDataNeedAWord(t *testing.T) {
	m := startMasters(t, 3)
	do(t, m[0].Addr(), "SET", "old", "data", "PX", lockTTL)
	p := startUnreadyProxy(t, m.addrs())
	waitStanding(t, p.Addr, m[0], "REDLOCK ADMIT ALL")
	if got := do(t, p.Addr, acquire("k", "t", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") {
		t.Errorf("acquire before ADMIT ALL: got %s, want -NOQUORUM …", got)
	}
	admit(t, p.Addr, "ALL")
	if err := p.WaitReady(soon); err != nil {
		t.Fatal(err)
	}
	if got := do(t, p.Addr, acquire("k", "t", lockTTL)...); got != "+OK" {
		t.Errorf("acquire after ADMIT ALL: got %s, want +OK", got)
	}
}
