package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sent sends a command and wants a reply.
func sent(t *testing.T, c io.Writer, replies *bufio.Reader, command, want string) {
	t.Helper()
	fmt.Fprint(c, command+"\r\n")
	if line, err := replies.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
		t.Errorf("%s: got %q, %v, want %s", command, line, err, want)
	}
}

func TestSilentReadersRestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestServer(t)
		c := openSession(s)
		defer c.Close()
		replies := bufio.NewReader(c)
		sess := s.list()[0]
		for range 2 {
			sent(t, c, replies, "PING", "+PONG")
			time.Sleep(restAfter - time.Millisecond)
			if s.rest(); !sess.grown.Load() {
				t.Error("a reader rests too early")
			}
			time.Sleep(time.Millisecond)
			if s.rest(); sess.grown.Load() {
				t.Error("a silent reader does not rest")
			}
			synctest.Wait()
			if idle := sess.silence(time.Now()); idle != restAfter {
				t.Errorf("silent for %v, want %v: resting is no command", idle, restAfter)
			}
		}
	})
}

// TestRestIsNoSignOfLife: a client is cut off when it would have been without.
func TestRestIsNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestServer(t, func(cfg *Config) { cfg.IdleTimeout = 10 * time.Second })
		c := openSession(s)
		defer c.Close()
		replies := bufio.NewReader(c)
		sent(t, c, replies, "PING", "+PONG")
		last := time.Now()
		time.Sleep(8 * time.Second)
		s.rest()
		if _, err := replies.ReadByte(); err != io.EOF || time.Since(last) != 10*time.Second {
			t.Errorf("got %v after %v, want the end after 10s", err, time.Since(last))
		}
	})
}

// TestRestLosesNothing: half a command stays, and Shutdown ends who rests.
func TestRestLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestServer(t)
		c := openSession(s)
		replies := bufio.NewReader(c)
		sent(t, c, replies, "PING", "+PONG")
		fmt.Fprint(c, "PI")
		time.Sleep(restAfter)
		s.rest()
		time.Sleep(time.Second)
		sent(t, c, replies, "NG", "+PONG")
		time.Sleep(restAfter)
		s.rest()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := replies.ReadByte(); err != io.EOF {
			t.Errorf("got %v, want the end", err)
		}
	})
}

// TestRestWithTLS: between two records, and in one.
func TestRestWithTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	plain, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newTestServer(t)
	sess := serveSession(s, newTLSConn(conn, &tls.Config{Certificates: certified.TLS.Certificates}))
	slow := &halves{Conn: plain}
	c := tls.Client(slow, &tls.Config{InsecureSkipVerify: true})
	defer c.Close()
	replies := bufio.NewReader(c)
	sent(t, c, replies, "PING", "+PONG")
	rest := func() {
		sess.lastSeen.Add(-int64(restAfter))
		eventually(t, "rest", func() bool { s.rest(); return !sess.grown.Load() })
	}
	rest()
	sent(t, c, replies, "PING", "+PONG")
	slow.between = func() { time.Sleep(10 * time.Millisecond); rest() }
	sent(t, c, replies, "PING", "+PONG")
	slow.between = nil
	sent(t, c, replies, "PING", "+PONG")
}

// halves writes everything in two parts, if something happens between them.
type halves struct {
	net.Conn
	between func()
}

func (h *halves) Write(b []byte) (int, error) {
	if h.between == nil {
		return h.Conn.Write(b)
	}
	if n, err := h.Conn.Write(b[:len(b)/2]); err != nil {
		return n, err
	}
	h.between()
	n, err := h.Conn.Write(b[len(b)/2:])
	return len(b)/2 + n, err
}

// TestWhoRestsHasASmallStack: to wait needs less than 2 KB.
func TestWhoRestsHasASmallStack(t *testing.T) {
	if raceDetector || testing.CoverMode() != "" {
		t.Skip("what is added to each function makes stacks larger")
	}
	const clients = 500
	s, addr := serve(t, Config{}, newFakeQuorum())
	runtime.GC() // may have been in a test that needs more stack on average
	before := stacks()
	for range clients {
		c := dial(t, addr)
		c.send("PING")
		c.want("+PONG")
	}
	for _, sess := range s.list() {
		sess.lastSeen.Add(-int64(restAfter))
	}
	s.rest()
	eventually(t, "2 KB of stack per client", func() bool {
		runtime.GC()
		return stacks() < before+clients*(2<<10)+256<<10
	})
	c := dial(t, addr)
	c.send("PING")
	c.want("+PONG")
}

// stacks is how many bytes the stacks of goroutines take.
func stacks() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
