package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// word is an answer by which a master says that it cannot serve, how to make
// one say it, and how to end that.
type word struct {
	name    string
	args    []string // of the master
	provoke func(*testing.T, *harness.Redis)
	cure    func(*testing.T, *harness.Redis)
	// lost is a word that a client only hears when it connects: there are no
	// calls that could fail, the master is down for that reason.
	lost bool
}

// asks sends each command, which has to succeed.
func asks(commands ...string) func(*testing.T, *harness.Redis) {
	return func(t *testing.T, r *harness.Redis) {
		t.Helper()
		c := asAdmin(t, r)
		defer c.Close()
		for _, command := range commands {
			if got := on(t, c, strings.Fields(command)...); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", command, got)
			}
		}
	}
}

// asAdmin connects as a user whose rights and password stay as they are.
func asAdmin(t *testing.T, r *harness.Redis) *harness.Conn {
	t.Helper()
	c := dial(t, r.Addr())
	expect(t, c, "+OK", "AUTH", "admin", "admin")
	return c
}

// words are those that a master may say while the proxy is connected to it.
func words(t *testing.T) []word {
	busy := func(t *testing.T, r *harness.Redis) {
		c := asAdmin(t, r)
		c.Queue("EVAL", "while true do end", "0")
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return []word{
		{name: "READONLY", provoke: asks("REPLICAOF 127.0.0.1 1"), cure: asks("REPLICAOF NO ONE")},
		{name: "OOM", provoke: asks("CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"), cure: asks("CONFIG SET maxmemory 0")},
		{name: "NOREPLICAS", provoke: asks("CONFIG SET min-replicas-to-write 1"), cure: asks("CONFIG SET min-replicas-to-write 0")},
		{name: "NOPERM", provoke: asks("ACL SETUSER default -set -setnx -eval -evalsha"), cure: asks("ACL SETUSER default +@all")},
		{name: "BUSY", args: []string{"--busy-reply-threshold", "1"}, provoke: busy, cure: asks("SCRIPT KILL")},
		{name: "MISCONF", args: []string{"--save", "3600 1"}, provoke: failToSave, cure: asks("CONFIG SET stop-writes-on-bgsave-error no")},
		{name: "LOADING", args: []string{"--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"},
			provoke: loadSlowly, cure: asks("CONFIG SET key-load-delay 0")},
		{name: "NOAUTH", provoke: asks("CONFIG SET requirepass secret", "CLIENT KILL USER default"), cure: asks("ACL SETUSER default on nopass"), lost: true},
	}
}

// failToSave lets a snapshot fail: its directory is gone.
func failToSave(t *testing.T, r *harness.Redis) {
	c := asAdmin(t, r)
	reply := on(t, c, "CONFIG", "GET", "dir")
	dir := strings.Trim(strings.TrimPrefix(reply, `["dir" `), `"]`)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, func() error {
		on(t, c, "BGSAVE")
		if !strings.Contains(on(t, c, "INFO", "persistence"), "rdb_last_bgsave_status:err") {
			return errors.New("the snapshot did not fail")
		}
		return nil
	})
}

// loadSlowly makes a server read a snapshot of itself that takes some seconds.
func loadSlowly(t *testing.T, r *harness.Redis) {
	c := asAdmin(t, r)
	for i := range 100 {
		on(t, c, "SET", fmt.Sprint("ballast:", i), strings.Repeat("x", 200), "PX", lockTTL)
	}
	expect(t, c, "+OK", "CONFIG", "SET", "key-load-delay", "20000") // µs each
	c.Queue("DEBUG", "RELOAD")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, func() error {
		if got := on(t, dial(t, r.Addr()), "GET", "x"); !strings.HasPrefix(got, "-LOADING") {
			return fmt.Errorf("GET: %s", got)
		}
		return nil
	})
}

// TestEveryWordOfRefusalIsAFailedVote: one of three masters says it to clients
// that are connected. Everything is answered by the others, the metrics count it
// under the word, and afterwards the master votes again; after a promotion, only
// when it is safe (pitfalls 38 and 39).
func TestEveryWordOfRefusalIsAFailedVote(t *testing.T) {
	for _, w := range words(t) {
		t.Run(w.name, func(t *testing.T) {
			m := startMasters(t, 2)
			m = append(m, startRedis(t, append(strings.Fields("--user admin on >admin ~* &* +@all --user default on nopass ~* &* +@all"), w.args...)...))
			sick := m[2]
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			w.provoke(t, sick)
			stalled := watchStalls(t)
			failures := fmt.Sprintf("redlock_proxy_master_failures_total{master=%q,reason=%q}", sick.Addr(), w.name)
			var slowest time.Duration
			eventually(t, soon, func() error {
				start := time.Now()
				for _, s := range cycle("during", "mine") {
					expect(t, c, s.want, s.args...)
				}
				expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
				slowest = max(slowest, time.Since(start)/5)
				if w.lost && strings.Contains(standing(t, p.Addr, sick), w.name) {
					return nil
				}
				if stateOf(t, p, failures) == 0 {
					return fmt.Errorf("no %s; INFO says of the master: %q", failures, standing(t, p.Addr, sick))
				}
				return nil
			})
			if limit := opTimeout/2 + 2*stalled(); slowest > limit {
				t.Errorf("an operation took %v, want at most %v: the others decide it", slowest, limit)
			}
			w.cure(t, sick)
			eventually(t, 3*soon, func() error {
				if got := do(t, sick.Addr(), "GET", "held"); strings.HasPrefix(got, "-") {
					return fmt.Errorf("it still says %s", got)
				}
				if got := standing(t, p.Addr, sick); got != "votes" {
					return fmt.Errorf("INFO says of %s: %q, want that it votes", sick.Addr(), got)
				}
				return nil
			})
			expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
			m[0].Kill() // its vote is needed now
			expect(t, c, ":1", extend("held", "mine", lockTTL)...)
			expect(t, c, "+OK", acquire("after", "mine", lockTTL)...)
		})
	}
}

// TestAMasterWhoseNameDoesNotResolve: the proxy starts and serves with the
// others, shows it, and when the name resolves the master votes (pitfall 2).
func TestAMasterWhoseNameDoesNotResolve(t *testing.T) {
	m := startMasters(t, 3)
	startProxy(t, m).Kill() // has admitted all three
	hosts := filepath.Join(t.TempDir(), "hosts")
	resolvesTo := func(line string) {
		t.Helper()
		if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	resolvesTo("")
	third := fmt.Sprintf("third-master.invalid:%d", m[2].Port)
	p, err := harness.StartProxy(withHosts(t, hosts), append(m[:2].addrs(), third), "--op-timeout", opTimeout.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); checkLog(t, p) })
	if err := p.WaitReady(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	load := startLoad(t, p.Addr, 2, nothingElse)
	waitVotes(t, p, third, 0, soon)
	eventually(t, 2*soon, func() error {
		for what, text := range map[string]string{"REDLOCK STATUS": do(t, p.Addr, "REDLOCK", "STATUS"), "the log": p.Log()} {
			if !strings.Contains(text, third) || !strings.Contains(text, "no such host") {
				return fmt.Errorf("%s does not say that %s does not resolve:\n%s", what, third, text)
			}
		}
		return nil
	})
	resolvesTo("127.0.0.1 third-master.invalid\n")
	waitVotes(t, p, third, 1, 15*time.Second) // Go reads the file every five seconds
	load.finish(t)
	m[0].Kill()
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...)
	expect(t, c, ":1", release("k", "t")...)
}

// withHosts is a program that runs the proxy with an /etc/hosts of its own, and
// without DNS.
func withHosts(t *testing.T, hosts string) string {
	t.Helper()
	if _, err := exec.LookPath("unshare"); err != nil {
		missing(t, "unshare")
	}
	if os.Getuid() != 0 {
		missing(t, "root's right to have an /etc/hosts of one's own")
	}
	dir := t.TempDir()
	resolv := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	nsswitch := filepath.Join(dir, "nsswitch.conf")
	if err := os.WriteFile(nsswitch, []byte("hosts: files\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "proxy-with-hosts")
	text := fmt.Sprintf(`#!/bin/sh
exec unshare --mount sh -c 'mount --bind %s /etc/hosts && mount --bind %s /etc/resolv.conf && { [ ! -e /etc/nsswitch.conf ] || mount --bind %s /etc/nsswitch.conf; } && exec %s "$@"' proxy "$@"
`, hosts, resolv, nsswitch, binary)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestAnOldOrManagedRedis that knows or allows no RESP3, no CLIENT TRACKING or
// KILL, no CONFIG: it works, and a master that restarted empty is resynchronised
// (pitfall 43).
func TestAnOldOrManagedRedis(t *testing.T) {
	for name, args := range map[string][]string{
		"commands that do not exist":  {"--rename-command", "HELLO", "", "--rename-command", "CONFIG", "", "--rename-command", "CLIENT", ""},
		"commands that are forbidden": strings.Fields("--user default on nopass ~* &* +@all -config -client|kill -client|tracking -client|no-evict -acl -debug -replicaof"),
	} {
		t.Run(name, func(t *testing.T) {
			m := startMasters(t, 3, args...)
			for _, refused := range [][]string{{"CLIENT", "TRACKING", "ON"}, {"CLIENT", "KILL", "ID", "1"}, {"CONFIG", "GET", "dir"}} {
				if got := do(t, m[0].Addr(), refused...); !strings.HasPrefix(got, "-") {
					t.Fatalf("%q: got %s from such a server", refused, got)
				}
			}
			p := startProxy(t, m)
			load := startLoad(t, p.Addr, 4, nothingElse)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			if err := m[2].Restart(); err != nil {
				t.Fatal(err)
			}
			expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			waitStanding(t, p.Addr, m[2], "votes")
			load.finish(t)
			m[0].Kill()
			expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
			expect(t, c, ":1", release("held", "mine")...)
		})
	}
}
