package proxy

import (
	"fmt"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// end ends an operation on a key that holds a value, as a quorum of masters
// would that hold it.
func end(op *redlock.Op, st redlock.State) {
	out := redlock.Outcome{State: st, Case: op.Swap.Case(&st)}
	out.Applied = op.Swap.Leaf(out.Case).Effect >= redlock.Set
	op.Outcome = out
	op.Done(op)
}

func endWithout(op *redlock.Op) {
	op.Outcome = redlock.Outcome{Err: &redlock.NoQuorumError{Masters: 3, Need: 2}}
	op.Done(op)
}

var held = redlock.State{Kind: redlock.Text, Value: []byte("v"), TTL: 900, Longest: 1000}

func TestExecWaitsForItsWatch(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("WATCH k", "GET k", "GET other", "MULTI", "DEL k", "EXEC", "GET later")
	ops := q.take(2)
	if string(ops[0].Swap.Key) != "k" || string(ops[1].Swap.Key) != "other" {
		t.Fatalf("started %q and %q, want the WATCH of k and the GET of another key", ops[0].Swap.Key, ops[1].Swap.Key)
	}
	end(ops[0], held)
	c.want("+OK")
	get := q.take(1)[0]
	end(get, held)
	end(ops[1], redlock.State{})
	c.wantBulk("v")
	c.want("$-1", "+OK", "+QUEUED")
	exec := q.take(2)
	if s := &exec[0].Swap; string(s.Token) != "v" || !s.HasToken || s.Mine.Effect != redlock.Delete || s.Other.Effect != redlock.Keep ||
		s.TTLAtMost < 1 || s.TTLAtMost > 1002 {
		t.Errorf("EXEC asks for %+v", exec[0].Swap)
	}
	end(exec[0], held)
	end(exec[1], redlock.State{})
	c.want("*1", ":1", "$-1")
	q.await(t, 5, 0)
}

func TestExecAfterAWatchWithoutQuorum(t *testing.T) {
	for _, test := range []struct {
		name     string
		between  []string // answered one after the other
		replies  []string
		executed bool
	}{
		{"is not run", nil, nil, false},
		{"is not run though another key is watched", []string{"WATCH other"}, []string{"+OK"}, false},
		{"is run after another try", []string{"WATCH other k"}, []string{"+OK"}, true},
		{"is run after UNWATCH", []string{"UNWATCH"}, []string{"+OK"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := newFakeQuorum()
			first := true
			q.start = func(op *redlock.Op) {
				if first {
					first = false
					endWithout(op)
					return
				}
				end(op, held)
			}
			_, addr := serve(t, Config{}, q)
			c := dial(t, addr)
			c.send("WATCH k")
			if line, _ := c.r.ReadString('\n'); !strings.HasPrefix(line, "-NOQUORUM") {
				t.Fatalf("WATCH: %q", line)
			}
			for i, line := range test.between {
				c.send(line)
				c.want(test.replies[i])
			}
			c.send("MULTI", "PING", "EXEC", "MULTI", "PING", "EXEC")
			c.want("+OK", "+QUEUED")
			switch line, _ := c.r.ReadString('\n'); {
			case test.executed && strings.HasPrefix(line, "*1"):
				c.want("+PONG")
			case test.executed, line != "-"+errWatchUnknown+"\r\n":
				t.Errorf("EXEC: %q", line)
			}
			c.want("+OK", "+QUEUED", "*1", "+PONG") // it has unwatched
		})
	}
}

func TestConnectionEndsWhileExecWaits(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("WATCH k", "MULTI", "DEL k", "EXEC")
	op := q.take(1)[0]
	c.SetLinger(0) // a reset, which the proxy notices when it writes
	c.Close()
	end(op, held)
	// It may notice before or after EXEC was started.
	eventually(t, "everything is settled or abandoned", func() bool {
		if q.started() > 0 {
			end(q.take(1)[0], held)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, state := range q.states {
			if state == "started" || state == "claimed" {
				return false
			}
		}
		return true
	})
}

func TestTransactionsAreBounded(t *testing.T) {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) { end(op, redlock.State{}) }
	_, addr := serve(t, Config{MaxInFlight: 8, MaxInFlightSize: 4400}, q)
	long := strings.Repeat("x", 1000)
	var keys strings.Builder
	for i := range maxWatched {
		fmt.Fprintf(&keys, " k%d", i)
	}
	for _, test := range []struct {
		name, command string
		accepted      int
	}{
		{"commands", "PING", 8},
		{"bytes", "ECHO " + long, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := dial(t, addr)
			c.send("MULTI")
			c.want("+OK")
			for range test.accepted {
				c.send(test.command)
				c.want("+QUEUED")
			}
			c.send(test.command, "PING", "EXEC", "PING")
			c.want("-"+errQueueFull, "+QUEUED", "-"+errExecAborted, "+PONG")
		})
	}
	t.Run("watched keys", func(t *testing.T) {
		c := dial(t, addr)
		c.send("WATCH a")
		c.want("+OK")
		c.send("WATCH" + keys.String())
		c.want("-" + errWatchMany)
		c.send("UNWATCH", "WATCH"+keys.String(), "UNWATCH")
		c.want("+OK", "+OK", "+OK")
	})
}

func TestWatchedValuesAreBounded(t *testing.T) {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) {
		end(op, redlock.State{Kind: redlock.Text, Value: make([]byte, maxWatchedSize+1), TTL: 1, Longest: 1})
	}
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("WATCH k", "MULTI", "EXEC")
	c.want("+OK", "+OK", "-"+errWatchLarge)
}

func TestWhatIsNotQueuedSaysWhy(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	for _, test := range []struct{ command, want string }{
		{"SELECT 1", notServed("SELECT inside MULTI", whyInMulti)},
		{"INFO", notServed("INFO inside MULTI", whyInMulti)},
		{"CLIENT ID", notServed("CLIENT inside MULTI", whyInMulti)},
		{"HELLO 3", notServed("HELLO inside MULTI", whyInMulti)},
		{"HSET k f v", notServed("HSET", whyStructure)},
		{"INCR k", notServed("INCR", whyCounter)},
		{"FOO", "ERR unknown command 'FOO', with args beginning with: "},
		{"HELLO 2 3 4 5 6 7 8 9", notServed("HELLO inside MULTI", whyInMulti)},
		{"ECHO", arityError("echo")},
		{"SELECT", arityError("select")},
	} {
		c.send("MULTI", "PING", test.command, "EXEC")
		c.want("+OK", "+QUEUED", "-"+test.want, "-"+errExecAborted)
	}
}

func TestTransactionNeedsAuthentication(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{RequirePass: "secret"}, q)
	c := dial(t, addr)
	for _, command := range []string{"MULTI", "EXEC", "DISCARD", "WATCH k", "UNWATCH"} {
		c.send(command)
		c.want("-" + errNoAuth)
	}
	c.send("AUTH secret", "MULTI", "PING", "EXEC", "MULTI", "RESET", "EXEC", "AUTH secret", "EXEC")
	c.want("+OK", "+OK", "+QUEUED", "*1", "+PONG", "+OK", "+RESET", "-"+errNoAuth, "+OK", "-"+errExecAlone)
}

func TestExecWithoutQuorum(t *testing.T) {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) { go endWithout(op) }
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("MULTI", "SET k v NX PX 1000", "EXEC")
	c.want("+OK", "+QUEUED")
	if line, _ := c.r.ReadString('\n'); !strings.HasPrefix(line, "-NOQUORUM ") {
		t.Errorf("EXEC: %q", line)
	}
}

// A change that came too late to be promised is tried again, and then finds its
// own traces: that is not "changed by somebody".
func TestTooLateIsNotTakenForChanged(t *testing.T) {
	q := newFakeQuorum()
	claims := 0
	q.claim = func(op *redlock.Op, again bool) bool {
		if op.Swap.Mine.Effect != redlock.Expire || again {
			return true
		}
		if claims++; claims > 1 {
			return true
		}
		q.mu.Lock()
		q.states[op] = "started"
		q.mu.Unlock()
		go func() {
			longer := held
			longer.TTL = 5000
			end(op, longer)
		}()
		return false
	}
	q.start = func(op *redlock.Op) { end(op, held) }
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("WATCH k", "MULTI", "PEXPIRE k 5000", "EXEC")
	c.want("+OK", "+OK", "+QUEUED")
	if line, _ := c.r.ReadString('\n'); !strings.HasPrefix(line, "-NOQUORUM ") {
		t.Errorf("EXEC: %q", line)
	}
}
