package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redlock-proxy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("TEST_PROXY_BINARY"); binary == "" {
		if binary, err = harness.Build("..", dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// opTimeout is the --op-timeout of the tests' proxies. It is more than the
// default of 50 ms: a machine that builds and tests many things at once stops
// a process for that long now and then, which is not the proxy's fault.
const opTimeout = 250 * time.Millisecond

// soon is when something that the proxy does by itself, without waiting for a
// TTL, is certainly done.
const soon = 3 * time.Second

// masters are the redis-servers behind a proxy, in the order of its --masters.
type masters []*harness.Redis

// startRedis starts a redis-server that ends with the test.
func startRedis(t *testing.T, extra ...string) *harness.Redis {
	t.Helper()
	r, err := harness.StartRedis(t.TempDir(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Kill() })
	return r
}

// startMasters starts n empty masters. When the test ends, no key without an
// expiry may be left on any of them that still answers.
func startMasters(t *testing.T, n int, extra ...string) masters {
	t.Helper()
	m := make(masters, n)
	for i := range m {
		m[i] = startRedis(t, extra...)
	}
	t.Cleanup(func() { m.checkEveryKeyExpires(t) })
	return m
}

func (m masters) addrs() []string {
	addrs := make([]string, len(m))
	for i, r := range m {
		addrs[i] = r.Addr()
	}
	return addrs
}

// startProxy starts a proxy over the masters and waits until it can vote.
func startProxy(t *testing.T, m masters, flags ...string) *harness.Proxy {
	t.Helper()
	return startProxyOn(t, m.addrs(), flags...)
}

// startProxyOn is startProxy for masters given by address.
func startProxyOn(t *testing.T, addrs []string, flags ...string) *harness.Proxy {
	t.Helper()
	p := startUnreadyProxy(t, addrs, flags...)
	if err := p.WaitReady(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	return p
}

// startUnreadyProxy is startProxyOn for masters that may have no quorum.
func startUnreadyProxy(t *testing.T, addrs []string, flags ...string) *harness.Proxy {
	t.Helper()
	p, err := harness.StartProxy(binary, addrs, append([]string{"--op-timeout", opTimeout.String()}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		checkLog(t, p)
	})
	return p
}

// checkLog looks for crashes in a proxy's log and shows it if the test failed.
func checkLog(t *testing.T, p *harness.Proxy) {
	log := p.Log()
	for _, bad := range []string{"panic", "fatal error", "DATA RACE"} {
		if strings.Contains(log, bad) {
			t.Errorf("the log of proxy %s speaks of a %s", p.Addr, bad)
		}
	}
	if t.Failed() {
		t.Logf("proxy %s:\n%s", p.Addr, tail(log, 60))
	}
}

// tail is the last lines of a log.
func tail(log string, lines int) string {
	all := strings.Split(log, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// forEachTarget runs a test on one plain redis-server and on proxies over 3
// and 5 masters: all must behave the same.
func forEachTarget(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("plain Redis", func(t *testing.T) { test(t, startRedis(t).Addr()) })
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("proxy with %d masters", n), func(t *testing.T) {
			test(t, startProxy(t, startMasters(t, n)).Addr)
		})
	}
}

// dial opens a connection that ends with the test.
func dial(t *testing.T, addr string) *harness.Conn {
	t.Helper()
	c, err := harness.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// do sends one command on a new connection.
func do(t *testing.T, addr string, args ...string) string {
	t.Helper()
	reply, err := harness.Do(addr, args...)
	if err != nil {
		t.Fatalf("%s %q: %v", addr, args, err)
	}
	return reply
}

// on sends one command on c.
func on(t *testing.T, c *harness.Conn, args ...string) string {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return reply
}

// expect sends one command on c and compares the reply.
func expect(t *testing.T, c *harness.Conn, want string, args ...string) {
	t.Helper()
	if got := on(t, c, args...); got != want {
		t.Fatalf("%q: got %s, want %s", args, got, want)
	}
}

// eventually fails the test unless check succeeds within the timeout.
func eventually(t *testing.T, timeout time.Duration, check func() error) {
	t.Helper()
	if err := harness.Eventually(timeout, check); err != nil {
		t.Fatal(err)
	}
}

// runProxy runs the program to its end and returns its exit code and output.
func runProxy(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	p, err := harness.Start(binary, args, env...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	code, err := p.Wait(10 * time.Second)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Log())
	}
	return code, p.Log()
}
