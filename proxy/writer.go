package proxy

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// errLate says that what a client was granted ran out while its socket was
// full. It cannot be told so: part of the reply may be on its way.
var errLate = errors.New("a granted lock could not be handed over in time")

// writer is the outgoing side of a connection: a buffer that is written as far
// as the socket takes it. One goroutine uses it at a time.
type writer struct {
	conn    net.Conn
	raw     syscall.RawConn // nil if the connection has none: then try does nothing
	tls     *tlsConn        // makes records of buf; nil without TLS
	step    func(fd uintptr) bool
	buf     []byte
	written int // bytes of buf that are in the socket, in whole records of TLS

	waiting bool        // step may ask to wait
	valid   func() bool // asked before a delayed write
	err     error       // of step
}

func (w *writer) init(conn net.Conn) {
	w.conn = conn
	if g, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = g.NetConn()
	}
	if c, ok := conn.(*tlsConn); ok {
		w.tls, conn = c, c.tap.Conn
	}
	w.raw = rawConn(conn)
	w.step = w.writeStep
}

// add appends a reply and returns where it ends.
func (w *writer) add(reply []byte) int {
	w.buf = append(w.buf, reply...)
	return len(w.buf)
}

// empty reports whether everything is written.
func (w *writer) empty() bool { return w.written == len(w.buf) }

// reset makes the buffer ready for the next replies.
func (w *writer) reset() {
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	w.buf, w.written = w.buf[:0], 0
}

// try writes what the socket takes without waiting, which may be nothing.
func (w *writer) try() error {
	if w.raw == nil {
		return nil
	}
	w.waiting, w.err = false, nil
	if err := w.raw.Write(w.step); err != nil {
		return err
	}
	return w.err
}

// wait writes some more, and waits up to timeout for the socket to take it.
// Right before anything is written, valid has to agree.
func (w *writer) wait(timeout time.Duration, valid func() bool) error {
	w.conn.SetWriteDeadline(time.Now().Add(timeout))
	defer w.conn.SetWriteDeadline(time.Time{})
	if w.raw == nil {
		return w.waitPlain(valid)
	}
	w.waiting, w.valid, w.err = true, valid, nil
	if err := w.raw.Write(w.step); err != nil {
		return err
	}
	return w.err
}

// waitPlain is wait for connections that can only be written as a whole. When
// their Write took a reply is not known, so it has to be valid afterwards too.
func (w *writer) waitPlain(valid func() bool) error {
	if !valid() {
		return errLate
	}
	n, err := w.conn.Write(w.buf[w.written:])
	if err == nil && !valid() {
		return errLate
	}
	w.written += n
	return err
}

// writeStep is the callback of [syscall.RawConn.Write]; false asks to be called
// again when the socket takes more.
func (w *writer) writeStep(fd uintptr) bool {
	if w.waiting && !w.valid() {
		w.err = errLate
		return true
	}
	progress := false
	for !w.empty() {
		next, err := w.next()
		n := 0
		if err == nil {
			n, err = writeNow(fd, next)
		}
		switch {
		case err == errWouldBlock:
			return !w.waiting || progress
		case err != nil:
			w.err = err
			return true
		case n == 0:
			w.err = io.ErrShortWrite
			return true
		}
		w.wrote(n)
		progress = true
	}
	return true
}

// next is what is to be put into the socket next.
func (w *writer) next() ([]byte, error) {
	if w.tls != nil {
		return w.tls.record(w.buf[w.written:])
	}
	return w.buf[w.written:], nil
}

// wrote says that n bytes of that are in the socket.
func (w *writer) wrote(n int) {
	if w.tls != nil {
		n = w.tls.put(n)
	}
	w.written += n
}

// rawConn returns the raw connection for direct writes, or nil.
func rawConn(conn net.Conn) syscall.RawConn {
	if !canWriteNow {
		return nil
	}
	switch c := conn.(type) {
	case *net.TCPConn:
		return rawOf(c)
	case *net.UnixConn:
		return rawOf(c)
	}
	return nil
}

func rawOf(c syscall.Conn) syscall.RawConn {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
