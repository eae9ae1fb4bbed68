//go:build !unix

package proxy

import "errors"

// Without non-blocking writes every reply goes through a goroutine that waits
// for the client.
const canWriteNow = false

var errWouldBlock = errors.New("would block")

func writeNow(uintptr, []byte) (int, error) { return 0, errWouldBlock }
