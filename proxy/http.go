package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"redlock-proxy/redlock"
)

// StatusServer serves what operators and their tools look at: the status page,
// /metrics, /healthz (the process is alive) and /readyz (a quorum can vote).
type StatusServer struct {
	http     http.Server
	server   *Server
	locks    Locks
	password string
	draining atomic.Bool

	page   *statusPage // nil: off
	ctx    context.Context
	cancel context.CancelFunc
}

// NewStatusServer returns a server over the state and the metrics of s, which
// has to have some. Config.StatusPage and Config.StatusPassword of s say whether
// there is a page and who may see it.
func NewStatusServer(s *Server) *StatusServer {
	t := &StatusServer{server: s, locks: s.cfg.Locks, password: s.cfg.StatusPassword}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", t.guarded(s.cfg.Metrics.Handler().ServeHTTP))
	mux.HandleFunc("GET /healthz", t.healthz)
	mux.HandleFunc("GET /readyz", t.readyz)
	if s.cfg.StatusPage {
		t.page = newStatusPage(t.ctx, newViewer(s))
		mux.Handle("GET /{$}", t.guarded(t.page.ServeHTTP))
		mux.Handle("GET /live", t.guarded(t.page.live))
	} else {
		mux.HandleFunc("GET /{$}", index)
	}
	t.http = http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelWarn),
	}
	return t
}

// guarded is a handler behind the password, if there is one. The user's name
// does not matter.
func (s *StatusServer) guarded(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.admits(r) {
			if _, _, tried := r.BasicAuth(); tried {
				s.server.see.failures.note(failure{at: time.Now(), kind: "http", reason: reasonAuth, text: "wrong password for the status page or the metrics", client: r.RemoteAddr})
			}
			w.Header().Set("WWW-Authenticate", `Basic realm="redlock-proxy", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized, "this needs the password of --metrics-password-file")
			return
		}
		h(w, r)
	})
}

// admits reports whether a request has the password, or needs none.
func (s *StatusServer) admits(r *http.Request) bool {
	_, password, _ := r.BasicAuth()
	return s.password == "" || sameSecret([]byte(password), s.password)
}

// sameSecret compares in a time that tells nothing of want, its length
// included: the digests are compared.
func sameSecret(got []byte, want string) bool {
	a, b := sha256.Sum256(got), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// Handler is what Serve serves.
func (s *StatusServer) Handler() http.Handler { return s.http.Handler }

// Serve answers on ln until Shutdown is called; then it returns nil.
func (s *StatusServer) Serve(ln net.Listener) error {
	if s.page != nil {
		go s.page.view.history.run(s.ctx)
	}
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("status server on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Drain makes /readyz say that this proxy is going away, so that load
// balancers stop sending clients while the last ones are served.
func (s *StatusServer) Drain() { s.draining.Store(true) }

// Shutdown lets requests in flight finish, until ctx ends.
func (s *StatusServer) Shutdown(ctx context.Context) error {
	s.Drain()
	s.cancel()
	return s.http.Shutdown(ctx)
}

func (s *StatusServer) healthz(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok")
}

// readyz is for probes, which have no password: without it the reason, which
// names the masters, is left out.
func (s *StatusServer) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		plain(w, http.StatusServiceUnavailable, "shutting down")
		return
	}
	if why := notReady(s.locks); why != "" {
		if !s.admits(r) {
			why = "no quorum of masters votes"
		}
		plain(w, http.StatusServiceUnavailable, why)
		return
	}
	plain(w, http.StatusOK, "ok")
}

// notReady says in a line why no operation can be decided at present; it is
// empty if a quorum votes.
func notReady(locks Locks) string {
	q, err := locks.DB(0)
	if err != nil {
		return oneLine(err.Error())
	}
	if q.Ready() {
		return ""
	}
	return standing(locks, q)
}

// standing says in a line how many masters vote, and why the others do not.
func standing(locks Locks, q *redlock.Quorum) string {
	masters, need := q.Size()
	votes := 0
	missing := ""
	for _, r := range locks.Report() {
		if r.Votes {
			votes++
			continue
		}
		missing += "; " + r.Name + " " + r.State
		if r.Reason != "" && r.Reason != r.State {
			missing += ": " + r.Reason
		}
	}
	return oneLine(fmt.Sprintf("%d of %d masters vote, %d needed%s", votes, masters, need, missing))
}

// oneLine replaces line breaks and tabs: what masters say is shown in lines and
// tables.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

func index(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "redlock-proxy\n\n/metrics  for Prometheus\n/healthz  the process is alive\n/readyz   a quorum of masters can vote")
}

func plain(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintln(w, body)
}
