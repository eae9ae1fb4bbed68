//go:build unix

package resp

import (
	"io"
	"os"
	"syscall"
)

// useSocket makes the guard read from the socket itself, which allows it to
// wait without a buffer: with [net.Conn], who waits has to bring one, and
// most connections wait most of the time. Other connections, those with TLS for
// one, are read as usual.
func (g *Guard) useSocket() {
	socket, ok := g.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	g.raw = raw
	g.tryRead = g.readSocket // once, because each such value is an allocation
}

// readSocket reads from the socket fd what there is. It reports false if that
// is nothing: it is then called again when there is something.
func (g *Guard) readSocket(fd uintptr) (done bool) {
	done, g.readErr = g.unread.fill(fd)
	switch {
	case !done:
		g.weigh()
		g.waits()
	case g.unread.shared == nil:
		g.weigh()
	}
	return done
}

// fill reads from the socket fd what there is, and reports false, holding no
// shared memory, if that is nothing.
func (u *buffer) fill(fd uintptr) (done bool, err error) {
	room := u.room(bigRead)
	n, err := syscall.Read(int(fd), room)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), room)
	}
	if n > 0 {
		u.added(n)
		return true, nil
	}
	u.park()
	switch {
	case err == syscall.EAGAIN:
		return false, nil
	case err != nil:
		return true, os.NewSyscallError("read", err)
	}
	return true, io.EOF
}

// useSocket makes the reader of records read from the socket itself.
func (r *Records) useSocket() {
	socket, ok := r.conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		r.raw, r.tryRead = raw, r.readSocket
	}
}

// readSocket is that of a guard.
func (r *Records) readSocket(fd uintptr) (done bool) {
	done, r.readErr = r.unread.fill(fd)
	return done
}
