package proxy

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"time"
)

// waiting tells the log, in words for whoever started the proxy, that no locks
// can be had, why and what to do, and when they can be had again. It is said
// when that has lasted a moment, and then again, less and less often.
type waiting struct {
	locks  Locks
	logger *slog.Logger
	since  time.Time // of when no locks can be had; zero: they can
	next   time.Time // when it is said
	pause  time.Duration
	said   bool
}

const (
	waitingFirst = 2 * time.Second
	waitingLast  = time.Minute
	waitingLook  = 500 * time.Millisecond
)

// follow looks now and then, until ctx ends.
func (w *waiting) follow(ctx context.Context) {
	ticker := time.NewTicker(waitingLook)
	defer ticker.Stop()
	for {
		w.look(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *waiting) look(now time.Time) {
	why := notReady(w.locks)
	switch {
	case why == "":
		if w.said {
			w.logger.Info("locks can be had: a quorum of masters votes", "after", now.Sub(w.since).Round(time.Millisecond))
		}
		w.since, w.said = time.Time{}, false
	case w.since.IsZero():
		w.since, w.pause = now, waitingFirst
		w.next = now.Add(w.pause)
	case !now.Before(w.next):
		w.logger.Warn("no locks can be had", "for", now.Sub(w.since).Round(time.Second), "why", why, "what_to_do", whatToDo(w.locks))
		w.said = true
		w.pause = min(2*w.pause, waitingLast)
		w.next = now.Add(w.pause)
	}
}

// remedies are what to do about a reason, by words that are in it.
var remedies = [...]struct{ sign, remedy string }{
	{"connection refused", "nothing listens there: start the master, or correct --masters"},
	{"no such host", "nobody knows this name: correct --masters, or look at the name service"},
	{"i/o timeout", "nothing answers there: look at the network and its firewalls"},
	{"no route to host", "there is no way there: look at the network"},
	{"NOAUTH", "it asks for a password: set --masters-password-file, or put it into the URL"},
	{"refuses the user or password", "correct --masters-password-file and --masters-username"},
	{"NOPERM", "its user may do too little: give it all keys, channels and commands (ACL SETUSER … ~* &* +@all)"},
	{"x509:", "its certificate is not trusted: correct --tls-ca, or the name in --masters"},
	{"first record does not look like a TLS", "it speaks no TLS there: redis:// instead of rediss://, or its TLS port"},
}

// whatToDo is advice about the masters that do not vote. Of reasons that are
// not here, most say it themselves, or need nobody.
func whatToDo(locks Locks) string {
	var advice []string
	for _, r := range locks.Report() {
		if r.Votes {
			continue
		}
		for _, known := range remedies {
			if strings.Contains(r.Reason, known.sign) {
				advice = append(advice, r.Name+": "+known.remedy)
				break
			}
		}
	}
	if len(advice) == 0 {
		return "see the reasons; redlock status shows them, too"
	}
	return strings.Join(advice, "; ")
}

// explainListen adds what to do to an error of listening.
func explainListen(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return explained{err, "another program has this port: stop it, or take another port"}
	case errors.Is(err, syscall.EACCES):
		return explained{err, "ports below 1024 need a right of their own (CAP_NET_BIND_SERVICE): take a higher one"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return explained{err, "this machine has no such address: take one of its own, or 0.0.0.0 for all"}
	}
	return err
}

// explained is an error with what to do about it.
type explained struct {
	error
	remedy string
}

func (e explained) Error() string { return e.error.Error() + " (" + e.remedy + ")" }

func (e explained) Unwrap() error { return e.error }
