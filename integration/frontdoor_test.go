package integration

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// maxGrowth is what a hostile connection may add to the proxy's memory for a
// while: Go collects garbage late, but not that late.
const maxGrowth = 128 << 20

// closed is what firstLine returns for a connection that is closed without a
// word.
const closed = "(closed)"

// hostile is bytes that have brought servers down, and what comes back: what
// plain Redis answers, or, where that goes on reading, an error.
var hostile = []struct {
	name string
	send func(net.Conn) error
	want string // the beginning of the answer; empty: as plain Redis
}{
	{"a length of 2^63-1", text("*1\r\n$9223372036854775807\r\n"), ""},
	{"a length of 2^64+1", text("*1\r\n$18446744073709551617\r\n"), ""},
	{"a negative length", text("*1\r\n$-5\r\n"), ""},
	{"no length", text("*1\r\n$\r\n"), ""},
	{"two billion arguments", text("*2000000000\r\n"), "-ERR Protocol error"},
	{"2^64+1 arguments", text("*18446744073709551617\r\n"), ""},
	{"a billion arguments, one there", text("*1000000000\r\n$4\r\nPING\r\n"), "-ERR Protocol error"},
	{"no arguments, then PING", text("*0\r\n*1\r\n$4\r\nPING\r\n"), ""},
	{"minus one argument, then PING", text("*-1\r\n*1\r\n$4\r\nPING\r\n"), ""},
	{"empty lines, then PING", text("\r\n\r\nPING\r\n"), ""},
	{"an inline command", text("ECHO hello\r\n"), ""},
	{"unbalanced quotes", text("ECHO \"hello\r\n"), ""},
	{"not a bulk string", text("*1\r\n:1\r\n"), ""},
	{"an HTTP request", text("POST / HTTP/1.1\r\nHost: proxy\r\n\r\n"), ""},
	{"a line without an end", flood("a", 2<<20), ""},
	{"a number without an end", flood("*1", 2<<20), ""},
	{"a TLS hello", text("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"), closed},
}

func text(s string) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, s)
		return err
	}
}

// flood sends the first byte of s, and then the last one n times.
func flood(s string, n int) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := c.Write(append([]byte(s[:1]), bytes.Repeat([]byte{s[len(s)-1]}, n)...))
		return err
	}
}

func TestHostileBytes(t *testing.T) {
	plain := startRedis(t)
	p := startProxy(t, startMasters(t, 3))
	w := watch(t, p)
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = firstLine(t, plain.Addr(), test.send)
			}
			if got := firstLine(t, p.Addr, test.send); !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	w.check(t)
}

// firstLine sends bytes on a new connection and returns the first line of the
// answer, or closed.
func firstLine(t *testing.T, addr string, send func(net.Conn) error) string {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	sent := make(chan struct{})
	go func() { defer close(sent); _ = send(c.Conn) }() // may well be cut off
	line, err := c.ReadLine()
	if err, ok := err.(net.Error); ok && err.Timeout() {
		t.Errorf("no answer, and the connection stays open")
	}
	c.Close()
	<-sent
	if line == "" {
		return closed
	}
	return line
}

// watcher is a client that nobody may disturb, and the proxy's memory.
type watcher struct {
	p      *harness.Proxy
	load   *load
	before int64
}

func watch(t *testing.T, p *harness.Proxy) *watcher {
	t.Helper()
	now, _, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return &watcher{p, startLoad(t, p.Addr, 1, nothingElse), now}
}

// check wants the process alive, its memory bounded, and the client to have
// had right answers in time.
func (w *watcher) check(t *testing.T) {
	t.Helper()
	w.load.finish(t)
	if !w.p.Alive() {
		t.Fatalf("the proxy died:\n%s", tail(w.p.Log(), 30))
	}
	_, peak, err := w.p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("memory: %d MB before, %d MB at most", w.before>>20, peak>>20)
	if grown := peak - w.before; grown > maxGrowth {
		t.Errorf("the proxy's memory grew by %d MB, want at most %d", grown>>20, maxGrowth>>20)
	}
}

// TestOneCommandInAMillionWrites: a byte at a time, which once cost a stack
// frame or a copy of everything each.
func TestOneCommandInAMillionWrites(t *testing.T) {
	p := startProxy(t, startMasters(t, 3))
	w := watch(t, p)
	c := dial(t, p.Addr)
	const size = 1_000_000
	command := harness.Command("ECHO", strings.Repeat("x", size))
	start := time.Now()
	for i := range command {
		if _, err := c.Write(command[i : i+1]); err != nil {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	reply, err := c.Read()
	if err != nil || len(reply) != size+2 {
		t.Errorf("got a reply of %d bytes, error %v, want %d", len(reply), err, size+2)
	}
	t.Logf("%d writes in %v", len(command), time.Since(start))
	w.check(t)
}

// TestManyArgumentsInSmallPieces: reading on must not begin anew each time.
func TestManyArgumentsInSmallPieces(t *testing.T) {
	p := startProxy(t, startMasters(t, 3))
	w := watch(t, p)
	c := dial(t, p.Addr)
	args := make([]string, 100_000)
	for i := range args {
		args[i] = fmt.Sprint("key:", i)
	}
	args[0] = "NOSUCHCOMMAND"
	command := harness.Command(args...)
	start := time.Now()
	for len(command) > 0 {
		piece := command[:min(1460, len(command))]
		if _, err := c.Write(piece); err != nil {
			t.Fatal(err)
		}
		command = command[len(piece):]
	}
	if reply, err := c.Read(); err != nil || !strings.HasPrefix(reply, "-ERR") {
		t.Errorf("got %.60s, error %v, want an error reply", reply, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	w.check(t)
}

// TestSmallLimitsBeforeAuth: who has not logged in yet cannot make the proxy
// keep much (CVE-2021-32675), whatever is declared and on however many
// connections.
func TestSmallLimitsBeforeAuth(t *testing.T) {
	plain := startRedis(t)
	if err := plain.SetPassword("secret"); err != nil {
		t.Fatal(err)
	}
	p := startProxy(t, startMasters(t, 3), "--requirepass", "secret")
	for name, bytes := range map[string]string{
		"many arguments": "*100\r\n",
		"a long one":     "*2\r\n$4\r\nAUTH\r\n$100000\r\n",
	} {
		got, want := firstLine(t, p.Addr, text(bytes)), firstLine(t, plain.Addr(), text(bytes))
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if !p.Alive() {
		t.Fatal("the proxy died")
	}
	c := dial(t, p.Addr)
	expect(t, c, "+OK", "AUTH", "secret")
	big := strings.Repeat("x", 100_000)
	expect(t, c, fmt.Sprintf("%q", big), "ECHO", big)
}

// TestAClientThatNeverReads does not fill the proxy's memory, before or after
// it has logged in (CVE-2025-21605), and holds nobody up.
func TestAClientThatNeverReads(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags []string
	}{{"without a password", nil}, {"before it has logged in", []string{"--requirepass", "secret"}}} {
		t.Run(test.name, func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m, test.flags...)
			other := dial(t, p.Addr)
			if test.flags != nil {
				expect(t, other, "+OK", "AUTH", "secret")
			}
			expect(t, other, "+OK", acquire(bigKey, strings.Repeat("x", 4<<10), lockTTL)...)
			before, _, err := p.Memory()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it is not about how much two CPUs can do
				go pourIn(dial(t, p.Addr), 4<<20)
			}
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
				start := time.Now()
				expect(t, other, "+OK", acquire("other", "t", lockTTL)...)
				expect(t, other, ":1", release("other", "t")...)
				if took := time.Since(start); took > 500*time.Millisecond {
					t.Errorf("another client waited %v", took)
				}
			}
			_, peak, err := p.Memory()
			if err != nil || peak-before > maxGrowth {
				t.Errorf("the proxy's memory grew by %d MB, error %v, want at most %d", (peak-before)>>20, err, maxGrowth>>20)
			}
		})
	}
}

// bigKey holds a large value, so that replies are large.
const bigKey = "big"

// pourIn writes n bytes of commands with large replies and never reads, until
// the other side stops it.
func pourIn(c *harness.Conn, n int) {
	batch := bytes.Repeat(harness.Command("GET", bigKey), 1000)
	for ; n > 0; n -= len(batch) {
		_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
		if _, err := c.Write(batch); err != nil {
			return
		}
	}
}

// TestMaxClients: one too many is told so, and there is room again later.
func TestMaxClients(t *testing.T) {
	p := startProxy(t, startMasters(t, 3), "--maxclients", "5")
	var conns []*harness.Conn
	eventually(t, soon, func() error { // connections of the start may just be leaving
		c := dial(t, p.Addr)
		if got, err := c.Do("PING"); err != nil || got != "+PONG" {
			return fmt.Errorf("PING: %s, %w", got, err)
		}
		if conns = append(conns, c); len(conns) < 5 {
			return fmt.Errorf("%d connections so far", len(conns))
		}
		return nil
	})
	if got, _ := dial(t, p.Addr).ReadLine(); got != "-ERR max number of clients reached" {
		t.Errorf("one too many: got %q", got)
	}
	conns[0].Close()
	eventually(t, soon, func() error {
		got, err := harness.Do(p.Addr, "PING")
		if err == nil && got != "+PONG" {
			err = fmt.Errorf("PING: %s", got)
		}
		return err
	})
}

func TestIdleClientsAreClosed(t *testing.T) {
	c := dial(t, startProxy(t, startMasters(t, 3), "--timeout", "200ms").Addr)
	expect(t, c, "+PONG", "PING")
	start := time.Now()
	if got, err := c.ReadLine(); err != io.EOF {
		t.Errorf("got %q, error %v, want the end of the connection", got, err)
	}
	if took := time.Since(start); took < 150*time.Millisecond || took > 2*time.Second {
		t.Errorf("closed after %v, want about 200ms", took)
	}
}

// TestProtectedMode: without a password, only clients of this machine are
// served, and the others are told why.
func TestProtectedMode(t *testing.T) {
	outside := outsideAddress(t)
	m := startMasters(t, 3)
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, "-DENIED "},
		{[]string{"--protected-mode=false"}, "+PONG"},
		{[]string{"--requirepass", "secret"}, "-NOAUTH "},
	} {
		p, err := harness.StartPublicProxy(binary, m.addrs(), test.flags...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		_, port, _ := net.SplitHostPort(p.Addr)
		got := firstLine(t, net.JoinHostPort(outside, port), text("*1\r\n$4\r\nPING\r\n"))
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: got %q from outside, want %q", test.flags, got, test.want)
		}
		inside := firstLine(t, p.Addr, text("*1\r\n$4\r\nPING\r\n"))
		if strings.HasPrefix(inside, "-DENIED") {
			t.Errorf("%q: got %q from this machine", test.flags, inside)
		}
	}
}

// outsideAddress is an address of this machine that is not a loopback one.
func outsideAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no address but loopback; protected mode cannot be tested")
	return ""
}
