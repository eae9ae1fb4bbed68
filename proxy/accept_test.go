package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/tidwall/redcon"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

func TestMaxClients(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{MaxClients: 2}, q)
	a, b := dial(t, addr), dial(t, addr)
	for _, c := range []*testConn{a, b} {
		c.send("PING")
		c.want("+PONG")
	}
	c := dial(t, addr)
	c.want("-ERR max number of clients reached")
	c.wantEnd()
	a.send("QUIT")
	a.want("+OK")
	a.wantEnd()
	eventually(t, "one client is left", func() bool { return s.clients.count() == 1 })
	d := dial(t, addr)
	d.send("PING")
	d.want("+PONG")
}

// addrConn is a connection from an address.
type addrConn struct {
	net.Conn
	from net.Addr
}

func (c addrConn) RemoteAddr() net.Addr { return c.from }

func TestProtectedMode(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip)} }
	for _, test := range []struct {
		name    string
		cfg     Config
		from    net.Addr
		refused bool
	}{
		{"other host", Config{ProtectedMode: true}, tcp("192.0.2.1"), true},
		{"other host, IPv6", Config{ProtectedMode: true}, tcp("2001:db8::1"), true},
		{"loopback", Config{ProtectedMode: true}, tcp("127.0.0.1"), false},
		{"loopback, IPv6", Config{ProtectedMode: true}, tcp("::1"), false},
		{"loopback, mapped", Config{ProtectedMode: true}, tcp("::ffff:127.0.0.2"), false},
		{"Unix socket", Config{ProtectedMode: true}, &net.UnixAddr{}, false},
		{"with a password", Config{ProtectedMode: true, RequirePass: "x"}, tcp("192.0.2.1"), false},
		{"turned off", Config{}, tcp("192.0.2.1"), false},
	} {
		s := newServer(test.cfg, nil)
		_, text := s.refusal(addrConn{from: test.from})
		if got := strings.HasPrefix(text, "DENIED "); got != test.refused {
			t.Errorf("%s: refused %v (%q), want %v", test.name, got, text, test.refused)
		}
	}
}

// TestProtectedModeIsForWhoeverShowsNoCertificate; that of the others is checked
// before they can say anything.
func TestProtectedModeIsForWhoeverShowsNoCertificate(t *testing.T) {
	s := newServer(Config{ProtectedMode: true}, nil)
	from := addrConn{from: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}
	for auth, refused := range map[tls.ClientAuthType]bool{
		tls.NoClientCert: true, tls.VerifyClientCertIfGiven: true, tls.RequireAndVerifyClientCert: false,
	} {
		conn := resp.NewGuard(newTLSConn(from, &tls.Config{ClientAuth: auth}), resp.Limits{})
		if _, text := s.refusal(conn); (text != "") != refused {
			t.Errorf("%v: refused with %q, want %v", auth, text, refused)
		}
	}
}

func TestNothingButAuthBeforeAuth(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{RequirePass: "secret"}, q)
	c := dial(t, addr)
	const noAuth = "-NOAUTH Authentication required."
	c.send("GET a", "PING", "SET a b", "AUTH wrong", "GET a", "AUTH secret", "GET a", "RESET", "GET a")
	c.want(noAuth, noAuth, noAuth, "-WRONGPASS invalid username-password pair or user is disabled.", noAuth, "+OK")
	done(q.take(1)[0])
	c.want("$1", "a", "+RESET", noAuth)
}

func TestOtherProtocolsAreClosedWithoutAReply(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	for _, first := range []string{"", "PING\r\n"} {
		c := dial(t, addr)
		io.WriteString(c.TCPConn, first+"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if first != "" {
			c.want("+PONG")
		}
		if b, err := c.r.ReadByte(); err == nil {
			t.Errorf("after %q: got %q, want nothing", first, b)
		}
	}
}

// admitting is a Locks that admits.
type admitting struct{ Locks }

func (admitting) Admit(_ context.Context, name string) ([]string, error) {
	return []string{name + " may vote"}, nil
}

func (admitting) DB(int) (*redlock.Quorum, error) { return nil, nil }

func TestAdmitIsAnsweredInLine(t *testing.T) {
	_, addr := serve(t, Config{Locks: admitting{}}, newFakeQuorum())
	c := dial(t, addr)
	c.send("PING", "REDLOCK ADMIT a:1", "PING")
	c.want("+PONG", "*1", "+a:1 may vote", "+PONG")
}

// parsed is what redcon makes of a command.
func parsed(words ...string) redcon.Command {
	var cmd redcon.Command
	for _, w := range words {
		cmd.Args = append(cmd.Args, []byte(w))
	}
	return cmd
}

func TestRepliesOfABatchAreOneWrite(t *testing.T) {
	s := newServer(Config{}, func(int) (quorum, error) { return &instantQuorum{}, nil })
	client, server := net.Pipe()
	sess := newSession(s, resp.NewGuard(server, resp.Limits{}))
	if !s.enter(sess) {
		t.Fatal("not taken up")
	}
	var batch []redcon.Command
	for range 20 {
		batch = append(batch, parsed("PING"), parsed("SET", "a", "b", "PX", "1"))
	}
	go sess.run(batch)
	buf := make([]byte, 4096)
	n, _ := client.Read(buf)
	if want := strings.Repeat("+PONG\r\n+OK\r\n", 20); string(buf[:n]) != want {
		t.Errorf("one write is %q, want %q", buf[:n], want)
	}
	client.Close()
	checkGoroutines(t)
}
