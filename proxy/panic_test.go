package proxy

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// serveFaulty serves a database 0 over q, and panics when database 1 is opened,
// which is where a handler of a lock command calls something of the test.
func serveFaulty(t *testing.T, q quorum) (cfg Config, log *logText, addr string) {
	t.Helper()
	cfg, log = watched(Config{})
	s := newServer(cfg, func(db int) (quorum, error) {
		if db == 1 {
			panic("injected")
		}
		return q, nil
	})
	_, addr = serveOn(t, s)
	return cfg, log, addr
}

// sendBatch sends commands that are read at once.
func sendBatch(c *testConn, lines ...string) {
	var b []byte
	for _, line := range lines {
		args := strings.Fields(line)
		b = resp.AppendArray(b, len(args))
		for _, arg := range args {
			b = resp.AppendBulkString(b, arg)
		}
	}
	c.Write(b)
}

// wantContained wants one panic counted and logged with its stack, and others
// served.
func wantContained(t *testing.T, cfg Config, log *logText, addr, function string) {
	t.Helper()
	wantCut(t, cfg.Metrics, cutPanic, 1)
	eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "please report this") })
	for _, want := range []string{"goroutine ", function} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	other := dial(t, addr)
	other.send("PING")
	other.want("+PONG")
}

// What was granted before is undone, whether it had come at once with the
// command that panics or was on its way already; what was answered stays.
func TestPanicOfAHandler(t *testing.T) {
	q := newFakeQuorum()
	cfg, log, addr := serveFaulty(t, q)
	t.Cleanup(func() { q.check(t) })
	c := dial(t, addr)
	c.send("SET answered v NX PX 1000")
	done(q.take(1)[0])
	c.want("+OK")
	c.send("SET earlier v NX PX 1000")
	ops := q.take(1)
	sendBatch(c, "SET at-once v NX PX 1000", "SELECT 1", "SET k v NX PX 1000", "SET later v NX PX 1000")
	c.wantEnd()
	ops = append(ops, q.take(1)...)
	q.await(t, 1, 2)
	for _, op := range ops {
		done(op) // the engine may be about to
	}
	q.await(t, 1, 2)
	if n := q.started(); n != 0 {
		t.Errorf("%d operations were started after the panic", n)
	}
	wantContained(t, cfg, log, addr, "startLock")
}

// A slot that is used again must not undo what its operation was before.
func TestPanicBeforeTheStartUndoesNothingElse(t *testing.T) {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) { done(op) }
	cfg, log, addr := serveFaulty(t, q)
	t.Cleanup(func() { q.check(t) })
	c := dial(t, addr)
	for range 10 {
		c.send("SET k v NX PX 1000")
		c.want("+OK")
	}
	sendBatch(c, "SELECT 1", "SET k v NX PX 1000")
	c.wantEnd()
	q.await(t, 10, 0)
	wantContained(t, cfg, log, addr, "startLock")
}

func TestPanicOfAReply(t *testing.T) {
	q := newFakeQuorum()
	cfg, log, addr := serveFaulty(t, q)
	t.Cleanup(func() { q.check(t) })
	c := dial(t, addr)
	c.send("SET a v NX PX 1000", "SET b v NX PX 1000", "SET c v NX PX 1000")
	ops := q.take(3)
	done(ops[2])
	ops[1].Outcome = redlock.Outcome{Case: 200} // there is no such
	ops[1].Done(ops[1])
	c.wantEnd()
	q.await(t, 0, 3)
	wantContained(t, cfg, log, addr, "Reply")
}

// bomb is a connection that panics when it is read.
type bomb struct{ net.Conn }

func (bomb) Read([]byte) (int, error) { panic("injected") }

// bombs is a listener whose first connection is one.
type bombs struct {
	net.Listener
	done bool
}

func (l *bombs) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && !l.done {
		l.done, c = true, bomb{c}
	}
	return c, err
}

func TestPanicOfTheGuard(t *testing.T) {
	cfg, log := watched(Config{})
	s := newServer(cfg, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(&bombs{Listener: ln}) }()
	dial(t, ln.Addr().String()).wantEnd()
	wantContained(t, cfg, log, ln.Addr().String(), "Guard")
	s.Shutdown(t.Context())
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestPanicOfTheEngine: mutexes may be locked for good, so the process ends, and
// says why. It is another process, which is this test once more.
func TestPanicOfTheEngine(t *testing.T) {
	const inside = "REDLOCK_PROXY_TEST_PANICS"
	if os.Getenv(inside) != "" {
		q := newFakeQuorum()
		q.start = func(*redlock.Op) { panic("injected") }
		_, addr := serveAny(t, Config{}, q)
		c := dial(t, addr)
		c.send("SET k v NX PX 1000")
		c.r.ReadByte()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicOfTheEngine$")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: injected") || !strings.Contains(string(out), "goroutine ") {
		t.Errorf("got %v, want a panic:\n%s", err, out)
	}
}
