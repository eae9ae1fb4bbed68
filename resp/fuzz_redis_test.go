package resp

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzInlineAgainstRedis: a line means to the guard what it means to Redis. A
// script shows the arguments as Redis has read them.
func FuzzInlineAgainstRedis(f *testing.F) {
	for _, seed := range []string{
		`a b`, `"a b" 'c d'`, `"\x41\n\r\t\b\a\\\"" '\''`, `a"b"`, `a"b"c`, `"`, `'`, `"\`, `'\`, `"\x4`, "a\tb\vc\fd\re", `"" ''`, "\xff \x80", `\x41`,
	} {
		f.Add([]byte(seed))
	}
	addr := startRedis(f)
	const show = "EVAL \"return ARGV\" 0 "
	f.Fuzz(func(t *testing.T, in []byte) {
		// What has a NUL is refused, where Redis waits for more, or takes it for the
		// end.
		if bytes.ContainsAny(in, "\x00\n") || len(in) > 1000 {
			return
		}
		line := show + string(in)
		want := inlineOfRedis(t, addr, line)
		args, err := inlineCommand([]byte(line))
		got := "-ERR Protocol error: " + errInlineQuotes.fault + "\r\n"
		if err == nil {
			reply := AppendArray(nil, len(args)-3)
			for _, arg := range args[3:] {
				reply = AppendBulk(reply, arg)
			}
			got = string(reply)
		}
		if got != want {
			t.Errorf("%q: got %q, Redis has %q", in, got, want)
		}
	})
}

// inlineOfRedis returns the raw reply to a line.
func inlineOfRedis(t *testing.T, addr, line string) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetLinger(0) // ports are few
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, line+"\r\n")
	reply, err := rawReply(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// newerOptions are of servers later than Redis 7.0.
var newerOptions = []string{"ifeq", "ifne", "ifdeq", "ifdne"}

// FuzzSetAgainstRedis: SET with any options, separated by '|', answers and
// stores what Redis would, on each state, but for the differences that we want.
func FuzzSetAgainstRedis(f *testing.F) {
	for _, seed := range []string{
		"v", "v|NX|PX|30000", "v|px|1|nx|get", "v|XX|EX|9223372036854775807", "v|KEEPTTL", "v|KEEPTTL|EX|5", "v|NX|XX", "v|EX|5|PX|5", "v|EX", "v|EX|-1", "v|PX|0",
		"v|EX| 5", "v|EX|+5", "v|EX|5.0", "v|PXAT|1", "v|EXAT|99999999999", "v|GET", "v|GET|GET", "v|NX|GET|PX|100", "v|PX|9223372036854775807", "v|EX|0x5", "|", "v|nope", "v|NX|NX", "v||",
	} {
		f.Add([]byte(seed))
	}
	conns := map[int]*realRedis{}
	addr := startRedis(f)
	for proto := 2; proto <= 3; proto++ {
		conns[proto] = dialRealRedis(f, addr, proto)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		args := []string{"SET", "k"}
		for _, arg := range bytes.Split(in, []byte("|")) {
			if slices.Contains(newerOptions, strings.ToLower(string(arg))) {
				return
			}
			args = append(args, string(arg))
		}
		if len(args) > 12 || len(in) > 1000 {
			return
		}
		for proto, conn := range conns {
			conn.t = t
			for _, c := range compareChunk(t, conn, proto, [][]string{args}) {
				if !c.same() && !slices.ContainsFunc(differences, func(d difference) bool { return d.is(c) }) {
					t.Errorf("RESP%d %q on %s:\nreal %+v\nours %+v", proto, c.args, c.start.name, c.real, c.ours)
				}
			}
		}
	})
}
