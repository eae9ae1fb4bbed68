package integration

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// StackExchange.Redis cannot be installed where these tests run. So this is a
// replay: the bytes that its versions 2.x and 3.x put on the wire, as read in
// its source, and the replies that it accepts. Where Redis has the commands,
// one plain redis-server has to pass too.

// dotnet is a connection that is written to as StackExchange.Redis does: in
// batches, each in one write.
type dotnet struct {
	t *testing.T
	*harness.Conn
	proto int
}

func dialDotnet(t *testing.T, addr string, proto int) *dotnet {
	t.Helper()
	return &dotnet{t, dial(t, addr), proto}
}

// batch sends commands, given as lines of words, and returns the replies.
func (d *dotnet) batch(lines ...string) []string {
	d.t.Helper()
	for _, line := range lines {
		d.Queue(strings.Fields(line)...)
	}
	if err := d.Flush(); err != nil {
		d.t.Fatal(err)
	}
	replies := make([]string, len(lines))
	for i, line := range lines {
		var err error
		if replies[i], err = d.Read(); err != nil {
			d.t.Fatalf("%s: %v", line, err)
		}
	}
	return replies
}

// expect sends one batch and compares the replies; nil stands for the null of
// the protocol, … for anything, and -… for any error.
func (d *dotnet) expect(lines string, wants ...string) []string {
	d.t.Helper()
	commands := strings.Split(lines, "; ")
	replies := d.batch(commands...)
	for i, want := range wants {
		if got := replies[i]; !d.like(got, want) {
			d.t.Errorf("%s: got %s, want %s", commands[i], got, want)
		}
	}
	return replies
}

func (d *dotnet) like(got, want string) bool {
	switch want {
	case "nil":
		return got == "_" && d.proto == 3 || got == "$-1" && d.proto == 2
	case "no array": // of EXEC
		return got == "_" && d.proto == 3 || got == "*-1" && d.proto == 2
	case "…":
		return true
	case "-…":
		return strings.HasPrefix(got, "-")
	case ":n":
		_, err := strconv.Atoi(strings.TrimPrefix(got, ":"))
		return err == nil && got[0] == ':'
	}
	return got == want
}

// handshake is what a connection sends before anything else. The last reply
// decides whether it is used at all.
func (d *dotnet) handshake(version string) {
	d.t.Helper()
	const check = "0123456789abcdef"
	hello := ""
	if d.proto == 3 {
		hello = "HELLO 3; "
	}
	replies := d.expect(hello+
		"CLIENT SETNAME web-1(SE.Redis-v"+version+"); CLIENT SETINFO lib-name SE.Redis; CLIENT SETINFO lib-ver "+version+"; CLIENT ID; "+
		"CONFIG GET timeout; CONFIG GET replica-read-only; CONFIG GET databases; SENTINEL MASTERS; INFO replication; INFO server; "+
		"CLUSTER NODES; GET __Booksleeve_TieBreak; ECHO "+check,
		d.handshakeReplies(check)...)
	text := strings.Join(replies, "\n")
	for _, want := range []string{`role:master`, `redis_mode:standalone`, `run_id:`, `redis_version:`} {
		if !strings.Contains(text, want) {
			d.t.Errorf("INFO does not say %s:\n%s", want, text)
		}
	}
}

// handshakeReplies are those that it accepts. A scalar reply to SENTINEL, or
// anything but an error to CLUSTER NODES, makes it take the server for
// something else.
func (d *dotnet) handshakeReplies(check string) []string {
	wants := []string{"+OK", "…", "…", ":n", "…", "…", "…", "-…", "…", "…", "-…", "nil", strconv.Quote(check)}
	if d.proto == 3 {
		wants = append([]string{"…"}, wants...)
	}
	return wants
}

func TestDotnetHandshakes(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		for proto, version := range map[int]string{2: "2.9.32", 3: "3.1.31"} {
			d := dialDotnet(t, addr, proto)
			d.handshake(version)
			d.expect("PING", "+PONG")
			d.expect("INFO replication", "…")
			d.expect("SELECT 1", "+OK")
			eventually(t, soon, func() error { // the first use of a database connects to the masters
				if got := d.batch("GET k")[0]; !d.like(got, "nil") {
					return errors.New(got)
				}
				return nil
			})
			d.expect("SELECT 1; GET k; SELECT 0; GET k", "+OK", "nil", "+OK", "nil")
		}
	})
}

// In RESP3 it subscribes on the same connection, in RESP2 on a second one.
func TestDotnetSubscriptions(t *testing.T) {
	const channel = "__Booksleeve_MasterChanged"
	forEachTarget(t, func(t *testing.T, addr string) {
		second := dialDotnet(t, addr, 2)
		second.expect("CLIENT SETNAME web-1(SE.Redis-v2.9.32); CLIENT SETINFO lib-name SE.Redis; CLIENT SETINFO lib-ver 2.9.32; CLIENT ID; ECHO 0123456789abcdef",
			"+OK", "…", "…", ":n", `"0123456789abcdef"`)
		second.expect("SUBSCRIBE "+channel, fmt.Sprintf(`["subscribe" %q :1]`, channel))
		second.expect("PING", `["pong" ""]`)
		second.expect("UNSUBSCRIBE "+channel, fmt.Sprintf(`["unsubscribe" %q :0]`, channel))
		second.expect("PING", "+PONG")

		one := dialDotnet(t, addr, 3)
		one.handshake("3.1.31")
		one.expect("SUBSCRIBE "+channel, fmt.Sprintf(`["subscribe" %q :1]`, channel))
		one.expect("SET k tok EX 10 NX; PING; GET k", "+OK", "+PONG", `"tok"`)
	})
}

// On servers of version 8.4 and later LockRelease and LockExtend are one
// command each. A plain redis-server of another version does not know them.
func TestDotnetLocksByConditions(t *testing.T) {
	p := startProxy(t, startMasters(t, 3))
	for _, proto := range []int{2, 3} {
		d, other := dialDotnet(t, p.Addr, proto), dialDotnet(t, p.Addr, proto)
		d.handshake("3.1.31")
		other.handshake("3.1.31")
		if !strings.Contains(d.batch("INFO server")[0], `redis_version:8.`) {
			t.Error("the proxy does not say that it is of a version that has DELEX")
		}
		for _, ttl := range []string{"EX 30", "PX 30500"} { // whole seconds, and not
			d.expect("SET k tok "+ttl+" NX", "+OK")                  // LockTake
			other.expect("SET k other "+ttl+" NX", "nil")            // of somebody else
			other.expect("GET k", `"tok"`)                           // LockQuery
			d.expect("SET k tok "+ttl+" IFEQ tok", "+OK")            // LockExtend
			other.expect("SET k o "+ttl+" IFEQ o", "nil")            // of somebody else
			other.expect("DELEX k IFEQ other", ":0")                 // LockRelease of somebody else
			d.expect("DELEX k IFEQ tok", ":1")                       // LockRelease
			d.expect("DELEX k IFEQ tok", ":0")                       // again
			d.expect("SET k tok "+ttl+" IFEQ tok", "nil")            // LockExtend of a free lock
			d.expect("GET k; SETNX k tok; DEL k", "nil", ":1", ":1") // LockTake for ever, and what is left of it
		}
	}
}

// On older servers they are transactions: the socket is shared by all threads,
// and other commands may come before and behind the exchange.
func TestDotnetLocksByTransactions(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		for _, proto := range []int{2, 3} {
			d, other := dialDotnet(t, addr, proto), dialDotnet(t, addr, proto)
			if proto == 3 {
				d.expect("HELLO 3", "…")
				other.expect("HELLO 3", "…")
			}
			d.expect("SET k tok EX 30 NX", "+OK")
			for _, extend := range []string{"EXPIRE k 60", "PEXPIRE k 60500"} { // LockExtend
				d.expect("WATCH k; GET k", "+OK", `"tok"`)
				d.expect("MULTI; "+extend+"; EXEC", "+OK", "+QUEUED", "[:1]")
			}
			if ttl := other.batch("PTTL k")[0]; len(ttl) != len(":60500") {
				t.Errorf("RESP%d: after the extension PTTL says %s", proto, ttl)
			}
			other.expect("WATCH k; GET k", "+OK", `"tok"`) // LockRelease of somebody else
			other.expect("UNWATCH", "+OK")
			d.expect("WATCH k; GET k", "+OK", `"tok"`) // LockRelease
			d.expect("MULTI; UNLINK k; EXEC; GET k", "+OK", "+QUEUED", "[:1]", "nil")
			d.expect("WATCH k; GET k; UNWATCH", "+OK", "nil", "+OK") // of a free lock
		}
	})
}

func TestDotnetTransactionIsVoidWhenTheLockChanged(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		for _, proto := range []int{2, 3} {
			d, other := dialDotnet(t, addr, proto), dialDotnet(t, addr, proto)
			if proto == 3 {
				d.expect("HELLO 3", "…")
			}
			for _, change := range []string{"DEL k", "SET k other PX 30000"} {
				other.expect("SET k tok PX 30000", "+OK")
				d.expect("WATCH k; GET k", "+OK", `"tok"`)
				other.batch(change)
				d.expect("MULTI; UNLINK k; EXEC", "+OK", "+QUEUED", "no array")
			}
			other.expect("GET k; DEL k", `"other"`, ":1")
		}
	})
}

// ScriptEvaluate sends the script in two ways at once when it is new.
func TestDotnetScripts(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		expect(t, c, "+OK", acquire("k", "tok", lockTTL)...)
		c.Queue("SCRIPT", "LOAD", releaseScript)
		c.Queue("EVAL", releaseScript, "1", "k", "other")
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		sha, err := c.Read()
		if err != nil || len(sha) != 42 {
			t.Fatalf("SCRIPT LOAD: %s, %v", sha, err)
		}
		if got, err := c.Read(); err != nil || got != ":0" {
			t.Fatalf("EVAL: %s, %v", got, err)
		}
		expect(t, c, ":1", "EVALSHA", strings.Trim(sha, `"`), "1", "k", "tok")
	})
}

// The bytes of one handshake in RESP2 and the replies that decide, without a
// reader of ours in between.
func TestDotnetHandshakeByteForByte(t *testing.T) {
	p := startProxy(t, startMasters(t, 3))
	c := dial(t, p.Addr)
	const sent = "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$5\r\nweb-1\r\n" +
		"*2\r\n$8\r\nSENTINEL\r\n$7\r\nMASTERS\r\n" +
		"*2\r\n$7\r\nCLUSTER\r\n$5\r\nNODES\r\n" +
		"*2\r\n$3\r\nGET\r\n$21\r\n__Booksleeve_TieBreak\r\n" +
		"*2\r\n$4\r\nECHO\r\n$16\r\n\x00\x01\r\n\xff\xfe5678abcdef\r\n" +
		"*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\ntok\r\n$2\r\nEX\r\n$2\r\n30\r\n$2\r\nNX\r\n" +
		"*4\r\n$5\r\nDELEX\r\n$1\r\nk\r\n$4\r\nIFEQ\r\n$3\r\ntok\r\n"
	if _, err := io.WriteString(c, sent); err != nil {
		t.Fatal(err)
	}
	const want = "+OK\r\n" +
		"-ERR unknown command 'SENTINEL', with args beginning with: 'MASTERS' \r\n" +
		"-ERR This instance has cluster support disabled\r\n" +
		"$-1\r\n" +
		"$16\r\n\x00\x01\r\n\xff\xfe5678abcdef\r\n" +
		"+OK\r\n:1\r\n"
	got := make([]byte, len(want))
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c.Conn, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
