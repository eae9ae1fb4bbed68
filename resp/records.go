package resp

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
)

// Records reads TLS records from a socket for a tls.Conn, which would hold
// memory for the largest one as soon as its header is there, and could not be
// waited for without a buffer.
//
// Read hands over the rest of one record at most, and only when all of it has
// come. So a tls.Conn that has returned the data of a record holds nothing more.
// What is not handed over takes memory as it comes, see buffer; a connection
// that waits between two records holds none.
//
// One goroutine uses it at a time.
type Records struct {
	conn   net.Conn
	unread buffer
	left   int // bytes of the present record that were not handed over

	// raw is nil if the connection has none: then Read only passes on.
	raw     syscall.RawConn
	tryRead func(fd uintptr) (done bool)
	readErr error
}

// NewRecords returns the records that come from conn.
func NewRecords(conn net.Conn) *Records {
	r := &Records{conn: conn}
	r.useSocket()
	return r
}

// Await waits until a record is there, or an error. It returns false, at once,
// if it cannot wait.
func (r *Records) Await() (can bool, err error) {
	if r.raw == nil {
		return false, nil
	}
	for r.left == 0 {
		if r.left = recordSize(r.unread.bytes()); r.left > 0 {
			break
		}
		r.readErr = nil
		if err := r.raw.Read(r.tryRead); err != nil {
			return true, err
		}
		if r.readErr == io.EOF && len(r.unread.bytes()) > 0 {
			r.readErr = io.ErrUnexpectedEOF
		}
		if r.readErr != nil {
			return true, r.readErr
		}
	}
	return true, nil
}

// Read reads what fits of one record.
func (r *Records) Read(p []byte) (int, error) {
	if can, err := r.Await(); !can || err != nil {
		if err == nil {
			return r.conn.Read(p)
		}
		return 0, err
	}
	n := copy(p, r.unread.bytes()[:r.left])
	r.unread.take(n)
	r.left -= n
	r.unread.release(0)
	return n, nil
}

// recordSize is how long the record is that b begins with, 0 if it is not all
// there. What is no TLS counts as it is: a tls.Conn knows what to say of it.
func recordSize(b []byte) int {
	const (
		header              = 5
		firstType, lastType = 20, 24
		major               = 3
		maxBody             = 16<<10 + 2048
	)
	if len(b) > 0 && (b[0] < firstType || b[0] > lastType) || len(b) > 1 && b[1] != major {
		return len(b)
	}
	if len(b) < header {
		return 0
	}
	size := header + int(binary.BigEndian.Uint16(b[3:]))
	switch {
	case size > header+maxBody:
		return len(b)
	case size > len(b):
		return 0
	}
	return size
}
