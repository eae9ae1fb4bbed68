package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// TestWaitingIsSaidAndEnds: after a moment, less and less often, with advice.
func TestWaitingIsSaidAndEnds(t *testing.T) {
	var log lockedBuffer
	refused := redlock.MasterReport{Name: "a:1", State: "down", Reason: "dial tcp: connect: connection refused"}
	locks := newTestLocks(refused, redlock.MasterReport{Name: "b:1", State: "down", Reason: "SELECT 0: NOAUTH Authentication required."})
	w := &waiting{locks: locks, logger: slog.New(slog.NewTextHandler(&log, nil))}
	start := time.Now()
	var at []time.Duration
	for d := time.Duration(0); d < 4*time.Minute; d += waitingLook {
		before := strings.Count(log.String(), "no locks can be had")
		w.look(start.Add(d))
		if strings.Count(log.String(), "no locks can be had") > before {
			at = append(at, d)
		}
	}
	want := "[2s 6s 14s 30s 1m2s 2m2s 3m2s]"
	if got := fmt.Sprint(at); got != want {
		t.Errorf("said after %s, want %s", got, want)
	}
	for _, want := range []string{"0 of 2 masters vote", "a:1: nothing listens there", "b:1: it asks for a password"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
	w.locks = newTestLocks(redlock.MasterReport{Name: "a:1", State: "votes", Votes: true})
	w.look(start.Add(4 * time.Minute))
	if !strings.Contains(log.String(), "locks can be had: a quorum of masters votes") {
		t.Errorf("the log does not say that it is over:\n%s", log.String())
	}
}

// TestAMomentWithoutAQuorumIsNotSaid: every start has one.
func TestAMomentWithoutAQuorumIsNotSaid(t *testing.T) {
	var log lockedBuffer
	w := &waiting{locks: newTestLocks(redlock.MasterReport{Name: "a:1", State: "connecting"}), logger: slog.New(slog.NewTextHandler(&log, nil))}
	start := time.Now()
	w.look(start)
	w.look(start.Add(waitingFirst - 1))
	w.locks = newTestLocks(redlock.MasterReport{Name: "a:1", State: "votes", Votes: true})
	w.look(start.Add(waitingFirst))
	if got := log.String(); got != "" {
		t.Errorf("the log says\n%s", got)
	}
}

func TestListenErrorsSayWhatToDo(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.EADDRINUSE:    "another program has this port",
		syscall.EACCES:        "ports below 1024",
		syscall.EADDRNOTAVAIL: "no such address",
		errors.New("else"):    "else",
	} {
		err := explainListen(fmt.Errorf("listen: %w", cause))
		if !strings.Contains(err.Error(), want) || !errors.Is(err, cause) {
			t.Errorf("got %q, want the cause and %q", err, want)
		}
	}
}
