package integration

import (
	"fmt"
	"strings"
	"testing"

	"redlock-proxy/integration/internal/harness"
)

// TestUnfitMastersAreNamedAndDoNotVote (pitfalls 9 and 41).
func TestUnfitMastersAreNamedAndDoNotVote(t *testing.T) {
	for _, test := range []struct {
		name  string
		third func(t *testing.T, m masters) (addr, reason string)
	}{
		{"the same server under two names", func(t *testing.T, m masters) (string, string) {
			return fmt.Sprintf("localhost:%d", m[0].Port), "same server as " + m[0].Addr()
		}},
		{"a replica", func(t *testing.T, m masters) (string, string) {
			r := startRedis(t, "--replicaof", "127.0.0.1 "+fmt.Sprint(m[0].Port))
			return r.Addr(), "slave"
		}},
		{"a cluster node", func(t *testing.T, m masters) (string, string) {
			bus, err := harness.FreePort()
			if err != nil {
				t.Fatal(err)
			}
			return startRedis(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus)).Addr(), "cluster"
		}},
		{"not a Redis server", func(t *testing.T, m masters) (string, string) {
			p := startProxy(t, startMasters(t, 3))
			return p.Metrics, "is this a Redis server"
		}},
		{"a master that wants a password", func(t *testing.T, m masters) (string, string) {
			return startRedis(t, "--requirepass", "secret").Addr(), "NOAUTH"
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMasters(t, 2)
			unfit, reason := test.third(t, m)
			p := startUnreadyProxy(t, append(m.addrs(), unfit))
			eventually(t, soon, func() error {
				status := do(t, p.Addr, "REDLOCK", "STATUS")
				if !strings.Contains(status, unfit) || !strings.Contains(status, reason) {
					return fmt.Errorf("REDLOCK STATUS does not name %s and %q: %s", unfit, reason, status)
				}
				if log := p.Log(); !strings.Contains(log, unfit) || !strings.Contains(log, reason) {
					return fmt.Errorf("the log does not name %s and %q", unfit, reason)
				}
				return nil
			})
			// No quorum was ever admitted, as not all masters are masters.
			if got := do(t, p.Addr, acquire("k", "t", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") {
				t.Errorf("acquire: got %s, want -NOQUORUM …", got)
			}
		})
	}
}

// TestTheSameAddressTwiceIsRefused at the command line already.
func TestTheSameAddressTwiceIsRefused(t *testing.T) {
	r := startRedis(t)
	code, out := runProxy(t, nil, "--masters", strings.Join([]string{r.Addr(), r.Addr(), "127.0.0.1:1"}, ","))
	if code != 2 || !strings.Contains(out, r.Addr()) {
		t.Errorf("got exit code %d and %q, want 2 and a line that names %s", code, out, r.Addr())
	}
}

// TestAMasterThatBecomesAReplica stops voting, the others serve (pitfall 38).
func TestAMasterThatBecomesAReplica(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("before", "t", lockTTL)...)
	do(t, m[2].Addr(), "REPLICAOF", "127.0.0.1", fmt.Sprint(m[0].Port))
	for i := range 20 {
		key := fmt.Sprint("during:", i)
		expect(t, c, "+OK", acquire(key, "t", lockTTL)...)
		expect(t, c, ":1", release(key, "t")...)
	}
	expect(t, c, "$-1", acquire("before", "rival", lockTTL)...)
	expect(t, c, ":1", release("before", "t")...)
}

// TestAMasterWithoutMemory is a failed vote with its reason (pitfall 39).
func TestAMasterWithoutMemory(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	do(t, m[1].Addr(), "CONFIG", "SET", "maxmemory-policy", "noeviction")
	do(t, m[1].Addr(), "CONFIG", "SET", "maxmemory", "1")
	for i := range 20 {
		key := fmt.Sprint("oom:", i)
		expect(t, c, "+OK", acquire(key, "t", lockTTL)...)
		expect(t, c, "$-1", acquire(key, "rival", lockTTL)...)
		expect(t, c, ":1", extend(key, "t", lockTTL)...)
		expect(t, c, ":1", release(key, "t")...)
	}
	_, page, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page, `reason="OOM"`) {
		t.Errorf("no metric counts the failures of %s with the reason OOM", m[1].Addr())
	}
	// One more without memory: no majority can take a lock, and that is said.
	do(t, m[2].Addr(), "CONFIG", "SET", "maxmemory-policy", "noeviction")
	do(t, m[2].Addr(), "CONFIG", "SET", "maxmemory", "1")
	if got := on(t, c, acquire("oom", "t", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") || !strings.Contains(got, "OOM") {
		t.Errorf("acquire with two masters out of memory: got %s, want -NOQUORUM … OOM …", got)
	}
	m.waitEmpty(t, soon)
}

// TestAProxyThatListsTooFewMasters counts those that it does not know as members
// without a vote, and says so.
func TestAProxyThatListsTooFewMasters(t *testing.T) {
	m := startMasters(t, 5)
	startProxy(t, m)
	p := startProxy(t, m[:3])
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...) // by three of five
	expect(t, c, ":1", release("k", "t")...)
	m[2].Kill()
	if got := on(t, c, acquire("k", "t", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") || !strings.Contains(got, "not among this proxy's --masters") {
		t.Errorf("acquire with two masters of five: got %s", got)
	}
}
