package resp

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// ErrSlow says that a client has kept the guard waiting for longer than
// [Limits.CommandTimeout]. [Guard.Read] returns an error that wraps it. Nothing
// can be read afterwards; the client is told nothing, as with Redis's timeout.
var ErrSlow = errors.New("the client is too slow")

// ErrWoken says that [Guard.Wake] was called. Reading may go on.
var ErrWoken = errors.New("the reader was woken")

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

var (
	errHalfCommand = fmt.Errorf("%w: it did not finish a command", ErrSlow)
	errNoLogin     = fmt.Errorf("%w: it did not log in", ErrSlow)
)

// clock keeps the time of one client. The deadline of its connection is set
// only when there is nothing to read, and only if it changes: a client that
// sends whole commands and waits for the replies pays nothing for this.
type clock struct {
	// The reader's own. Zero: no such deadline.
	command time.Time // for the end of the command that has begun
	login   time.Time

	mu      sync.Mutex
	own     time.Time // the earlier of the two above
	callers time.Time // what the caller wants
	woken   bool      // the reader has to return, whatever the deadlines are
}

// waits is called when there is nothing to read.
func (g *Guard) waits() {
	c, patience := &g.clock, g.policy.timeout
	if patience == 0 {
		return
	}
	if len(g.unread.bytes()) > 0 && c.command.IsZero() {
		c.command = time.Now().Add(patience)
	}
	switch authed := g.authed.Load(); {
	case authed:
		c.login = time.Time{}
	case c.login.IsZero():
		c.login = time.Now().Add(patience)
	}
	if own := earlier(c.command, c.login); own != c.own {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.own = own
		g.setDeadline()
	}
}

// SetReadDeadline sets when reading times out. It may be called at any time.
func (g *Guard) SetReadDeadline(t time.Time) error {
	g.clock.mu.Lock()
	defer g.clock.mu.Unlock()
	g.clock.callers = t
	return g.setDeadline()
}

// SetDeadline sets when reading and writing time out.
func (g *Guard) SetDeadline(t time.Time) error {
	return errors.Join(g.SetReadDeadline(t), g.SetWriteDeadline(t))
}

// Wake makes who waits for commands, or will be the next to wait, return
// [ErrWoken]. No byte and no deadline is lost by that. It may be called at any
// time.
func (g *Guard) Wake() {
	g.clock.mu.Lock()
	defer g.clock.mu.Unlock()
	g.clock.woken = true
	g.setDeadline()
}

// wasWoken reports whether a timeout is due to Wake, once.
func (g *Guard) wasWoken() bool {
	g.clock.mu.Lock()
	defer g.clock.mu.Unlock()
	if !g.clock.woken {
		return false
	}
	g.clock.woken = false
	g.setDeadline()
	return true
}

// setDeadline hands on whichever deadline comes first. The clock is locked.
func (g *Guard) setDeadline() error {
	if g.clock.woken {
		return g.Conn.SetReadDeadline(longAgo)
	}
	return g.Conn.SetReadDeadline(earlier(g.clock.own, g.clock.callers))
}

// lateness makes a fault of a timeout that is not the caller's, and ErrWoken of
// one that is none.
func (g *Guard) lateness(err error) error {
	c, now := &g.clock, time.Now()
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case g.wasWoken():
		return ErrWoken
	case c.own.IsZero() || now.Before(c.own):
		return err
	}
	g.fail(errNoLogin)
	if c.own == c.command {
		g.fault = errHalfCommand
	}
	return g.fault
}

// earlier returns the earlier of two deadlines. Zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
