//go:build !unix

package resp

// useSocket does nothing: the guard reads from the connection as usual, and
// holds a small buffer while it waits.
func (g *Guard) useSocket() {}

// useSocket does nothing: the tls.Conn reads from the connection as usual.
func (r *Records) useSocket() {}
