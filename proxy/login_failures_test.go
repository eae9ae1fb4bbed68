package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redlock-proxy/resp"
)

func TestTheDelayGrowsByHostAndIsForgotten(t *testing.T) {
	var f loginFailures
	now := time.Now()
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3000, 3000} {
		if got := f.note(fmt.Sprintf("10.0.0.1:%d", i), now); got != want*time.Millisecond {
			t.Errorf("failure %d: got %v, want %d ms", i+1, got, want)
		}
		now = now.Add(time.Second)
	}
	if got := f.note("10.0.0.2:1", now); got != firstDelay {
		t.Errorf("another host: got %v", got)
	}
	if got := f.note("10.0.0.1:1", now.Add(failureMemory)); got != firstDelay {
		t.Errorf("a minute later: got %v", got)
	}
	for i := range 3 * maxFailures {
		f.note(fmt.Sprintf("[2001:db8::%x]:1", i), now)
	}
	if len(f.hosts) > maxFailures {
		t.Errorf("%d hosts are remembered", len(f.hosts))
	}
}

// TestAWrongPasswordKeepsOnlyItsOwnConnectionWaiting, and is logged once, without
// what was tried.
func TestAWrongPasswordKeepsOnlyItsOwnConnectionWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, _ := newTestServer(t, withPassword("default", "right"), func(cfg *Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		guesser, other := openSession(s), openSession(s)
		begun := time.Now()
		replies := bufio.NewReader(guesser)
		for i, want := range []time.Duration{100, 300, 700} {
			fmt.Fprint(guesser, "AUTH sesame\r\n")
			if line, err := replies.ReadString('\n'); err != nil || !strings.HasPrefix(line, "-WRONGPASS") {
				t.Fatalf("got %q, %v", line, err)
			}
			if took := time.Since(begun); took != want*time.Millisecond {
				t.Errorf("failure %d came after %v, want %d ms", i+1, took, want)
			}
		}
		begun = time.Now()
		fmt.Fprint(guesser, "AUTH sesame\r\n")
		synctest.Wait()
		fmt.Fprint(other, "AUTH right\r\n")
		if line, err := bufio.NewReader(other).ReadString('\n'); err != nil || line != "+OK\r\n" || time.Since(begun) != 0 {
			t.Errorf("another client got %q, %v after %v", line, err, time.Since(begun))
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "sesame") {
			t.Errorf("logged %s", text)
		}
		if n := s.cfg.Metrics.authFailures.Load(); n != 4 {
			t.Errorf("%d failures are counted", n)
		}
		guesser.Close()
		other.Close()
		time.Sleep(longestDelay) // for the last answer, which nobody reads
	})
}

// openSession is the client's end of a connection that s serves.
func openSession(s *Server) net.Conn {
	client, server := net.Pipe()
	serveSession(s, server)
	return client
}

// serveSession lets s serve a connection.
func serveSession(s *Server, conn net.Conn) *session {
	sess := newSession(s, resp.NewGuard(conn, resp.Limits{}))
	s.enter(sess)
	go sess.run(nil)
	return sess
}
