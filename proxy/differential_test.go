package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/resp"
)

// startRedis runs a redis-server for the test and returns its address.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	addr, _ := runRedis(t, args...)
	return addr
}

// runRedis is startRedis for a server that the test may kill.
func runRedis(t *testing.T, args ...string) (addr string, server *exec.Cmd) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	ln.Close()
	args = append([]string{"--bind", "127.0.0.1", "--port", port(addr), "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, args...)
	server = exec.Command("redis-server", args...)
	if err := server.Start(); err != nil {
		t.Fatalf("this test compares with a real redis-server: %v", err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr, server
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not listen on %s: %v", addr, err)
		}
	}
}

// realClient is a connection to a redis-server.
type realClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialReal(t *testing.T, addr string) *realClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	return &realClient{conn, bufio.NewReader(conn)}
}

// say sends a command and returns the bytes of its reply.
func (c *realClient) say(t *testing.T, line string) string {
	t.Helper()
	return c.pipeline(t, []string{line})[0]
}

// pipeline sends commands in one write and returns the bytes of their replies.
func (c *realClient) pipeline(t *testing.T, lines []string) []string {
	t.Helper()
	var b []byte
	for _, line := range lines {
		args := words(t, line)
		b = resp.AppendArray(b, len(args))
		for _, arg := range args {
			b = resp.AppendBulk(b, arg)
		}
	}
	if _, err := c.conn.Write(b); err != nil {
		t.Fatal(err)
	}
	replies := make([]string, len(lines))
	for i, line := range lines {
		var err error
		if replies[i], err = readReply(c.r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return replies
}

// readReply returns the bytes of one reply in RESP2 or RESP3.
func readReply(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
	switch head[0] {
	case '$', '=':
		if n < 0 {
			return head, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return head + string(body), err
	case '*', '~', '%', '>':
		if head[0] == '%' {
			n *= 2
		}
		for ; n > 0; n-- {
			element, err := readReply(r)
			if err != nil {
				return "", err
			}
			head += element
		}
	}
	return head, nil
}

// sameAsRedis runs each line on a real server and on ours, one connection each.
func sameAsRedis(t *testing.T, real *realClient, s *Server, c *client, lines []string) {
	t.Helper()
	for _, line := range lines {
		want := real.say(t, line)
		got, _ := say(t, s, c, line)
		if got != want {
			t.Errorf("%.200s\nredis %q\nproxy %q", line, want, got)
		}
	}
}

// TestRepliesEqualRedis compares byte for byte where clients rely on the text.
func TestRepliesEqualRedis(t *testing.T) {
	addr := startRedis(t)
	for _, proto := range []string{"2", "3"} {
		t.Run("RESP"+proto, func(t *testing.T) {
			real := dialReal(t, addr)
			s, c := newTestServer(t)
			real.say(t, "HELLO "+proto)
			say(t, s, c, "HELLO "+proto)
			sameAsRedis(t, real, s, c, equalLines())
		})
	}
}

func equalLines() []string {
	var manyArgs strings.Builder
	for i := range 60 {
		fmt.Fprintf(&manyArgs, " arg%d", i)
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	return []string{
		"HELLO 4", "HELLO 1", "HELLO x", "HELLO 03", `HELLO ""`, "HELLO 99999999999999999999",
		"HELLO 3 AUTH", "HELLO 3 AUTH u", "HELLO 3 SETNAME", "HELLO 3 FOO", "HELLO 3 AUTH u p", `HELLO 3 SETNAME "a b"`, `HELLO 3 "a\r\nb"`,
		"AUTH", "AUTH p", "AUTH default p", "AUTH u p", "AUTH a b c",
		"SELECT", "SELECT 15", "SELECT 16", "SELECT -1", "SELECT x", "SELECT 01", "SELECT 3000000000", "SELECT 99999999999999999999", "SELECT 1 2", `SELECT ""`, "SELECT 0",
		"CLIENT", "CLIENT ID x", "CLIENT FOO", "CLIENT GETNAME", `CLIENT SETNAME "a b"`, `CLIENT SETNAME "a\n"`, `CLIENT SETNAME "\xc3\xa4"`, "CLIENT SETNAME x",
		"CLIENT GETNAME", `CLIENT SETNAME ""`, "CLIENT GETNAME", "CLIENT SETNAME", "CLIENT SETNAME a b", "CLIENT GETNAME a",
		"CLIENT LIST ID 987654", "CLIENT LIST ID x", "CLIENT LIST ID 0", "CLIENT LIST FOO x", "CLIENT LIST FOO", "CLIENT LIST TYPE foo", "CLIENT LIST TYPE pubsub",
		"CLIENT NO-EVICT ON", "CLIENT NO-EVICT off", "CLIENT NO-EVICT x", "CLIENT REPLY ON", "CLIENT REPLY foo", "CLIENT TRACKING OFF", "CLIENT TRACKING x", "CLIENT TRACKING",
		"CLIENT TRACKINGINFO", "CLIENT GETREDIR", "CLIENT CACHING YES", "CLIENT UNBLOCK 987654", "CLIENT UNPAUSE",
		"FOO", "FOO a b c", `foo "a\r\nb\x00\xff'q"`, "FOO " + x(200), x(200) + " x", "FOO" + manyArgs.String(),
		"FOO " + x(100) + " " + x(100), "FOO " + x(127) + " y", "FOO " + x(128) + " y", "FOO " + x(120) + " yyyyyyyyyyyyyy z", `""`, `"" ""`, `"a b" c`, `FOO ""`, `"a\r\nb"`,
		"PING", "PING a", "PING a b", "ECHO", "ECHO a", "ECHO a b", "TIME x", "ROLE", "ROLE x", "INFO nope",
		"WAIT 0 0", "WAIT", "WAIT a b", "WAIT 0 b", "WAIT 0 -1", "WAITAOF 0 0 0", "READONLY x", "ASKING", "CLUSTER", "CLUSTER SLOTS", "CLUSTER NODES", "CLUSTER INFO",
		"SENTINEL MASTERS", "RESET x",
		"SCRIPT", "SCRIPT LOAD", `SCRIPT LOAD "return 1"`, `SCRIPT LOAD "return 1" x`, `SCRIPT LOAD ""`, "SCRIPT EXISTS",
		"SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db E0E1F9FABFC9D4800C877A703B823AC0578FF8DB abc", "SCRIPT FLUSH", "SCRIPT FLUSH sync", "SCRIPT FLUSH ASYNC",
		"SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "SCRIPT FLUSH x", "SCRIPT FLUSH SYNC x", "SCRIPT KILL", "SCRIPT KILL x", "SCRIPT DEBUG NO", "SCRIPT DEBUG x",
		"SCRIPT DEBUG", "SCRIPT FOO", "SCRIPT FOO x y",
		"COMMAND FOO", "COMMAND COUNT x", "COMMAND DOCS nope", "COMMAND GETKEYS get a", "COMMAND GETKEYS", "COMMAND GETKEYS nope x", "COMMAND GETKEYS del a b c",
		`COMMAND GETKEYS eval "return 1" 2 a b`, "COMMAND LIST FILTERBY MODULE x", "COMMAND LIST FOO", "COMMAND LIST FILTERBY FOO foo",
		"COMMAND LIST FILTERBY PATTERN pin*", "COMMAND INFO nope",
		"CONFIG", "CONFIG GET", "CONFIG GET timeout", "CONFIG GET TIMEOUT", "CONFIG GET databases", "CONFIG GET nope", "CONFIG GET save", "CONFIG GET appendonly",
		"CONFIG GET replica-read-only", "CONFIG GET slave-read-only", "CONFIG GET maxmemory", "CONFIG GET [a]ppendonl?", "CONFIG SET", "CONFIG SET a", "CONFIG FOO", "CONFIG RESETSTAT",
		"ACL WHOAMI", "ACL", "ACL FOO",
		"RESET", "CLIENT GETNAME",
	}
}

// The parser is another one, so only the beginning of the message can be the
// same.
func TestScriptsThatDoNotCompile(t *testing.T) {
	real := dialReal(t, startRedis(t))
	s, c := newTestServer(t)
	for _, line := range []string{`SCRIPT LOAD "retur 1 1"`, `SCRIPT LOAD "\nreturn ("`, `SCRIPT LOAD "return 'a"`} {
		want := "-ERR Error compiling script (new function): user_script:"
		for who, got := range map[string]string{"redis": real.say(t, line), "proxy": first(say(t, s, c, line))} {
			if !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: %s says %q", line, who, got)
			}
		}
	}
}

func first(reply string, _ action) string { return reply }

func TestAuthEqualsRedis(t *testing.T) {
	addr := startRedis(t, "--requirepass", "secret")
	real := dialReal(t, addr)
	s, c := newTestServer(t, withPassword("", "secret"))
	sameAsRedis(t, real, s, c, []string{
		"HELLO", "HELLO 3", "HELLO 3 SETNAME a", "HELLO 9", "HELLO x", "PING", "SELECT 1", "COMMAND", "INFO", "CLIENT ID",
		"AUTH", "AUTH x", "AUTH default x", "AUTH u secret", "AUTH a b c", "HELLO 3 AUTH default x", "HELLO 3 AUTH default",
		"CLIENT", "SCRIPT LOAD", "RESET", "PING", "AUTH secret", "PING", "AUTH u x", "PING", "CLIENT GETNAME", "RESET", "PING", "AUTH default secret", "PING",
		"ACL WHOAMI", "QUIT",
	})
}

func TestGreetingOfAnAuthenticatedHelloEqualsRedis(t *testing.T) {
	addr := startRedis(t, "--requirepass", "secret")
	s, _ := newTestServer(t, withPassword("", "secret"))
	for _, line := range []string{"HELLO 2 AUTH default secret SETNAME predis", "HELLO 3 AUTH default secret", "hello 3 setname x auth default secret"} {
		real, c := dialReal(t, addr), connect(s)
		want := strings.Replace(real.say(t, line), "$6\r\n7.0.15\r\n", "$5\r\n8.4.0\r\n", 1)
		_, rest, _ := strings.Cut(want, "$2\r\nid\r\n:")
		id, _, _ := strings.Cut(rest, "\r")
		want = strings.Replace(want, "id\r\n:"+id, fmt.Sprintf("id\r\n:%d", c.id), 1)
		if got, _ := say(t, s, c, line); got != want {
			t.Errorf("%s\nredis %q\nproxy %q", line, want, got)
		}
	}
}
