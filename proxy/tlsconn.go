package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"redlock-proxy/resp"
)

// handshakeTimeout is how long a client may take to agree on TLS.
const handshakeTimeout = 10 * time.Second

// handshakeError is why a client could not agree on TLS with us.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return "TLS: " + e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

var errNoTLSYet = errors.New("TLS is not agreed on yet")

// tlsListener makes TLS connections of those of another. Accept waits for
// nothing that a client has to send.
type tlsListener struct {
	net.Listener
	config func() *tls.Config // for the next connection
}

func (l tlsListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newTLSConn(conn, l.config()), nil
}

// tlsConn is a TLS connection that can be written without waiting: records are
// made here, and put into the socket by the caller. A client can read nothing of
// a record before it has all of it, so what is in the socket counts by whole
// records.
//
// One goroutine may read and another write at a time; Close may be called at
// any time.
type tlsConn struct {
	*tls.Conn
	tap           *tap
	authenticates bool // the client has to show a certificate
	agreed        atomic.Bool
	unread        bool // the tls.Conn may hold data that was not read; of the reader

	sealing sync.Mutex
	closing bool
}

func newTLSConn(conn net.Conn, config *tls.Config) *tlsConn {
	t := &tap{Conn: conn, in: resp.NewRecords(conn)}
	return &tlsConn{Conn: tls.Server(t, config), tap: t, authenticates: config.ClientAuth == tls.RequireAndVerifyClientCert}
}

// Read agrees on TLS first. Its error is then a *handshakeError.
func (c *tlsConn) Read(p []byte) (int, error) {
	if !c.agreed.Load() {
		if err := c.agree(); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(p)
	c.unread = n == len(p) && err == nil
	return n, err
}

// AwaitRead is that of [resp.Waiter].
func (c *tlsConn) AwaitRead() (can bool, err error) {
	if !c.agreed.Load() {
		if err := c.agree(); err != nil {
			return false, err
		}
	}
	if c.unread {
		return true, nil
	}
	return c.tap.in.Await()
}

func (c *tlsConn) agree() error {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no handshake within %v", handshakeTimeout)
		}
		return &handshakeError{err}
	}
	c.tap.hold()
	c.agreed.Store(true)
	return nil
}

// maxRecord is how many bytes one TLS record holds.
const maxRecord = 16 << 10

// record returns what is to be put into the socket next. If that is nothing, it
// is a record of the beginning of plain.
func (c *tlsConn) record(plain []byte) ([]byte, error) {
	c.sealing.Lock()
	defer c.sealing.Unlock()
	switch {
	case c.closing:
		return nil, net.ErrClosed
	case !c.agreed.Load():
		return nil, errNoTLSYet
	}
	if held := c.tap.held(); len(held) > 0 {
		return held, nil
	}
	n := min(len(plain), maxRecord)
	if _, err := c.Conn.Write(plain[:n]); err != nil {
		return nil, err
	}
	return c.tap.mark(n), nil
}

// put says that n bytes of what record returned are in the socket, and returns
// how many bytes more a client can read now.
func (c *tlsConn) put(n int) (plain int) { return c.tap.put(n) }

// Write is for those who may wait. Before TLS is agreed on it fails: as with
// Redis, a client that is turned away by then is not told why.
func (c *tlsConn) Write(b []byte) (written int, err error) {
	for written < len(b) {
		record, err := c.record(b[written:])
		if err != nil {
			return written, err
		}
		n, err := c.tap.Conn.Write(record)
		written += c.put(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Close tells the client about the end if nothing else is left to be told: what
// a connection that is cut off was still to get, it must not get any more.
func (c *tlsConn) Close() error {
	c.sealing.Lock()
	c.closing = true
	c.sealing.Unlock()
	c.tap.finish()
	return c.Conn.Close()
}
