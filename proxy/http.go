package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// StatusServer serves what operators and their tools look at: /metrics,
// /healthz (the process is alive) and /readyz (a quorum can vote). It has no
// password; bind it to an address that only they reach.
type StatusServer struct {
	http     http.Server
	locks    Locks
	draining atomic.Bool
}

// NewStatusServer returns a server over metrics and the state of locks.
func NewStatusServer(locks Locks, metrics *Metrics, logger *slog.Logger) *StatusServer {
	s := &StatusServer{locks: locks}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler())
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /{$}", index)
	s.http = http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	if logger != nil {
		s.http.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	}
	return s
}

// Handler is what Serve serves.
func (s *StatusServer) Handler() http.Handler { return s.http.Handler }

// Serve answers on ln until Shutdown is called; then it returns nil.
func (s *StatusServer) Serve(ln net.Listener) error {
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
	return s.http.Shutdown(ctx)
}

func (s *StatusServer) healthz(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok")
}

func (s *StatusServer) readyz(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		plain(w, http.StatusServiceUnavailable, "shutting down")
		return
	}
	if why := notReady(s.locks); why != "" {
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
