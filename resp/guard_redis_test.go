package resp

import (
	"io"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// startRedis runs a redis-server on a free port until the test ends and
// returns its address.
func startRedis(t testing.TB, args ...string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", append([]string{"--bind", "127.0.0.1", "--port", port,
		"--save", "", "--appendonly", "no", "--dir", t.TempDir()}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("this test needs redis-server on the PATH: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return addr
		}
	}
	t.Fatal("redis-server does not listen after ten seconds")
	return ""
}

// converse sends in and returns what comes back, and how it ends: closed, or
// open if nothing comes any more. It takes that for granted 100 ms after what
// is wanted has come, or after a second if want is empty.
func converse(addr, in, want string) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	go io.WriteString(conn, in)
	var out []byte
	buf := make([]byte, 64<<10)
	for {
		patience := time.Second
		switch {
		case want == string(out)+"open":
			patience /= 10
		case want != "":
			patience *= 10
		}
		conn.SetReadDeadline(time.Now().Add(patience))
		n, err := conn.Read(buf)
		out = append(out, buf[:n]...)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			return string(out) + "open"
		}
		if err != nil {
			return string(out) + "closed"
		}
	}
}

// unknownCommand is the part of Redis's reply that tells about arguments.
var unknownCommand = regexp.MustCompile(`(ERR unknown command).*?\r\n`)

// conversation is one connection to be compared.
type conversation struct {
	name string
	in   string
}

// compare has each conversation with both servers and wants the same replies
// and the same end.
func compare(t *testing.T, redis, ours string, table []conversation) {
	t.Helper()
	var wg sync.WaitGroup
	for _, c := range table {
		wg.Go(func() {
			want := unknownCommand.ReplaceAllString(converse(redis, c.in, ""), "$1\r\n")
			if got := converse(ours, c.in, want); got != want {
				t.Errorf("%s:\n got %.300q\nwant %.300q, as Redis says", c.name, got, want)
			}
		})
	}
	wg.Wait()
}

func TestFaultsAreAnsweredAsByRedis(t *testing.T) {
	redis := startRedis(t)
	ours := serveEcho(t, Limits{}, false)
	before := array("ECHO", "a") + "\r\n*0\r\n" + array("PING")
	var table []conversation
	for _, c := range slices.Concat(lengths(), types(), lines()) {
		table = append(table, c, conversation{c.name + ", behind others", before + c.in})
	}
	compare(t, redis, ours.addr, append(table, foreigners()...))
}

func TestFaultsBeforeLoginAreAnsweredAsByRedis(t *testing.T) {
	redis := startRedis(t, "--requirepass", "secret")
	ours := serveEcho(t, Limits{}, true)
	auth := array("AUTH", "secret")
	bulk := func(n int) string { return array("ECHO", strings.Repeat("x", n)) }
	many := func(name string, n int) string { return array(append([]string{name}, make([]string, n-1)...)...) }
	compare(t, redis, ours.addr, []conversation{
		{"10 arguments", many("DEL", 10)},
		{"11 arguments", "*11\r\n"},
		{"as many as Redis knows", "*2147483647\r\n"},
		{"more than Redis knows", "*2147483648\r\n"},
		{"16,384 bytes", bulk(16384)},
		{"16,385 bytes", "*2\r\n$4\r\nECHO\r\n$16385\r\n"},
		{"the longest Redis takes", "*1\r\n$536870912\r\n"},
		{"longer than that", "*1\r\n$536870913\r\n"},
		{"too many behind another command", array("PING") + "*11\r\n"},
		{"large behind AUTH", auth + bulk(16385)},
		{"many behind AUTH", auth + many("NONE", 11)},
		{"large behind AUTH and another", auth + array("ECHO", "a") + bulk(20000) + array("PING")},
		{"large behind a wrong AUTH", array("ECHO", "b") + bulk(16385)},
		{"inline", "PING\r\nAUTH secret\r\nPING\r\n"},
	})
}

// lengths are commands with odd lengths, most of them invalid.
func lengths() []conversation {
	ping := array("PING")
	table := []conversation{
		{"array header too long", "*" + strings.Repeat("1", 70_000)},
		{"bulk header too long", "*1\r\n$" + strings.Repeat("1", 70_000)},
		{"incomplete", "*2\r\n$4\r\nECHO\r\n$5\r\nab"},
		{"empty argument", array("ECHO", "") + ping},
		{"empty command name", array("") + ping},
		{"binary", array("ECHO", "\x00\r\n\xff*1\r\n") + ping},
		{"over the longest of Redis", "*1\r\n$536870913\r\n" + ping},
		{"array of 0", "*0\r\n" + ping},
	}
	for _, n := range []string{"", " ", "a", "1a", " 1", "1 ", "+1", "01", "-", "-0", "-01", "--1", "1.0", "0x1", "_1",
		"1_0", "-1", "-2", "-9223372036854775808", "-9223372036854775809", "2147483648", "4294967296", "4294967297",
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551617",
		"99999999999999999999999999"} {
		table = append(table,
			conversation{"array of " + n, "*" + n + "\r\n" + ping},
			conversation{"bulk of " + n, "*1\r\n$" + n + "\r\n" + ping})
	}
	return table
}

// types are commands whose arguments are not bulk strings.
func types() (table []conversation) {
	for _, c := range []string{"+", ":", "*", "-", "_", "#", ",", "(", "!", "=", "%", "~", ">", "x", "4", " ", "\n", "\xff", `"`} {
		table = append(table, conversation{"argument of type " + c, "*1\r\n" + c + "1\r\n" + array("PING")})
	}
	return table
}

// lines are inline commands.
func lines() []conversation {
	table := []conversation{
		{"inline too long", strings.Repeat("x", 70_000)},
		{"inline, nearly", "ECHO " + strings.Repeat("x", 60_000) + "\r\n"},
	}
	for _, line := range []string{
		"", " ", "\t", "\r", "PING", " PING ", "ping", "PING\r", "PING \r", "GET", "ECHO\ta", "ECHO\va", "ECHO \v\fa",
		"ECHO a\rb", "ECHO \xff\xfe", `"PING"`, `""`, `ECHO ""`, `ECHO ''`, `ECHO "a b"`, `ECHO 'a b'`, `ECHO a"b c"`,
		`ECHO a'b"c'`, `ECHO "'"`, `ECHO '"'`, "ECHO \"a\"\vb", `ECHO "\x41\xfF\n\r\t\b\a\q\\\"\xZZ"`, `ECHO 'a\'b\n"'`,
		`ECHO \x41`, `ECHO "\x4"`, `ECHO "\x"`, `ECHO "a"b`, `ECHO 'a'b`, `ECHO "a`, `ECHO 'a`, `ECHO "a\`, `ECHO "a\"`,
		`ECHO "\`, `ECHO '\`, `ECHO '\'`, `ECHO "\x4`, `"`, `PING "`,
	} {
		name := strconv.Quote(line)
		table = append(table,
			conversation{"inline " + name, line + "\r\n" + array("PING")},
			conversation{"inline, LF only, " + name, line + "\n" + array("PING")})
	}
	return table
}

// foreigners speak HTTP. What such a client sent before, Redis does not answer
// any more; the guard cannot take it back.
func foreigners() []conversation {
	return []conversation{
		{"HTTP POST", "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" + array("PING")},
		{"post in lower case", "post\r\n" + array("PING")},
		{"HTTP Host", "Host: localhost\r\n" + array("PING")},
		{"host in lower case", "host: localhost\n" + array("PING")},
	}
}
