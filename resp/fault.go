package resp

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ProtocolError says that a client broke the protocol or a limit. [Guard.Read]
// returns it after all commands sent before the fault. The connection is of no
// use afterwards: where the next command begins is not known.
type ProtocolError struct {
	fault string
}

// Error returns the text of Redis for the fault. The client is told "-ERR ",
// then this.
func (e *ProtocolError) Error() string { return "Protocol error: " + e.fault }

// The faults, named and worded as in Redis 7.0.15.
var (
	errArrayLength       = &ProtocolError{"invalid multibulk length"}
	errBulkLength        = &ProtocolError{"invalid bulk length"}
	errUnauthArrayLength = &ProtocolError{"unauthenticated multibulk length"}
	errUnauthBulkLength  = &ProtocolError{"unauthenticated bulk length"}
	errArrayHeader       = &ProtocolError{"too big mbulk count string"}
	errBulkHeader        = &ProtocolError{"too big bulk count string"}
	errInlineLength      = &ProtocolError{"too big inline request"}
	errInlineQuotes      = &ProtocolError{"unbalanced quotes in request"}
)

// errNoBulk is the fault of an argument that does not begin with '$'.
func errNoBulk(got byte) *ProtocolError {
	if got == '\r' || got == '\n' {
		got = ' ' // as Redis does, because the reply is a line
	}
	return &ProtocolError{"expected '$', got '" + string([]byte{got}) + "'"}
}

// ErrNotRedis says that a connection speaks another protocol. [Guard.Read]
// returns an error that wraps it and says which. Such a connection is closed
// without a reply. Redis does the same and calls it a possible security
// attack: a web page can make a browser send requests to ports that only the
// browser can reach, with commands for Redis in their body.
var ErrNotRedis = errors.New("not a Redis client")

var (
	errHTTP   = fmt.Errorf("%w: it sent an HTTP request, which may be an attack through a browser", ErrNotRedis)
	errTLS    = fmt.Errorf("%w: it began a TLS handshake, but this port does not use TLS", ErrNotRedis)
	errBinary = fmt.Errorf("%w: it sent binary data", ErrNotRedis)
)

// PanicError is a panic that was contained to one connection. It is a fault of
// this package.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// panicked makes an error of a panic, and the end of the connection.
func (g *Guard) panicked(err *error) {
	if value := recover(); value != nil {
		g.fault = &PanicError{Value: value, Stack: debug.Stack()}
		*err = g.fault
	}
}
