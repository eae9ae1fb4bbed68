//go:build unix

package proxy

import "syscall"

// openFiles returns how many files the process may have open. Go's runtime has
// raised that to the hard limit.
func openFiles() (n uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil
}
