package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// sendReads sends n commands, to keys of their own.
func sendReads(c *testConn, n int) {
	for i := range n {
		c.send(fmt.Sprintf("GET k%d", i))
	}
}

func TestLostConnectionAbandonsEachOperationOnce(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	sendReads(c, 100)
	ops := q.take(100)
	for _, op := range ops[50:] {
		done(op) // behind others in the line
	}
	c.SetLinger(0)
	c.Close()
	q.await(t, 0, 100)
	for _, op := range ops[:50] {
		done(op) // the engine may be about to
	}
	q.await(t, 0, 100)
}

func TestHalfClosedConnectionGetsItsReplies(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET a", "GET b", "PING", "GET unfinish")
	c.CloseWrite()
	for _, op := range q.take(3) {
		done(op)
	}
	c.want("$1", "a", "$1", "b", "+PONG", "$8", "unfinish")
	c.wantEnd()
	q.await(t, 3, 0)
}

func TestQuitIsAnsweredInLineAndEndsTheConnection(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET a", "QUIT")
	done(q.take(1)[0])
	c.want("$1", "a", "+OK")
	c.wantEnd()
}

func TestProtocolErrorIsAnsweredInLineAndEndsTheConnection(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET a", "*1", "!")
	done(q.take(1)[0])
	c.want("$1", "a", "-ERR Protocol error: expected '$', got '!'")
	c.wantEnd()
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	idle, silent := dial(t, addr), dial(t, addr)
	idle.send("PING")
	idle.want("+PONG")
	var busy [4]*testConn
	for i := range busy {
		busy[i] = dial(t, addr)
		sendReads(busy[i], 25)
	}
	ops := q.take(100)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(context.Background()) }()
	idle.wantEnd()
	silent.wantEnd()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("still accepting")
	}
	for _, op := range ops {
		done(op)
	}
	for _, c := range busy {
		for i := range 25 {
			c.wantBulk(fmt.Sprintf("k%d", i))
		}
		c.wantEnd()
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	q.await(t, 100, 0)
}

func TestShutdownGivesBackWhatDoesNotEnd(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{ShutdownTimeout: 10 * time.Millisecond}, q)
	c := dial(t, addr)
	sendReads(c, 100)
	q.take(100)
	if err := s.Shutdown(context.Background()); err == nil || !strings.Contains(err.Error(), "1 connection") {
		t.Errorf("Shutdown says %v, want one connection", err)
	}
	q.await(t, 0, 100)
}

func TestIdleConnectionIsClosed(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{IdleTimeout: 20 * time.Millisecond}, q)
	silent, idle, busy := dial(t, addr), dial(t, addr), dial(t, addr)
	idle.send("PING")
	idle.want("+PONG")
	busy.send("GET a")
	op := q.take(1)[0]
	silent.wantEnd()
	idle.wantEnd()
	time.AfterFunc(60*time.Millisecond, func() { done(op) })
	busy.want("$1", "a") // it is the proxy that was slow
	busy.wantEnd()
}

// endless is a client that sends commands without reading the replies.
func endless(c *testConn, command string) {
	for c.SetWriteDeadline(time.Now().Add(patience)); ; {
		if _, err := io.WriteString(c.TCPConn, command); err != nil {
			return
		}
	}
}

func TestClientThatNeverReadsIsBoundedAndCutOff(t *testing.T) {
	q := newFakeQuorum()
	var started atomic.Int64
	value := make([]byte, 100<<10)
	q.start = func(op *redlock.Op) {
		if string(op.Swap.Key) == "k" {
			started.Add(1)
		}
		go func() {
			op.Outcome = redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text, Value: value, TTL: 1}}
			op.Done(op)
		}()
	}
	_, addr := serve(t, Config{WriteTimeout: 300 * time.Millisecond}, q)
	slow, other := dial(t, addr), dial(t, addr)
	go endless(slow, strings.Repeat("GET k\r\n", 100))
	for q.total() == 0 {
		other.send("GET a")
		if _, err := io.CopyN(io.Discard, other.r, int64(len("$102400\r\n\r\n")+len(value))); err != nil {
			t.Fatal("a client that does not read stalls others:", err)
		}
	}
	// The sockets take some MB; firstReply lets a first quarter of MaxInFlight
	// through, MaxInFlightSize little after that.
	if size := started.Load() * int64(len(value)); size > 64<<20 {
		t.Errorf("%d MB of replies were asked for", size>>20)
	}
}

// total returns how many operations were abandoned.
func (q *fakeQuorum) total() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.abandoned
}

func TestGrantThatRunsOutInAFullSocketIsNotHandedOver(t *testing.T) {
	const n = 20_000
	q := newFakeQuorum()
	q.claim = func(_ *redlock.Op, again bool) bool { return !again }
	q.start = func(op *redlock.Op) {
		if string(op.Swap.Key) != "first" {
			done(op)
			return
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.kept = append(q.kept, op)
		q.changed.Broadcast()
	}
	s, addr := serve(t, Config{MaxInFlight: 1 << 20, MaxInFlightSize: 1 << 30}, q)
	c := dial(t, addr)
	c.send("GET first")
	first := q.take(1)[0]
	io.WriteString(c.TCPConn, strings.Repeat("SET k v NX PX 100\r\nECHO "+strings.Repeat("x", 600)+"\r\n", n))
	c.send("SCRIPT EXISTS last")
	sess := s.list()[0]
	eventually(t, "all is started", func() bool { return sess.unanswered() == 2*n+2 })
	done(first) // the rest is ready, and fills the socket
	q.mu.Lock()
	for q.abandoned == 0 {
		q.changed.Wait()
	}
	settled := q.settled
	q.mu.Unlock()
	q.await(t, settled, n+1-settled)
	if read, err := io.Copy(io.Discard, c.r); read == 0 || read > n*600 {
		t.Errorf("read %d bytes (%v), want some but not all", read, err)
	}
}

// unanswered returns the length of the line.
func (s *session) unanswered() int {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return int(s.line.published - s.line.head)
}
