package resp

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestWakeEndsTheWaitingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client := piped(t, true)
		start := time.Now()
		meanwhile(t, client, func() {
			time.Sleep(time.Second)
			g.Wake()
			time.Sleep(time.Hour)
			io.WriteString(client, array("PING"))
		})
		if _, err := g.ReadCommands(); err != ErrWoken || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want %v after 1s", err, time.Since(start), ErrWoken)
		}
		if n := readBatch(t, g); n != 1 {
			t.Errorf("got %d commands, want 1", n)
		}
	})
}

// TestWakeChangesNoDeadline: neither the caller's nor that of a command, whose
// beginning is kept.
func TestWakeChangesNoDeadline(t *testing.T) {
	for _, c := range []struct {
		sent          string
		callers, took time.Duration
		want          error
	}{
		{"", 5 * time.Second, 5 * time.Second, os.ErrDeadlineExceeded},
		{"*1\r\n$4\r\nPI", 5 * time.Second, 5 * time.Second, os.ErrDeadlineExceeded},
		{"*1\r\n$4\r\nPI", time.Minute, 10 * time.Second, errHalfCommand},
		{"*1\r\n$4\r\nPI", 0, 10 * time.Second, errHalfCommand},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, client := piped(t, true)
			start := time.Now()
			if c.callers > 0 {
				g.SetReadDeadline(start.Add(c.callers))
			}
			meanwhile(t, client, func() { io.WriteString(client, c.sent) })
			for wakes := range 3 {
				time.AfterFunc(time.Second, g.Wake)
				if _, err := g.ReadCommands(); err != ErrWoken {
					t.Fatalf("wake %d: got %v", wakes, err)
				}
			}
			if _, err := g.ReadCommands(); !errors.Is(err, c.want) || time.Since(start) != c.took {
				t.Errorf("%q: got %v after %v, want %v after %v", c.sent, err, time.Since(start), c.want, c.took)
			}
		})
	}
}

// TestWakeOfWhoDoesNotWait is for the next to wait; what has arrived is not lost.
func TestWakeOfWhoDoesNotWait(t *testing.T) {
	g, client := pair(t, Limits{})
	g.Wake()
	g.SetReadDeadline(time.Now().Add(time.Minute))
	io.WriteString(client, array("PING"))
	if _, err := g.ReadCommands(); err != ErrWoken {
		t.Errorf("got %v, want %v", err, ErrWoken)
	}
	if n := readBatch(t, g); n != 1 {
		t.Errorf("got %d commands, want 1", n)
	}
}
