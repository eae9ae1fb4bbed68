package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/resp"
)

// logText is a log that can be read while it is written.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watched is a configuration whose log and metrics are looked at.
func watched(cfg Config) (Config, *logText) {
	log := new(logText)
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	cfg.Metrics = NewMetrics("1.2.3", threeMasters())
	return cfg, log
}

// wantCut waits until so many connections have been cut for a reason.
func wantCut(t *testing.T, m *Metrics, why cut, n uint64) {
	t.Helper()
	eventually(t, "connections are cut for being "+why.String(), func() bool { return m.door.cut[why].Load() == n })
}

func TestOtherProtocolsAreCountedAndLoggedOnce(t *testing.T) {
	cfg, log := watched(Config{})
	_, addr := serve(t, cfg, newFakeQuorum())
	all := []string{"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /metrics HTTP/1.1\r\n", "PING\r\nHost: x\r\n", "\x16\x03\x01\x02\x00\x01", "\x00\x01"}
	for _, bytes := range all {
		c := dial(t, addr)
		io.WriteString(c.TCPConn, bytes)
		if reply, _ := io.ReadAll(c.r); strings.TrimPrefix(string(reply), "+PONG\r\n") != "" {
			t.Errorf("%q: got %q, want nothing", bytes, reply)
		}
	}
	wantCut(t, cfg.Metrics, cutOtherProtocol, uint64(len(all)))
	if n := strings.Count(log.String(), "Possible SECURITY ATTACK"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log)
	}
}

func TestHalfACommandEndsTheConnection(t *testing.T) {
	cfg, log := watched(Config{Limits: resp.Limits{CommandTimeout: 100 * time.Millisecond}})
	q := newFakeQuorum()
	_, addr := serve(t, cfg, q)
	first, later, silent := dial(t, addr), dial(t, addr), dial(t, addr)
	silent.send("PING")
	silent.want("+PONG")
	io.WriteString(first.TCPConn, "*1\r\n$4\r\nPI")
	later.send("GET a")
	op := q.take(1)[0]
	io.WriteString(later.TCPConn, "*1\r\n$4\r\nPI")
	first.wantEnd()
	wantCut(t, cfg.Metrics, cutSlow, 2)
	done(op) // what came whole is answered
	later.want("$1", "a")
	later.wantEnd()
	silent.send("PING")
	silent.want("+PONG")
	if n := strings.Count(log.String(), "did not finish a command"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log)
	}
}

func TestWhoDoesNotLogInIsCutOff(t *testing.T) {
	cfg, _ := watched(Config{RequirePass: "secret", Limits: resp.Limits{CommandTimeout: 100 * time.Millisecond}})
	_, addr := serve(t, cfg, newFakeQuorum())
	silent, guessing, known := dial(t, addr), dial(t, addr), dial(t, addr)
	known.send("AUTH secret")
	known.want("+OK")
	guessing.send("AUTH wrong")
	guessing.want("-WRONGPASS invalid username-password pair or user is disabled.")
	silent.wantEnd()
	guessing.wantEnd()
	wantCut(t, cfg.Metrics, cutSlow, 2)
	known.send("PING")
	known.want("+PONG")
}

func TestIdleAndUnreadAreCounted(t *testing.T) {
	cfg, _ := watched(Config{IdleTimeout: 20 * time.Millisecond, WriteTimeout: 50 * time.Millisecond})
	_, addr := serve(t, cfg, newFakeQuorum())
	dial(t, addr).wantEnd()
	wantCut(t, cfg.Metrics, cutIdle, 1)
	endless(dial(t, addr), "ECHO "+strings.Repeat("x", 10_000)+"\r\n")
	wantCut(t, cfg.Metrics, cutUnread, 1)
}

func TestConfigGetTellsTheLimits(t *testing.T) {
	s, c := newTestServer(t, func(cfg *Config) {
		cfg.KeepAlive, cfg.IdleTimeout, cfg.MaxClients, cfg.MaxPushed = 300*time.Second, 1500*time.Millisecond, 7, 9
		cfg.Limits.MaxBulk = 1 << 20
	})
	for name, want := range map[string]string{
		"maxclients": "7", "maxmemory-clients": "0", "timeout": "2", "tcp-keepalive": "300", "proto-max-bulk-len": "1048576", "client-query-buffer-limit": "33554432",
		"client-output-buffer-limit": "normal 1048576 0 0 slave 0 0 0 pubsub 9 0 0",
	} {
		want := string(resp.AppendBulkString(resp.AppendBulkString(resp.AppendArray(nil, 2), name), want))
		if got, _ := say(t, s, c, "CONFIG GET "+name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
