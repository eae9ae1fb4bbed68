package resp

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// array writes a command as clients send it.
func array(args ...string) string {
	b := AppendArray(nil, len(args))
	for _, a := range args {
		b = AppendBulkString(b, a)
	}
	return string(b)
}

// pair returns a guard on one end of a TCP connection, and the other end.
// The client counts as logged in.
func pair(t testing.TB, l Limits) (*Guard, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	deadline := time.Now().Add(30 * time.Second)
	client.SetDeadline(deadline)
	server.SetDeadline(deadline)
	g := NewGuard(server, l)
	g.Authenticated()
	return g, client
}

// pieces is a connection that brings prepared pieces, one per Read, and then
// ends. It has no socket, so the guard reads it like one with TLS.
type pieces struct {
	net.Conn
	in  [][]byte
	out bytes.Buffer
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.in[0])
	if p.in[0] = p.in[0][n:]; len(p.in[0]) == 0 {
		p.in = p.in[1:]
	}
	return n, nil
}

func (p *pieces) Write(b []byte) (int, error)      { return p.out.Write(b) }
func (p *pieces) SetWriteDeadline(time.Time) error { return nil }

// inPieces cuts in into pieces of size bytes.
func inPieces(in string, size int) *pieces {
	p := new(pieces)
	for len(in) > size {
		p.in = append(p.in, []byte(in[:size]))
		in = in[size:]
	}
	if len(in) > 0 {
		p.in = append(p.in, []byte(in))
	}
	return p
}

// transcript is what comes out of a guard: the commands, and the end.
func transcript(g *Guard) string {
	var out strings.Builder
	for {
		cmds, err := g.ReadCommands()
		for _, cmd := range cmds {
			for _, arg := range cmd.Args {
				out.WriteString(strconv.Quote(string(arg)) + " ")
			}
			out.WriteByte('\n')
		}
		if err != nil {
			return out.String() + err.Error()
		}
	}
}

// guardPieces returns the transcript of what a logged-in client sends.
func guardPieces(p *pieces) string {
	g := NewGuard(p, Limits{})
	g.Authenticated()
	return transcript(g)
}
