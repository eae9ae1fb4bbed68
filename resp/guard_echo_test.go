package resp

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/redcon"
)

// echoServer is the smallest server of the shape the guard is made for. It
// answers PING, ECHO and AUTH secret.
type echoServer struct {
	addr string

	mu   sync.Mutex
	ends []error // how sessions ended
}

// serveEcho runs an echoServer until the test ends. Without a password every
// client counts as logged in.
func serveEcho(t testing.TB, l Limits, password bool) *echoServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &echoServer{addr: ln.Addr().String()}
	handle := func(conn redcon.Conn, cmd redcon.Command) {
		conn.Detach()
		go s.session(conn.NetConn().(*Guard), []redcon.Command{cmd}, !password)
	}
	accept := func(conn redcon.Conn) bool {
		if !password {
			conn.NetConn().(*Guard).Authenticated()
		}
		return true
	}
	closed := func(_ redcon.Conn, err error) { s.ended(err) }
	guarded := Listen(ln, l)
	done := make(chan struct{})
	go func() {
		defer close(done)
		redcon.Serve(guarded, handle, accept, closed)
	}()
	t.Cleanup(func() {
		guarded.Close()
		<-done
	})
	return s
}

func (s *echoServer) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && err.Error() != "detached" {
		s.ends = append(s.ends, err)
	}
}

// session answers batches until the client leaves or breaks the protocol.
func (s *echoServer) session(g *Guard, cmds []redcon.Command, authed bool) {
	defer g.Close()
	var err error
	for err == nil {
		var out []byte
		for _, cmd := range cmds {
			out = appendEcho(out, g, cmd.Args, &authed)
		}
		if _, err = g.Write(out); err == nil {
			cmds, err = g.ReadCommands()
		}
	}
	var fault *ProtocolError
	if errors.As(err, &fault) {
		g.Write(AppendError(nil, "ERR "+fault.Error()))
	}
	s.ended(err)
}

// appendEcho appends the reply of one command.
func appendEcho(out []byte, g *Guard, args [][]byte, authed *bool) []byte {
	name := strings.ToUpper(string(args[0]))
	switch {
	case name == "AUTH" && len(args) == 2 && string(args[1]) == "secret":
		*authed = true
		g.Authenticated()
		return AppendStatus(out, "OK")
	case !*authed:
		return AppendError(out, "NOAUTH Authentication required.")
	case name == "PING" && len(args) == 1:
		return AppendStatus(out, "PONG")
	case name == "ECHO" && len(args) == 2:
		return AppendBulk(out, args[1])
	}
	if name == "GET" || name == "ECHO" {
		return AppendError(out, "ERR wrong number of arguments for '"+strings.ToLower(name)+"' command")
	}
	return AppendError(out, "ERR unknown command")
}
