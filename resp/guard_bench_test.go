package resp

import (
	"net"
	"strings"
	"testing"
)

// endless is a connection that brings the same bytes with each Read.
// It is read like one with TLS, 4 KB at a time: 40 of the commands below.
type endless struct {
	net.Conn
	in []byte
}

func (e *endless) Read(b []byte) (int, error) { return copy(b, e.in), nil }

const acquire = "*6\r\n$3\r\nSET\r\n$13\r\nlock:resource\r\n$22\r\n0123456789abcdefghijkl\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n"

// perCommand reports the time of one command of a pipeline of n.
func perCommand(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/command")
}

// BenchmarkGuard is what the guard adds to redcon's parser.
func BenchmarkGuard(b *testing.B) {
	g := NewGuard(&endless{in: []byte(strings.Repeat(acquire, 40))}, Limits{})
	room := make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		n, err := g.Read(room)
		if n == 0 || err != nil {
			b.Fatal(n, err)
		}
	}
	perCommand(b, 40)
}

// BenchmarkReadCommands is guard and parser together.
func BenchmarkReadCommands(b *testing.B) {
	g := NewGuard(&endless{in: []byte(strings.Repeat(acquire, 40))}, Limits{})
	g.begun = true
	b.ReportAllocs()
	for b.Loop() {
		if cmds, err := g.ReadCommands(); len(cmds) != 40 || err != nil {
			b.Fatal(len(cmds), err)
		}
	}
	perCommand(b, 40)
}

// BenchmarkReadCommandsOfASocket includes the system calls of both ends.
func BenchmarkReadCommandsOfASocket(b *testing.B) {
	g, client := pair(b, Limits{})
	g.begun = true
	pipeline := []byte(strings.Repeat(acquire, 50))
	b.ReportAllocs()
	for b.Loop() {
		client.Write(pipeline)
		for n := 0; n < 50; {
			cmds, err := g.ReadCommands()
			if err != nil {
				b.Fatal(err)
			}
			n += len(cmds)
		}
	}
	perCommand(b, 50)
}
