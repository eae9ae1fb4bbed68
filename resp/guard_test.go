package resp

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// readBatch returns how many commands the next batch has.
func readBatch(t *testing.T, g *Guard) int {
	t.Helper()
	cmds, err := g.ReadCommands()
	if err != nil {
		t.Fatal(err)
	}
	return len(cmds)
}

func TestFirstCommandComesAlone(t *testing.T) {
	for name, first := range map[string]string{
		"array":  array("PING"),
		"inline": "PING\r\n",
		"long":   array("ECHO", strings.Repeat("x", 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			g, client := pair(t, Limits{})
			go io.WriteString(client, "\r\n*0\r\n"+first+array("PING")+array("PING"))
			if n := readBatch(t, g); n != 1 {
				t.Errorf("got %d commands first, want 1", n)
			}
			if n := readBatch(t, g); n != 2 {
				t.Errorf("got %d commands then, want 2", n)
			}
		})
	}
}

func TestCommandsThatComeAtOnceAreOneBatch(t *testing.T) {
	pipeline := strings.Repeat(array("SET", "lock:resource", "0123456789abcdef", "NX", "PX", "30000"), 50)
	t.Run("with ReadCommands", func(t *testing.T) {
		g, client := pair(t, Limits{})
		io.WriteString(client, array("PING"))
		readBatch(t, g)
		io.WriteString(client, pipeline)
		if n := readBatch(t, g); n != 50 {
			t.Errorf("got %d commands, want 50", n)
		}
	})
	t.Run("with a Reader of redcon", func(t *testing.T) {
		g, client := pair(t, Limits{})
		io.WriteString(client, array("PING"))
		readBatch(t, g)
		io.WriteString(client, pipeline)
		cmds, err := redcon.NewReader(g).ReadCommands()
		if want := 4096 / (len(pipeline) / 50); len(cmds) != want || err != nil {
			t.Errorf("got %d commands, %v, want %d, what fits into redcon's buffer", len(cmds), err, want)
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	g, client := pair(t, Limits{MaxBuffered: 1000})
	long := array("ECHO", strings.Repeat("x", 100_000))
	go io.WriteString(client, array("PING")+strings.Repeat(array("PING"), 500)+long+array("PING"))
	total := 0
	for total < 503 {
		n := readBatch(t, g)
		if limit := 1000/len(array("PING")) + 1; n > limit {
			t.Errorf("got %d commands in a batch, want at most %d", n, limit)
		}
		total += n
	}
}

func TestCommandsAreTheSameHoweverTheyAreCut(t *testing.T) {
	in := array("PING") + "*0\r\nPING\r\n" + array("SET", "k\r\n$1", "", "PX", "30000") + "\r\n *-1\r\n" +
		"*-1\r\nSET \"a b\" '' \r\n" + array("DEL", "\x00\xff") + array("") + "*1\r\n$a\r\n"
	want := guardPieces(inPieces(in, len(in)))
	if got := strings.Count(want, "\n"); got != 7 {
		t.Fatalf("got %d commands, want 7:\n%s", got, want)
	}
	for i := 1; i < len(in); i++ {
		if got := guardPieces(inPieces(in, i)); got != want {
			t.Errorf("in pieces of %d: got\n%s\nwant\n%s", i, got, want)
		}
		two := &pieces{in: [][]byte{[]byte(in[:i]), []byte(in[i:])}}
		if got := guardPieces(two); got != want {
			t.Errorf("cut at %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
}

func TestCommandsFromASocketAreTheSameHoweverTheyAreCut(t *testing.T) {
	in := array("PING") + "PING\r\n" + array("SET", "k", strings.Repeat("v", 100)) + "*1\r\n$a\r\n"
	want := guardPieces(inPieces(in, len(in)))
	for i := 1; i < len(in); i++ {
		g, client := pair(t, Limits{})
		got := make(chan string)
		go func() { got <- transcript(g) }()
		io.WriteString(client, in[:i])
		io.WriteString(client, in[i:])
		if got := <-got; got != want {
			t.Errorf("cut at %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
}

func TestArgumentsAreByteExact(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	args := []string{"ECHO", "", "\x00", "\r\n", "$1\r\n", "*1\r\n$4\r\nPING\r\n", string(every),
		strings.Repeat(string(every), 1<<20/256), strings.Repeat("\r\n", 1<<19), strings.Repeat("x", 1<<20-1), ""}
	g, client := pair(t, Limits{})
	go io.WriteString(client, strings.Repeat(array(args...), 3))
	for n := 0; n < 3; {
		cmds, err := g.ReadCommands()
		if err != nil {
			t.Fatal(err)
		}
		for _, cmd := range cmds {
			if n++; len(cmd.Args) != len(args) {
				t.Fatalf("got %d arguments, want %d", len(cmd.Args), len(args))
			}
			for i, arg := range cmd.Args {
				if string(arg) != args[i] {
					t.Errorf("argument %d: got %.50q…, want %.50q…", i, arg, args[i])
				}
			}
		}
	}
}

func TestArgumentsStayWhenMoreIsRead(t *testing.T) {
	g, client := pair(t, Limits{})
	go io.WriteString(client, array("ECHO", "first")+array("ECHO", "later"))
	cmds, err := g.ReadCommands()
	if err != nil {
		t.Fatal(err)
	}
	readBatch(t, g)
	if got := string(cmds[0].Args[1]); got != "first" {
		t.Errorf("got %q, want first", got)
	}
}

func TestFaultInFrontOfTheFirstCommandIsAnsweredByTheGuard(t *testing.T) {
	for in, want := range map[string]string{
		"*1\r\n$a\r\n":                         "-ERR Protocol error: invalid bulk length\r\n",
		"\r\n*1\r\n+":                          "-ERR Protocol error: expected '$', got '+'\r\n",
		"*1\r\n\n":                             "-ERR Protocol error: expected '$', got ' '\r\n",
		"GET / HTTP/1.1\r\n":                   "",
		"\x16\x03\x01\x00":                     "",
		array("PING") + "*1\r\n$a\r\n":         "",
		array("PING") + "GET / HTTP/1.1\r\n":   "",
		array("PING") + array("PING") + "\"\n": "",
	} {
		p := inPieces(in, len(in))
		got := guardPieces(p)
		if p.out.String() != want {
			t.Errorf("%q: got %q written, want %q", in, p.out.String(), want)
		}
		if !strings.HasPrefix(in, array("PING")) != !strings.Contains(got, "\n") {
			t.Errorf("%q: got %q, want a fault after all commands", in, got)
		}
	}
}

func TestFaultsStay(t *testing.T) {
	in := array("PING") + "*1\r\n$a\r\n" + array("PING")
	g := NewGuard(inPieces(in, len(in)), Limits{})
	readBatch(t, g)
	for range 3 {
		var fault *ProtocolError
		if n, err := g.Read(make([]byte, 100)); n != 0 || !errors.As(err, &fault) {
			t.Fatalf("got %d, %v, want a ProtocolError", n, err)
		}
	}
}

func TestLimitsAreThoseOfTheMomentACommandIsReached(t *testing.T) {
	large := array("ECHO", strings.Repeat("x", 20_000))
	in := array("PING") + array("AUTH", "secret") + large
	for _, size := range []int{len(in), 1000, 10} {
		p := inPieces(in, size)
		p.in = append(p.in, []byte(large))
		g := NewGuard(p, Limits{})
		readBatch(t, g)
		readBatch(t, g) // AUTH is executed
		g.Authenticated()
		readBatch(t, g) // RESET would be
		g.Unauthenticated()
		if _, err := g.ReadCommands(); err != errUnauthBulkLength {
			t.Errorf("in pieces of %d: got %v after RESET, want %v", size, err, errUnauthBulkLength)
		}
	}
}

func TestReadingGoesOnAfterATimeout(t *testing.T) {
	g, client := pair(t, Limits{})
	in := array("ECHO", strings.Repeat("x", 3000))
	for i := 0; i < len(in); i += 500 {
		g.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := g.ReadCommands(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got %v, want a timeout", err)
		}
		io.WriteString(client, in[i:min(i+500, len(in))])
	}
	g.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n := readBatch(t, g); n != 1 {
		t.Errorf("got %d commands, want 1", n)
	}
}

func TestEndOfTheConnectionIsEOF(t *testing.T) {
	for _, in := range []string{"", array("PING"), "*1\r\n$4\r\nPI"} {
		g, client := pair(t, Limits{})
		io.WriteString(client, in)
		client.Close()
		var err error
		for err == nil {
			_, err = g.ReadCommands()
		}
		if err != io.EOF {
			t.Errorf("after %q: got %v, want EOF", in, err)
		}
	}
}

func TestWaitingHoldsNoBuffer(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		most int // bytes held
	}{
		{"nothing sent", "", 0},
		{"after a command", array("PING"), 0},
		{"after a long command", array("ECHO", strings.Repeat("x", 1<<20)), 0},
		{"after an inline command", "PING\r\n", 0},
		{"in a header", array("PING") + "*1", 2*2 + minRead},
		{"in a command", "*2\r\n$4\r\nECHO\r\n$100000\r\n" + strings.Repeat("x", 2000), 2*2030 + minRead},
		{"in a long command", "*2\r\n$4\r\nECHO\r\n$16000000\r\n" + strings.Repeat("x", 100_000), 200_100},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, client := pair(t, Limits{})
			go io.WriteString(client, c.in)
			var err error
			for err == nil {
				g.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				_, err = g.ReadCommands()
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %v, want a timeout", err)
			}
			if held := cap(g.unread.data) + cap(g.batch); held > c.most {
				t.Errorf("got %d bytes held, want at most %d", held, c.most)
			}
		})
	}
}

func TestReadingPipelinesAllocatesNothing(t *testing.T) {
	g, client := pair(t, Limits{})
	pipeline := []byte(strings.Repeat(array("SET", "k", "v", "NX", "PX", "30000"), 50))
	room := make([]byte, len(pipeline))
	client.Write([]byte(array("PING")))
	g.Read(room)
	allocs := testing.AllocsPerRun(200, func() {
		client.Write(pipeline)
		if _, err := io.ReadFull(g, room); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("got %v allocations for 50 commands, want 0", allocs)
	}
	if !bytes.Equal(room, pipeline) {
		t.Error("commands changed on the way")
	}
}
