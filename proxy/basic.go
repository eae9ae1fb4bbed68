package proxy

import (
	"strconv"
	"strings"
	"time"

	"redlock-proxy/resp"
)

// serverCommands are the small commands that every client library may send.
func serverCommands() []*command {
	return []*command{
		{name: "ping", arity: -1, run: ping},
		{name: "echo", arity: 2, run: echo},
		{name: "time", arity: 1, run: timeNow},
		{name: "role", arity: 1, run: role},
		{name: "wait", arity: 3, run: wait},
		{name: "info", arity: -1, run: info},
	}
}

// probeCommands are what clients ask to find out whether this is a cluster.
// rueidis falls back to a single server only on an error text with "cluster"
// in it; StackExchange.Redis takes anything but an error for a cluster.
func probeCommands() []*command {
	return []*command{
		{name: "cluster", arity: -2, run: text(errNoCluster)},
		{name: "asking", arity: 1, run: text(errNoCluster)},
		{name: "readonly", arity: 1, run: ok},
		{name: "readwrite", arity: 1, run: ok},
	}
}

const errNoCluster = "ERR This instance has cluster support disabled"

func ping(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	switch len(args) {
	case 1:
		return resp.AppendStatus(dst, "PONG")
	case 2:
		return resp.AppendBulk(dst, args[1])
	}
	return resp.AppendError(dst, arityError("ping"))
}

// echo returns its argument, byte for byte: StackExchange.Redis and phpredis
// use it to check the connection.
func echo(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	return resp.AppendBulk(dst, args[1])
}

// timeNow answers TIME with the proxy's wall clock.
func timeNow(_ *Server, _ *client, _ [][]byte, dst []byte) []byte {
	now := time.Now()
	dst = resp.AppendArray(dst, 2)
	dst = resp.AppendBulkString(dst, strconv.FormatInt(now.Unix(), 10))
	return resp.AppendBulkString(dst, strconv.Itoa(now.Nanosecond()/1000))
}

// role answers ROLE: a master without replicas.
func role(_ *Server, _ *client, _ [][]byte, dst []byte) []byte {
	dst = resp.AppendArray(dst, 3)
	dst = resp.AppendBulkString(dst, "master")
	dst = resp.AppendInt(dst, 0)
	return resp.AppendArray(dst, 0)
}

// wait answers WAIT numreplicas timeout at once: there are no replicas to wait
// for, a reply already means that a quorum has the lock.
func wait(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	_, replicasOK := parseInt(args[1])
	timeout, timeoutOK := parseInt(args[2])
	switch {
	case !replicasOK:
		return resp.AppendError(dst, errNotInt)
	case !timeoutOK:
		return resp.AppendError(dst, "ERR timeout is not an integer or out of range")
	case timeout < 0:
		return resp.AppendError(dst, "ERR timeout is negative")
	}
	return resp.AppendInt(dst, 0)
}

// ok answers +OK.
func ok(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return resp.AppendStatus(dst, "OK") }

// text is a handler that always answers the same error.
func text(message string) handler {
	return func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return resp.AppendError(dst, message) }
}

// number is a handler that always answers the same number.
func number(n int64) handler {
	return func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return resp.AppendInt(dst, n) }
}

// help is a handler that answers lines for people.
func help(lines ...string) handler {
	return func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return appendLines(dst, lines) }
}

// appendLines appends an array of lines that redis-cli prints one below the
// other.
func appendLines(dst []byte, lines []string) []byte {
	dst = resp.AppendArray(dst, len(lines))
	for _, line := range lines {
		dst = resp.AppendStatus(dst, line)
	}
	return dst
}

// appendText appends a text of several lines as Redis does for INFO.
func appendText(dst []byte, proto int, s string) []byte {
	return resp.AppendVerbatim(dst, proto, "txt", s)
}

// is reports whether b is the given lower-case word in any case.
func is(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, x := range b {
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if x != word[i] {
			return false
		}
	}
	return true
}

// upper is a command's name as error texts show it.
func upper(name []byte) string { return strings.ToUpper(string(name)) }
