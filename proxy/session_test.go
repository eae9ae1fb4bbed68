package proxy

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"redlock-proxy/redlock"
)

func TestRepliesKeepTheirOrder(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{MaxInFlightSize: 16 << 20}, q)
	c := dial(t, addr)
	const n = 1000
	go func() {
		ops := q.take(n)
		rand.Shuffle(n, func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for _, op := range ops[i*n/4 : (i+1)*n/4] {
					done(op)
				}
			})
		}
		wg.Wait()
	}()
	for i := range n {
		c.send(fmt.Sprintf("GET key:%d", i))
	}
	for i := range n {
		c.wantBulk(fmt.Sprintf("key:%d", i))
	}
	q.await(t, n, 0)
}

func TestUtilityCommandsWaitInLine(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET a", "PING", "SELECT 3", "GET b", "HELLO 3", "GET c", "PING x")
	ops := q.take(3)
	for _, i := range []int{2, 1, 0} {
		op := ops[i]
		op.Outcome = redlock.Outcome{Case: redlock.CaseAbsent}
		op.Done(op)
	}
	c.want("$-1", "+PONG", "+OK", "$-1", "%7")
	for {
		if line, err := c.r.ReadString('\n'); err != nil {
			t.Fatal(err)
		} else if line == "_\r\n" {
			break // GET c, in RESP3
		}
	}
	c.wantBulk("x")
}

func TestOperationsStartInOrderOfArrival(t *testing.T) {
	q := newFakeQuorum()
	var order []string
	q.start = func(op *redlock.Op) {
		order = append(order, string(op.Swap.Key)+"="+string(op.Swap.Absent.Value))
		go done(op)
	}
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	const n = 1000
	go func() {
		for i := range n {
			c.send(fmt.Sprintf("SET k%d %d NX PX 1000", i%10, i))
		}
	}()
	for range n {
		c.want("+OK")
	}
	q.await(t, n, 0)
	for i, got := range order {
		if want := fmt.Sprintf("k%d=%d", i%10, i); got != want {
			t.Fatalf("operation %d is %s, want %s", i, got, want)
		}
	}
}

func TestLateGrantIsAnsweredWhenItIsDoneAgain(t *testing.T) {
	q := newFakeQuorum()
	var claims atomic.Int32
	q.claim = func(op *redlock.Op, _ bool) bool {
		if claims.Add(1) > 1 {
			return true
		}
		q.mu.Lock()
		q.states[op] = "started"
		q.mu.Unlock()
		go func() {
			op.Outcome = redlock.Outcome{Err: &redlock.NoQuorumError{Masters: 3, Need: 2}}
			op.Done(op)
		}()
		return false
	}
	q.start = func(op *redlock.Op) { go done(op) }
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("SET a b NX PX 100", "SET b b NX PX 100", "PING")
	line, _ := c.r.ReadString('\n')
	if len(line) < 9 || line[:9] != "-NOQUORUM" {
		t.Errorf("got %q, want -NOQUORUM", line)
	}
	c.want("+OK", "+PONG")
	q.await(t, 2, 0)
}
