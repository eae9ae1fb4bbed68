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
	room := g.unread.room(bigRead)
	n, err := syscall.Read(int(fd), room)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), room)
	}
	if n > 0 {
		g.unread.added(n)
		return true
	}
	g.unread.park()
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		g.readErr = os.NewSyscallError("read", err)
	default:
		g.readErr = io.EOF
	}
	return true
}
