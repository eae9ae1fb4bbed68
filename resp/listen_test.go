package resp

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a listener with fixed results.
type failing struct {
	net.Listener
	errs []error // of the next calls; nil is a connection
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err != nil {
		return nil, err
	}
	return new(pieces), nil
}

func (f *failing) Close() error { return nil }

func TestAcceptWaitsLongerFromErrorToError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &net.OpError{Op: "accept", Err: syscall.EMFILE}
		ln := Listen(&failing{errs: []error{full, full, full, full, full, full, full, full, full, full, nil, full}}, Limits{})
		for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000, 0, 5} {
			start := time.Now()
			conn, err := ln.Accept()
			if got := time.Since(start); got != want*time.Millisecond {
				t.Errorf("got a wait of %v, want %v", got, want*time.Millisecond)
			}
			if _, guarded := conn.(*Guard); guarded != (want == 0) || (err == nil) != guarded {
				t.Errorf("got %v, %v", conn, err)
			}
			if err != nil && !errors.Is(err, syscall.EMFILE) {
				t.Errorf("got %v, want the error of the listener", err)
			}
		}
	})
}

func TestCloseEndsTheWaitOfAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := Listen(&failing{errs: []error{syscall.EMFILE}}, Limits{})
		start := time.Now()
		go ln.Close()
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("waited %v after Close", waited)
		}
		ln.Close() // once more does no harm
	})
}

func TestClosedListenerIsNotWaitedFor(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Listen(inner, Limits{})
	ln.Close()
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
