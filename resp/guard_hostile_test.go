package resp

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// cost runs f and fails the test if it takes or allocates more than allowed.
// What other tests allocate would count too, so these tests are not parallel.
func cost(t *testing.T, d time.Duration, bytes uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > d {
		t.Errorf("took %v, want at most %v", took, d)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > bytes {
		t.Errorf("allocated %d bytes, want at most %d", got, bytes)
	}
}

// What crashes or stalls redcon's own reader, or announces much and sends
// little: answered or waited for, at once and at no cost, with the process
// alive for others.
func TestFewBytesCostLittle(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\nclosed"},
		{"*1\r\n$18446744073709551617\r\n", "-ERR Protocol error: invalid bulk length\r\nclosed"},
		{"*1\r\n$536870912\r\n", "-ERR Protocol error: invalid bulk length\r\nclosed"},
		{"*1\r\n$\r\n", "-ERR Protocol error: invalid bulk length\r\nclosed"},
		{"*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\nclosed"},
		{"*2000000000\r\n", "-ERR Protocol error: invalid multibulk length\r\nclosed"},
		{"*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\nclosed"},
		{"*131073\r\n", "-ERR Protocol error: invalid multibulk length\r\nclosed"},
		{"*131072\r\n", "open"},
		{"*131072\r\n$16777216\r\n", "open"},
		{"*1\r\n$16777216\r\n", "open"},
		{"*0\r\n", "open"},
		{"*-1\r\n", "open"},
		{strings.Repeat("*0\r\n*-1\r\n\r\n", 10_000) + "*1\r\n$4\r\nPING\r\n", "+PONG\r\nopen"},
	} {
		t.Run(fmt.Sprintf("%.30q", c.in), func(t *testing.T) {
			s := serveEcho(t, Limits{}, false)
			cost(t, 5*time.Second, 1_000_000, func() {
				if got := converse(s.addr, c.in, c.want); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
			const alive = "+PONG\r\n$5\r\nalive\r\nopen"
			if got := converse(s.addr, array("PING")+array("ECHO", "alive"), alive); got != alive {
				t.Errorf("got %q afterwards", got)
			}
		})
	}
}

func TestFewBytesBeforeLoginCostLittle(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\nclosed"},
		{"*1\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\nclosed"},
		{"*10\r\n$16384\r\n", "open"},
	} {
		s := serveEcho(t, Limits{}, true)
		cost(t, 5*time.Second, 1_000_000, func() {
			if got := converse(s.addr, c.in, c.want); got != c.want {
				t.Errorf("%q: got %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// What a client can make the guard hold before login is what Redis allows: ten
// arguments of 16 KB.
func TestMemoryBeforeLoginIsBounded(t *testing.T) {
	in := "*10\r\n" + strings.Repeat("$16384\r\n"+strings.Repeat("x", 16384)+"\r\n", 9) + "$16384\r\n"
	p := inPieces(in, 1460)
	g := NewGuard(p, Limits{})
	held := 0
	for len(p.in) > 0 {
		g.take()
		if err := g.fill(); err != nil {
			t.Fatal(err)
		}
		held = max(held, cap(g.unread.data))
	}
	if held > 2*len(in) {
		t.Errorf("got a buffer of %d bytes for %d", held, len(in))
	}
}

func TestOneCommandInAMillionPieces(t *testing.T) {
	command := array("SET", "k", strings.Repeat("x", 1_000_000-30))
	in := inPieces(array("PING")+command, 1)
	g := NewGuard(in, Limits{})
	g.Authenticated()
	readBatch(t, g)
	cost(t, 2*time.Second, 10_000_000, func() {
		cmds, err := g.ReadCommands()
		if len(cmds) != 1 || err != nil || string(cmds[0].Raw) != command {
			t.Errorf("got %d commands, %v, want the one that was sent", len(cmds), err)
		}
	})
}

func TestOneCommandInManyPiecesFromASocket(t *testing.T) {
	command := array("SET", "k", strings.Repeat("x", 100_000))
	g, client := pair(t, Limits{})
	go func() {
		for i := range len(command) {
			io.WriteString(client, command[i:i+1])
		}
	}()
	cost(t, 5*time.Second, 10_000_000, func() {
		cmds, err := g.ReadCommands()
		if len(cmds) != 1 || err != nil || string(cmds[0].Raw) != command {
			t.Errorf("got %d commands, %v, want the one that was sent", len(cmds), err)
		}
	})
}

// In pieces of 1460 bytes these are 550 pieces, in those of 100 bytes 8,000,
// and reading all from the start at each takes many seconds.
func TestManyArgumentsInPieces(t *testing.T) {
	args := make([]string, 100_000)
	for i := range args {
		args[i] = "ab"
	}
	command := array(args...)
	for _, size := range []int{1460, 100} {
		g := NewGuard(inPieces(array("PING")+command, size), Limits{})
		g.Authenticated()
		readBatch(t, g)
		cost(t, time.Second, 50_000_000, func() {
			cmds, err := g.ReadCommands()
			if len(cmds) != 1 || err != nil || len(cmds[0].Args) != len(args) {
				t.Errorf("got %d commands, %v, want the one that was sent", len(cmds), err)
			}
		})
	}
}

// Each line is moved once, not with each line before it.
func TestManyLinesAtOnce(t *testing.T) {
	const lines = 20_000
	in := strings.Repeat("a\n\n", lines)
	g := NewGuard(inPieces(in, len(in)), Limits{})
	g.Authenticated()
	cost(t, 2*time.Second, 100_000_000, func() {
		for range lines {
			readBatch(t, g)
		}
	})
}

func TestNeverEndingLine(t *testing.T) {
	for _, begin := range []string{"", "*", "*1\r\n$"} {
		g, client := pair(t, Limits{})
		go func() {
			io.WriteString(client, array("PING")+begin)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(client, "1111111111")
			}
		}()
		readBatch(t, g)
		cost(t, 2*time.Second, 1_000_000, func() {
			if _, err := g.ReadCommands(); err == nil || !strings.Contains(err.Error(), "too big") {
				t.Errorf("after %q: got %v, want that it is too big", begin, err)
			}
		})
		g.Close()
	}
}

// A guard that closes at a fault must not depend on the client reading.
func TestClientThatNeverReadsDoesNotHoldTheGuard(t *testing.T) {
	server, client := net.Pipe()
	defer client.Close()
	go io.WriteString(client, "*1\r\n$a\r\n")
	g := NewGuard(server, Limits{})
	cost(t, 5*time.Second, 100_000, func() {
		if _, err := g.ReadCommands(); err != errBulkLength {
			t.Errorf("got %v, want %v", err, errBulkLength)
		}
	})
}
