package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a guard for a client without a socket, in a bubble with a clock of
// its own.
func piped(t *testing.T, authed bool) (*Guard, net.Conn) {
	server, client := net.Pipe()
	t.Cleanup(func() { server.Close(); client.Close() })
	g := NewGuard(server, Limits{CommandTimeout: 10 * time.Second})
	if authed {
		g.Authenticated()
	}
	return g, client
}

// meanwhile runs f, which ends at the latest when the client's end is closed,
// and waits for it at the end of the test.
func meanwhile(t *testing.T, client net.Conn, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	t.Cleanup(func() { client.Close(); <-done })
}

// dripping sends text byte by byte, and stops when the guard does.
func dripping(client net.Conn, text string, pause time.Duration) {
	for i := range text {
		if _, err := io.WriteString(client, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

func TestACommandHasToArriveInTime(t *testing.T) {
	for _, text := range []string{array("SET", "k", "v"), "SET key value\r\n"} {
		for pause, want := range map[time.Duration]error{
			time.Second: errHalfCommand, 10 * time.Second: errHalfCommand, time.Minute: errHalfCommand, 10 * time.Millisecond: nil,
		} {
			synctest.Test(t, func(t *testing.T) {
				g, client := piped(t, true)
				start := time.Now()
				meanwhile(t, client, func() { dripping(client, text, pause) })
				_, err := g.ReadCommands()
				if err != want {
					t.Errorf("%q every %v: got %v, want %v", text, pause, err, want)
				}
				if took := time.Since(start); err != nil && took != 10*time.Second {
					t.Errorf("%q every %v: closed after %v, want 10s", text, pause, took)
				}
			})
		}
	}
}

// What counts is one command: a client may send them for ever, and be silent
// for as long as it likes between them.
func TestWholeCommandsMayComeSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client := piped(t, true)
		meanwhile(t, client, func() {
			for range 5 {
				dripping(client, array("PING"), 500*time.Millisecond)
				time.Sleep(time.Hour)
			}
		})
		for range 5 {
			if _, err := g.ReadCommands(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAPasswordHasToComeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client := piped(t, false)
		start := time.Now()
		meanwhile(t, client, func() {
			for {
				if _, err := io.WriteString(client, array("PING")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		err := error(nil)
		for err == nil {
			_, err = g.ReadCommands()
		}
		if took := time.Since(start); err != errNoLogin || took != 10*time.Second {
			t.Errorf("got %v after %v, want %v after 10s", err, took, errNoLogin)
		}
	})
}

func TestAfterLoginThereIsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client := piped(t, false)
		meanwhile(t, client, func() {
			time.Sleep(9 * time.Second)
			io.WriteString(client, array("PING"))
			time.Sleep(time.Hour)
			io.WriteString(client, array("PING"))
		})
		for range 2 {
			if _, err := g.ReadCommands(); err != nil {
				t.Fatal(err)
			}
			g.Authenticated()
		}
	})
}

// The caller's deadline stays its own, with half a command there and without.
func TestDeadlinesOfTheCallerAreNoFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client := piped(t, true)
		for _, half := range []string{"", "*1\r\n$4\r\nPI"} {
			meanwhile(t, client, func() { io.WriteString(client, half) })
			g.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := g.ReadCommands(); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrSlow) {
				t.Errorf("after %q: got %v, want a timeout", half, err)
			}
		}
		g.SetReadDeadline(time.Time{})
		meanwhile(t, client, func() { io.WriteString(client, "NG\r\n") })
		if n := readBatch(t, g); n != 1 {
			t.Errorf("got %d commands, want 1", n)
		}
	})
}

func TestSlowOnASocket(t *testing.T) {
	g, client := pair(t, Limits{CommandTimeout: 50 * time.Millisecond})
	g.Authenticated()
	io.WriteString(client, array("PING")+"*1\r\n$4\r\nPI")
	readBatch(t, g)
	if _, err := g.ReadCommands(); err != errHalfCommand {
		t.Errorf("got %v, want %v", err, errHalfCommand)
	}
}
