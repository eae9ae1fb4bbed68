package resp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realRedis is a connection to a redis-server.
type realRedis struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

// dialRealRedis connects to a server and switches to a protocol.
func dialRealRedis(t testing.TB, addr string, proto int) *realRedis {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &realRedis{t: t, conn: conn, r: bufio.NewReader(conn)}
	c.do([][]string{{"HELLO", strconv.Itoa(proto)}})
	return c
}

// do sends commands in one pipeline and returns their raw replies.
func (c *realRedis) do(commands [][]string) []string {
	c.t.Helper()
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	go io.WriteString(c.conn, b.String())
	c.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	replies := make([]string, len(commands))
	for i := range replies {
		reply, err := rawReply(c.r)
		if err != nil {
			c.t.Fatalf("reply to %q: %v", commands[i], err)
		}
		replies[i] = reply
	}
	return replies
}

// rawReply reads the bytes of one reply.
func rawReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 {
		return line, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return line + string(body), err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return line, nil
	}
	for range n {
		element, err := rawReply(r)
		if err != nil {
			return line, err
		}
		line += element
	}
	return line, nil
}
