package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// get sends a lock command and has it answered.
func (c *testConn) get(q *fakeQuorum, key string) {
	c.t.Helper()
	c.send("GET " + key)
	done(q.take(1)[0])
	c.wantBulk(key)
}

// TestPartingEndsAConnectionBehindItsNextLockCommand, and no other.
func TestPartingEndsAConnectionBehindItsNextLockCommand(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	busy, idle, waiting := dial(t, addr), dial(t, addr), dial(t, addr)
	for _, c := range []*testConn{busy, idle} {
		c.get(q, "k")
	}
	waiting.send("GET a")
	op := q.take(1)[0]
	s.Part()
	fresh := dial(t, addr) // nobody has told its client to go elsewhere
	for range 3 {
		busy.send("PING", "EVALSHA 0000000000000000000000000000000000000000 1 k")
		busy.want("+PONG", "-NOSCRIPT No matching script. Please use EVAL.")
		fresh.get(q, "k")
	}
	busy.get(q, "k")
	busy.wantEnd()
	done(op)
	waiting.want("$1", "a")
	waiting.get(q, "k")
	waiting.wantEnd()
	s.Shutdown(context.Background())
	idle.wantEnd()
	fresh.wantEnd()
}

// TestPartingLeavesTransactionsAndSubscribers until they are done.
func TestPartingLeavesTransactionsAndSubscribers(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	multi, listener := dial(t, addr), dial(t, addr)
	multi.send("MULTI")
	multi.want("+OK")
	listener.send("SUBSCRIBE news")
	listener.want("*3", "$9", "subscribe", "$4", "news", ":1")
	s.Part()
	multi.send("GET k")
	multi.want("+QUEUED")
	multi.send("EXEC")
	done(q.take(1)[0])
	multi.want("*1")
	multi.wantBulk("k")
	multi.wantEnd()
	listener.send("UNSUBSCRIBE news")
	listener.want("*3", "$11", "unsubscribe", "$4", "news", ":0")
	listener.get(q, "k")
	listener.wantEnd()
}

// TestWhatCrossesTheEndDoesNotResetTheConnection: the reply before it still
// arrives, and then the end, though the client has sent more.
func TestWhatCrossesTheEndDoesNotResetTheConnection(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET a")
	op := q.take(1)[0]
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(context.Background()) }()
	eventually(t, "the reader ends", func() bool {
		sessions := s.list()
		if len(sessions) != 1 {
			t.Fatalf("%d sessions, want 1", len(sessions))
		}
		l := &sessions[0].line
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.ended
	})
	c.send("GET b")
	done(op)
	c.want("$1", "a")
	c.wantEnd()
	c.Close()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// lockedBuffer may be written while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestDrainServesWhileReadyzSaysNo(t *testing.T) {
	var log lockedBuffer
	c := Config{DrainTime: 200 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	q := newFakeQuorum()
	s, addr := serve(t, c, q)
	locks := newTestLocks()
	pages := statusServer(t, locks)
	busy := dial(t, addr)
	busy.send("PING")
	busy.want("+PONG")
	start, over := time.Now(), make(chan error, 1)
	go func() { over <- drain(c, s, pages, nil) }()
	eventually(t, "/readyz says no", func() bool { return pages.draining.Load() })
	page := httptest.NewRecorder()
	pages.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/readyz", nil))
	if body, _ := io.ReadAll(page.Body); page.Code != http.StatusServiceUnavailable || !strings.Contains(string(body), "shutting down") {
		t.Errorf("/readyz answers %d %s", page.Code, body)
	}
	late := dial(t, addr)
	late.send("PING")
	late.want("+PONG")
	eventually(t, "it parts", func() bool { return strings.Contains(log.String(), "closed behind their next reply") })
	busy.get(q, "k")
	busy.wantEnd()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < c.DrainTime {
		t.Errorf("took %v, want at least %v", took, c.DrainTime)
	}
}

func TestDrainEndsWithAServerThatFails(t *testing.T) {
	failed := make(chan error, 1)
	failed <- errors.New("no more")
	locks := newTestLocks()
	s, _ := serve(t, Config{}, newFakeQuorum())
	c := Config{DrainTime: time.Hour, Logger: slog.New(slog.DiscardHandler)}
	if err := drain(c, s, statusServer(t, locks), failed); err == nil || err.Error() != "no more" {
		t.Errorf("got %v, want the error of the server", err)
	}
}
