package resp

import (
	"errors"
	"net"
	"sync"
	"time"
)

// How long Accept waits after an error: longer from one error to the next.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second
)

// listener guards the connections of another.
type listener struct {
	net.Listener
	policy  *policy
	backoff time.Duration // before the next error is returned

	closeOnce sync.Once
	closed    chan struct{}
}

// Listen returns a listener whose connections are [*Guard]s with the limits
// l. Its Accept waits for nothing a client has to send.
//
// If Accept fails, usually because the process may not open more files, it
// waits before it returns the error: 5 ms, then longer, up to a second. So a
// caller that simply tries again, as redcon's server does, does not spin.
// Closing the listener ends the wait.
func Listen(ln net.Listener, l Limits) net.Listener {
	return &listener{Listener: ln, policy: l.policy(), closed: make(chan struct{})}
}

// Accept is for one goroutine at a time.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.backoff = 0
		return newGuard(conn, l.policy), nil
	}
	if errors.Is(err, net.ErrClosed) {
		return nil, err
	}
	l.backoff = min(max(2*l.backoff, minBackoff), maxBackoff)
	select {
	case <-time.After(l.backoff):
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
