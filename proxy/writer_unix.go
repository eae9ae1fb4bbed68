//go:build unix

package proxy

import "syscall"

const canWriteNow = true

var errWouldBlock error = syscall.EAGAIN

// writeNow writes to a non-blocking socket. It never waits.
func writeNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
