package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// serve starts a server over q and returns its address. At the end of the test
// it is shut down; no goroutine of it may be left then, and no operation
// treated against the rules.
func serve(t *testing.T, cfg Config, q *fakeQuorum) (*Server, string) {
	t.Helper()
	t.Cleanup(func() { q.check(t) })
	return serveAny(t, cfg, q)
}

func serveAny(t testing.TB, cfg Config, q quorum) (*Server, string) {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return serveOn(t, newServer(cfg, func(int) (quorum, error) { return q, nil }))
}

// serveLocks starts a server over cfg.Locks.
func serveLocks(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, s)
}

func serveOn(t testing.TB, s *Server) (*Server, string) {
	t.Helper()
	t.Cleanup(func() { checkGoroutines(t) })
	return s, start(t, s)
}

// start starts a server, which is shut down at the end of the test.
func start(t testing.TB, s *Server) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// checkGoroutines fails the test if goroutines of sessions do not end.
func checkGoroutines(t testing.TB) {
	t.Helper()
	buf := make([]byte, 1<<20)
	var left string
	for start := time.Now(); time.Since(start) < patience; time.Sleep(time.Millisecond) {
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "proxy.(*session)") || strings.Contains(g, "redcon") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			return
		}
	}
	t.Errorf("goroutines left:\n%s", left)
}

// eventually waits until it is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for start := time.Now(); !so(); time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("still not so: ", what)
		}
	}
}

// testConn is a client.
type testConn struct {
	t testing.TB
	*net.TCPConn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *testConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return &testConn{t: t, TCPConn: c.(*net.TCPConn), r: bufio.NewReader(c)}
}

// send sends inline commands, one a line.
func (c *testConn) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.TCPConn, strings.Join(lines, "\r\n")+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

// want reads lines and compares.
func (c *testConn) want(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		got, err := c.r.ReadString('\n')
		if got = strings.TrimSuffix(got, "\r\n"); err != nil || got != want {
			c.t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
}

// wantBulk reads a bulk string.
func (c *testConn) wantBulk(s string) {
	c.t.Helper()
	c.want(fmt.Sprintf("$%d", len(s)), s)
}

// wantEnd reads the end of the connection.
func (c *testConn) wantEnd() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); err != io.EOF {
		c.t.Fatalf("got %q, %v; want the end of the connection", b, err)
	}
}
