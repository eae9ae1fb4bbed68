package proxy

import (
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAffordableClients(t *testing.T) {
	for _, test := range []struct {
		wanted int
		files  uint64
		want   int
	}{
		{10_000, 1 << 20, 10_000},
		{10_000, 10_064, 10_000},
		{10_000, 10_063, 9_999},
		{10_000, 1024, 960},
		{100, 1024, 100},
		{10_000, 128, 64},
		{10_000, 100, 50},
		{10_000, 1, 1},
		{10_000, 1<<64 - 1, 10_000}, // no limit
	} {
		if got := affordable(test.wanted, test.files); got != test.want {
			t.Errorf("%d of %d files: got %d, want %d", test.wanted, test.files, got, test.want)
		}
	}
}

func TestAcceptErrorsAreLoggedOncePerEpisode(t *testing.T) {
	text := new(logText)
	log := slog.New(slog.NewTextHandler(text, nil))
	var e acceptErrors
	now := time.Now()
	for range 2 {
		for range 100 { // at the limit some are accepted, some are not
			e.failed(log, syscall.EMFILE, now)
			e.accepted(log, now.Add(time.Second))
			now = now.Add(5 * time.Second)
		}
		now = now.Add(calm)
		e.accepted(log, now)
		e.accepted(log, now)
	}
	e.failed(log, syscall.EMFILE, now)
	e.failed(log, syscall.EMFILE, now.Add(time.Hour)) // nobody came in between
	failed, again := strings.Count(text.String(), "cannot accept"), strings.Count(text.String(), "accepted again")
	if failed != 4 || again != 2 || !strings.Contains(text.String(), "errors=100") {
		t.Errorf("got %d and %d lines, want 4 and 2:\n%s", failed, again, text)
	}
}
