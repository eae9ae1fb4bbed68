package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ioTimeout ends a read or write that would hang a test.
const ioTimeout = 10 * time.Second

// Conn is a plain connection to a Redis server or proxy. It shows replies as
// short strings, see [Conn.Read]. It is for one goroutine, except that one may
// write while another reads.
type Conn struct {
	net.Conn
	r *bufio.Reader
	w *bufio.Writer
}

// Dial connects to addr.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, ioTimeout)
	if err != nil {
		return nil, err
	}
	return NewConn(c), nil
}

// NewConn is a Conn over a connection that was opened otherwise.
func NewConn(c net.Conn) *Conn {
	return &Conn{Conn: c, r: bufio.NewReader(c), w: bufio.NewWriter(c)}
}

// Do sends one command on a new connection and returns its reply.
func Do(addr string, args ...string) (string, error) {
	c, err := Dial(addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.Do(args...)
}

// Do sends one command and reads one reply. An error reply is no error here.
func (c *Conn) Do(args ...string) (string, error) {
	c.Queue(args...)
	if err := c.Flush(); err != nil {
		return "", err
	}
	return c.Read()
}

// Queue adds a command to what the next Flush sends.
func (c *Conn) Queue(args ...string) { c.w.Write(Command(args...)) }

// Flush sends what was queued.
func (c *Conn) Flush() error {
	if err := c.SetWriteDeadline(time.Now().Add(ioTimeout)); err != nil {
		return err
	}
	return c.w.Flush()
}

// Command is a command as an array of bulk strings.
func Command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// Read reads one reply and shows it: status, integer and error as their line
// with its first byte (+OK, :1, -ERR …), a bulk string in Go quotes, nulls as
// $-1, *-1 and _, an array as [a b], a map as {k:v k:v}.
func (c *Conn) Read() (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(ioTimeout)); err != nil {
		return "", err
	}
	return c.read()
}

func (c *Conn) read() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", fmt.Errorf("empty line instead of a reply")
	}
	switch line[0] {
	case '$', '=', '!':
		return c.readBulk(line)
	case '*', '~', '>':
		return c.readList(line, 1)
	case '%':
		return c.readList(line, 2)
	}
	return line, nil
}

func (c *Conn) readBulk(line string) (string, error) {
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return line, err
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return "", err
	}
	return strconv.Quote(string(body[:n])), nil
}

func (c *Conn) readList(line string, per int) (string, error) {
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return line, err
	}
	items := make([]string, n)
	for i := range items {
		parts := make([]string, per)
		for j := range parts {
			if parts[j], err = c.read(); err != nil {
				return "", err
			}
		}
		items[i] = strings.Join(parts, ":")
	}
	if per == 2 {
		return "{" + strings.Join(items, " ") + "}", nil
	}
	return "[" + strings.Join(items, " ") + "]", nil
}

// ReadLine reads one line, whatever it is, without its end.
func (c *Conn) ReadLine() (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(ioTimeout)); err != nil {
		return "", err
	}
	line, err := c.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
