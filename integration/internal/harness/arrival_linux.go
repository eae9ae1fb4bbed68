package harness

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"time"
)

// ArrivalConn is a TCP connection that tells when the kernel received what was
// read last. On one machine that is when the other side handed it to its
// socket: whatever keeps the reader waiting comes later.
type ArrivalConn struct {
	*net.TCPConn
	raw     syscall.RawConn
	arrived time.Time
	oob     [64]byte
}

// DialArrival connects to addr.
func DialArrival(addr string) (*ArrivalConn, error) {
	c, err := net.DialTimeout("tcp", addr, ioTimeout)
	if err != nil {
		return nil, err
	}
	a := &ArrivalConn{TCPConn: c.(*net.TCPConn)}
	if a.raw, err = a.SyscallConn(); err == nil {
		var failed error
		err = a.raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
		})
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return a, nil
}

// Arrived is when the kernel received what the last Read returned.
func (a *ArrivalConn) Arrived() time.Time { return a.arrived }

// Read is that of [io.Reader].
func (a *ArrivalConn) Read(b []byte) (n int, err error) {
	oobn := 0
	waited := a.raw.Read(func(fd uintptr) bool {
		for {
			if n, oobn, _, _, err = syscall.Recvmsg(int(fd), b, a.oob[:], 0); err != syscall.EINTR {
				return err != syscall.EAGAIN
			}
		}
	})
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, err
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	a.arrived = stamped(a.oob[:oobn])
	return n, nil
}

// stamped reads a time stamp of the kernel, which is of the wall clock, as a
// time with a monotonic reading; now, if there is none.
func stamped(oob []byte) time.Time {
	now := time.Now()
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return now
	}
	for _, m := range messages {
		if m.Header.Level == syscall.SOL_SOCKET && m.Header.Type == syscall.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			at := time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
			return now.Add(-max(now.Round(0).Sub(at), 0))
		}
	}
	return now
}
