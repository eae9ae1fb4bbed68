package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// get returns the status and the body of a page.
func get(t *testing.T, s *StatusServer, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// statusServer is one over locks, with the page.
func statusServer(t *testing.T, locks *testLocks, change ...func(*Config)) *StatusServer {
	t.Helper()
	with := func(cfg *Config) { cfg.Locks, cfg.Metrics, cfg.StatusPage = locks, NewMetrics("1.2.3", locks), true }
	server, _ := newTestServer(t, append([]func(*Config){with}, change...)...)
	return NewStatusServer(server)
}

func TestStatusPages(t *testing.T) {
	locks := threeMasters()
	s := statusServer(t, locks)
	for _, test := range []struct {
		path   string
		status int
		want   string
	}{
		{"/healthz", 200, "ok\n"},
		{"/readyz", 200, "ok\n"},
		{"/", 200, "<h1>redlock-proxy</h1>"},
		{"/live", 200, `"title":"ready · redlock-proxy"`},
		{"/metrics", 200, "# TYPE redlock_proxy_operations_total counter\n"},
		{"/nothing", 404, ""},
	} {
		status, body := get(t, s, test.path)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s = %d %q, want %d with %q", test.path, status, body, test.status, test.want)
		}
	}
}

func TestNotReadyWithoutAQuorum(t *testing.T) {
	locks := newTestLocks(
		redlock.MasterReport{Name: "a:1", State: "votes", Votes: true},
		redlock.MasterReport{Name: "b:1", State: "down", Reason: "connection refused"},
		redlock.MasterReport{Name: "c:1", State: "does not vote", Reason: "it restarted\r\nempty; see REDLOCK ADMIT"},
	)
	s := statusServer(t, locks)
	status, body := get(t, s, "/readyz")
	want := "1 of 3 masters vote, 2 needed; b:1 down: connection refused; c:1 does not vote: it restarted  empty; see REDLOCK ADMIT\n"
	if status != http.StatusServiceUnavailable || body != want {
		t.Errorf("/readyz = %d %q, want 503 %q", status, body, want)
	}
	if status, _ := get(t, s, "/healthz"); status != 200 {
		t.Errorf("/healthz = %d without a quorum: the process is alive", status)
	}
}

func TestNotReadyWhileDraining(t *testing.T) {
	locks := threeMasters()
	s := statusServer(t, locks)
	s.Drain()
	if status, body := get(t, s, "/readyz"); status != http.StatusServiceUnavailable || body != "shutting down\n" {
		t.Errorf("/readyz = %d %q while draining", status, body)
	}
}

func TestStatusServerEndsWithoutError(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	locks := threeMasters()
	s := statusServer(t, locks)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()

	reply, err := http.Get("http://" + ln.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	if string(body) != "ok\n" {
		t.Errorf("/healthz = %q", body)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
