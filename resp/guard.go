package resp

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Guard is a connection of a client whose Read returns only whole and valid
// commands, each an array of at least one bulk string within [Limits]. It
// stands before redcon's parser, which (version 1.6.4) can be made to panic,
// to overflow its stack, to compute for seconds or to allocate without bound
// by a few bytes of anybody who can connect.
//
// What is valid but of no consequence, such as an empty line or array, is
// dropped; inline commands are rewritten as arrays.
//
// The first command comes alone, however many follow it at once: redcon's
// server hands it to its handler, which detaches the connection and goes on
// with [Guard.ReadCommands].
//
// A fault in front of the first command is answered by the Guard itself,
// because redcon's server closes such connections without a word. Later ones
// are for the caller to answer, when the replies before them are written.
//
// One goroutine may read at a time. The other methods of [net.Conn] are those
// of the connection, but deadlines for reading stand beside those of
// [Limits.CommandTimeout].
type Guard struct {
	net.Conn
	policy *policy
	authed atomic.Bool
	clock  clock

	unread buffer
	frame  framer // of what is unread
	batch  []byte // whole commands, to be handed out before anything else is done
	count  int    // how many there were in the batch
	begun  bool   // the first command has been found
	fault  error  // the end of this connection
	weight weight

	// Reading from the socket; raw is nil if the connection has none of its own.
	raw     syscall.RawConn
	tryRead func(fd uintptr) (done bool)
	readErr error
	waiter  Waiter // nil if the connection is none
}

// Waiter is a connection that can wait without a buffer of the reader's.
type Waiter interface {
	// AwaitRead returns when a Read has something to return, if only an error,
	// or nearly so: it may still wait for the rest of a record. Its own errors
	// are those of the connection. It returns false if it cannot wait.
	AwaitRead() (can bool, err error)
}

// NewGuard returns a Guard for a new connection. It applies the defaults to
// the zero Limits.
func NewGuard(conn net.Conn, l Limits) *Guard {
	return newGuard(conn, l.policy())
}

func newGuard(conn net.Conn, p *policy) *Guard {
	g := &Guard{Conn: conn, policy: p}
	g.waiter, _ = conn.(Waiter)
	g.useSocket()
	return g
}

// NetConn returns the connection behind the guard, for anything but reading.
func (g *Guard) NetConn() net.Conn { return g.Conn }

// Authenticated lifts the limits for clients that have not logged in. It is
// also to be called where nobody has to. It may be called at any time.
func (g *Guard) Authenticated() { g.authed.Store(true) }

// Unauthenticated brings these limits back, after a RESET.
func (g *Guard) Unauthenticated() { g.authed.Store(false) }

// Read reads commands. At a fault, after all commands before it, it returns a
// [*ProtocolError], or an error that wraps [ErrNotRedis]; otherwise the errors
// of the connection, or one that wraps [ErrSlow]. After a timeout that the
// caller has asked for, reading may go on.
//
// A panic of its own is an error, too, a [*PanicError]: redcon's server, which
// calls Read for the first command, would end the process.
func (g *Guard) Read(p []byte) (n int, err error) {
	defer g.panicked(&err)
	if len(p) == 0 {
		return 0, nil
	}
	if err := g.await(); err != nil {
		return 0, err
	}
	return g.hand(p), nil
}

// hand copies as much of the batch to p as fits.
func (g *Guard) hand(p []byte) int {
	n := copy(p, g.batch)
	g.batch = g.batch[n:]
	if len(g.batch) == 0 {
		g.batch = nil
		g.unread.release(g.keep())
		g.weigh()
	}
	return n
}

// await returns when there is a batch.
func (g *Guard) await() error {
	for {
		if len(g.batch) == 0 && g.fault == nil {
			g.take()
		}
		switch {
		case len(g.batch) > 0:
			return nil
		case g.fault != nil:
			return g.fault
		}
		if err := g.fill(); err != nil {
			return g.lateness(err)
		}
	}
}

// take makes a batch of the whole commands that what is unread begins with. If
// there are any it leaves alone what comes behind them, a fault even: that may
// be none any more when they have been executed, if one of them is AUTH.
func (g *Guard) take() {
	size := 0
	for g.count = 0; g.wants(size); {
		rest := g.unread.bytes()[size:]
		n, what, err := g.frame.next(rest, g.bounds())
		if g.count > 0 && what != wholeArray {
			break
		}
		switch {
		case err != nil:
			g.fail(err)
			return
		case what == incomplete:
			return
		case what == wholeArray:
			g.count++
			size += n
		case what == emptyArray:
			g.unread.take(n)
		case what == wholeLine:
			g.takeLine(n)
			if g.count > 0 || g.fault != nil {
				return
			}
		}
	}
	g.batch = g.unread.take(size)
	g.begun = g.begun || g.count > 0
	g.clock.command = time.Time{}
}

// wants reports whether there is more to look at, behind a batch of size bytes,
// and whether the batch may grow.
func (g *Guard) wants(size int) bool {
	if g.count > 0 && (!g.begun || size >= g.policy.batch) {
		return false
	}
	return len(g.unread.bytes()) > size
}

// takeLine makes a batch of the inline command in the next n bytes.
func (g *Guard) takeLine(n int) {
	args, err := inlineCommand(g.unread.bytes()[:n-1])
	if err != nil {
		g.fail(err)
		return
	}
	g.unread.take(n)
	if len(args) == 0 {
		return
	}
	g.batch = AppendArray(nil, len(args))
	for _, arg := range args {
		g.batch = AppendBulk(g.batch, arg)
	}
	g.count, g.begun, g.clock.command = 1, true, time.Time{}
}

func (g *Guard) bounds() *bounds {
	if g.authed.Load() {
		return &g.policy.after
	}
	return &g.policy.before
}

// fail ends the connection for reading, and tells the client why if nobody
// else will.
func (g *Guard) fail(err error) {
	g.fault = err
	g.unread.move(0)
	g.weigh()
	var fault *ProtocolError
	if g.begun || !errors.As(err, &fault) {
		return
	}
	// Nothing was written before, so this goes at once; if not, never mind.
	g.SetWriteDeadline(time.Now().Add(time.Second))
	g.Write(AppendError(nil, "ERR "+fault.Error()))
}

// fill reads from the connection once, and waits for it if need be.
func (g *Guard) fill() error {
	if g.raw != nil {
		g.readErr = nil
		err := g.raw.Read(g.tryRead)
		if err == nil {
			err = g.readErr
		}
		return err
	}
	g.waits()
	size := smallRead
	if g.waiter != nil {
		g.unread.park()
		can, err := g.waiter.AwaitRead()
		if err != nil {
			return err
		}
		if can {
			size = bigRead
		}
	}
	room := g.unread.room(size)
	g.weigh()
	n, err := g.Conn.Read(room)
	g.unread.added(n)
	if n > 0 {
		return nil
	}
	return err
}

// keep returns how much memory of its own the guard keeps while it waits. It is
// none if it can do without.
func (g *Guard) keep() int {
	if g.raw != nil || g.waiter != nil {
		return 0
	}
	return smallRead
}
