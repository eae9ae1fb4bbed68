package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// testLocks is a Locks over masters that never answer.
type testLocks struct {
	quorum  *redlock.Quorum
	reports []redlock.MasterReport
	counted redlock.Restorations
	keys    func(db int, f redlock.KeyFilter) ([]string, error)
	survey  func(db int, f redlock.KeyFilter, limit int) (redlock.Survey, error)
}

func (l *testLocks) DB(n int) (*redlock.Quorum, error) {
	if n < 0 || n >= databases {
		return nil, errors.New("no such database")
	}
	return l.quorum, nil
}

func (l *testLocks) Quorums() []*redlock.Quorum { return []*redlock.Quorum{l.quorum} }

func (l *testLocks) Databases() []int { return []int{0} }

func (l *testLocks) Report() []redlock.MasterReport { return l.reports }

func (l *testLocks) Keys(_ context.Context, db int, f redlock.KeyFilter) ([]string, error) {
	return l.keys(db, f)
}

func (l *testLocks) Survey(_ context.Context, db int, f redlock.KeyFilter, limit int, _ func([]byte) uint64) (redlock.Survey, error) {
	if l.survey == nil {
		return redlock.Survey{Masters: 3, Need: 2, Answered: 3, Voting: true}, nil
	}
	return l.survey(db, f, limit)
}

func (l *testLocks) Change(context.Context, redlock.SetChange) ([]string, error) { return nil, nil }
func (l *testLocks) Admit(context.Context, string) ([]string, error)             { return nil, nil }

func (l *testLocks) Restorations() redlock.Restorations { return l.counted }

func (l *testLocks) Bus() *redlock.Bus { return redlock.NewBus() }

// silent is a master that is up, or down for the reason it is.
type silent string

func (silent) Name() string            { return "silent" }
func (silent) Send(*redlock.Call) bool { return false }
func (m silent) Down() string          { return string(m) }

// stopped is a clock that stands.
type stopped struct{}

func (stopped) Now() time.Duration              { return 0 }
func (stopped) AfterFunc(time.Duration, func()) {}

// newTestLocks has a master for each report, up if it votes.
func newTestLocks(reports ...redlock.MasterReport) *testLocks {
	var masters []redlock.Master
	for _, r := range reports {
		down := ""
		if !r.Votes {
			down = "down"
		}
		masters = append(masters, silent(down))
	}
	q := redlock.New(redlock.Config{
		Masters: masters, OpTimeout: 50 * time.Millisecond, DriftPPM: 500, Clock: stopped{}, Logger: slog.New(slog.DiscardHandler),
	})
	return &testLocks{quorum: q, reports: reports}
}

// threeMasters are two that vote and one that is down.
func threeMasters() *testLocks {
	return newTestLocks(
		redlock.MasterReport{Name: "10.0.0.1:7001", State: "votes", Votes: true, Server: "redis 7.0.15", Latency: 200 * time.Microsecond, Queue: 3},
		redlock.MasterReport{Name: "10.0.0.2:7002", State: "votes", Votes: true, Server: "redis 7.0.15", Latency: 250 * time.Microsecond},
		redlock.MasterReport{Name: "10.0.0.3:7003", State: "down", Reason: "connection refused", Failures: map[string]uint64{"down": 7}},
	)
}

// newTestServer returns a server and a connection to it.
func newTestServer(t *testing.T, change ...func(*Config)) (*Server, *client) {
	t.Helper()
	locks := threeMasters()
	cfg := Config{
		Listen: "127.0.0.1:6380", ProtectedMode: true, MaxClients: 10000, Version: "1.2.3",
		Logger: slog.New(slog.DiscardHandler), Locks: locks, Metrics: NewMetrics("1.2.3", locks),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, connect(s)
}

func withPassword(user, password string) func(*Config) {
	return func(cfg *Config) { cfg.User, cfg.RequirePass = user, password }
}

func connect(s *Server) *client {
	c := &client{}
	s.welcome(c, "127.0.0.1:5000", "127.0.0.1:6380")
	return c
}

// words splits a command line; a word in double quotes may hold spaces and
// Go's escapes.
func words(t *testing.T, line string) [][]byte {
	t.Helper()
	var args [][]byte
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			args, line = append(args, []byte(word)), rest
			continue
		}
		end := 1 + strings.IndexByte(line[1:], '"')
		var word string
		if _, err := fmt.Sscanf(line[:end+1], "%q", &word); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		args, line = append(args, []byte(word)), line[end+1:]
	}
	return args
}

// say runs one command on a connection.
func say(t *testing.T, s *Server, c *client, line string) (string, action) {
	t.Helper()
	reply, do := s.utility(c, words(t, line), nil)
	return string(reply), do
}

// like compares, "…" in want standing for anything.
func like(got, want string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return got == want
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

func (*testLocks) Drain(context.Context) {}
