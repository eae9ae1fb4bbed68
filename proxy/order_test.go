package proxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// keepTTL is a command that takes two rounds: it learns the value first.
const keepTTL = "SET k new KEEPTTL"

// learnt ends the first round of keepTTL.
func learnt(op *redlock.Op) {
	op.Outcome = redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text, Value: []byte("old"), TTL: 5000}}
	op.Done(op)
}

// committed ends its second round.
func committed(op *redlock.Op) {
	op.Outcome = redlock.Outcome{Case: redlock.CaseMine, Applied: true}
	op.Done(op)
}

// TestWhoReadsEachReplyNeedsNoOrder: most connections never have two commands
// unanswered, and hold no memory for that.
func TestWhoReadsEachReplyNeedsNoOrder(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	for range 10 {
		c.send("SET k x NX PX 100")
		done(q.take(1)[0])
		c.want("+OK")
	}
	if n := len(s.list()[0].order.last); n > 0 {
		t.Errorf("the order knows %d keys", n)
	}
}

func TestWhatFollowsASecondRoundWaitsForIt(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send(keepTTL, "GET k", "SET k x NX PX 100", "GET other")
	ops := q.take(2)
	if key := string(ops[1].Swap.Key); key != "other" {
		t.Errorf("%q was started, want the other key first", key)
	}
	learnt(ops[0])
	second := q.take(1)[0]
	if !second.Swap.HasToken || string(second.Swap.Token) != "old" {
		t.Errorf("second round expects %q, want old", second.Swap.Token)
	}
	if n := q.started(); n != 0 {
		t.Errorf("%d operations started before the second round has ended", n)
	}
	committed(second)
	ops = append(q.take(2), ops[1])
	if ops[0].Swap.Absent.Effect != redlock.Keep || ops[1].Swap.Absent.Effect != redlock.Set {
		t.Error("GET and SET were started out of order")
	}
	for _, op := range ops {
		done(op)
	}
	c.want("+OK", "$1", "k", "+OK", "$5", "other")
}

// TestAcquiresOfAConnectionJoinEachOther: also those that had to wait for
// something else first.
func TestAcquiresOfAConnectionJoinEachOther(t *testing.T) {
	q := newFakeQuorum()
	var mu sync.Mutex
	var joined []*redlock.Op
	q.join = func(op, other *redlock.Op) bool {
		mu.Lock()
		defer mu.Unlock()
		plain := func(s *redlock.Swap) bool { return s.Absent.Effect == redlock.Set && s.Other.Effect == redlock.Keep }
		acquires := plain(&op.Swap) && plain(&other.Swap)
		if acquires {
			joined = append(joined, op, other)
		}
		return acquires
	}
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send(keepTTL, "SET k a NX PX 100", "SET k b NX PX 100", "SET k c NX PX 100", "GET k", "SET k d NX PX 100")
	learnt(q.take(1)[0])
	committed(q.take(1)[0])
	ops := q.take(3)
	mu.Lock()
	var got []string
	for _, op := range append(slices.Clone(joined), ops...) {
		got = append(got, string(op.Swap.Absent.Value))
	}
	mu.Unlock()
	if want := []string{"b", "a", "c", "b", "a", "", "d"}; !slices.Equal(got, want) {
		t.Errorf("joined and started %q, want %q", got, want)
	}
	for i := len(joined) - 2; i >= 0; i -= 2 {
		joined[i].Outcome = redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text}}
		joined[i].Done(joined[i])
	}
	for _, op := range ops {
		done(op)
	}
	c.want("+OK", "+OK", "$-1", "$-1", "$1", "k", "+OK")
}

func TestAnOperationOnSeveralKeysHasItsPlaceOnEach(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("GET b", `EVAL "return redis.call('exists',KEYS[1],KEYS[2])" 2 a b`, "GET b", "GET a", "GET c")
	ops := q.take(3)
	several := ops[1]
	if len(several.Swap.And) != 1 || string(several.Swap.And[0].Key) != "b" || string(ops[2].Swap.Key) != "c" {
		t.Errorf("started %+v and %q, want the operation on both keys and the one on c", several.Swap, ops[2].Swap.Key)
	}
	if n := q.started(); n != 0 {
		t.Errorf("%d operations started while it is unanswered", n)
	}
	done(ops[0])
	several.Outcome = redlock.Outcome{Case: redlock.CaseOther, Parts: make([]redlock.State, 1)}
	several.Done(several)
	for _, op := range append(q.take(2), ops[2]) {
		done(op)
	}
	c.want("$1", "b", ":0", "$1", "b", "$1", "a", "$1", "c")
}

func TestWhatWaitedIsDroppedWithTheConnection(t *testing.T) {
	q := newFakeQuorum()
	_, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send(keepTTL, "GET k", "GET k")
	op := q.take(1)[0]
	c.SetLinger(0)
	c.Close()
	q.await(t, 0, 1)
	learnt(op) // too late to matter
	if n := q.started(); n != 0 {
		t.Errorf("%d operations started for a connection that is gone", n)
	}
}

// model is a quorum that applies each operation when it is started, and says so
// a little later, in any order.
type model struct {
	mu     sync.Mutex
	values map[string]string
	late   sync.WaitGroup
}

func (m *model) Now() time.Duration     { return time.Second }
func (m *model) Claim(*redlock.Op) bool { return true }
func (m *model) Settle(*redlock.Op)     {}
func (m *model) Abandon(op *redlock.Op) {}

func (m *model) Join(_, _ *redlock.Op, _ time.Duration) bool { return false }
func (m *model) Start(op *redlock.Op, _ time.Duration) {
	op.Outcome = m.apply(&op.Swap)
	if rand.IntN(4) == 0 {
		op.Done(op)
		return
	}
	m.late.Go(func() {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		op.Done(op)
	})
}

func (m *model) apply(s *redlock.Swap) redlock.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := redlock.Outcome{State: m.state(s.Key)}
	for i := range s.And {
		out.Parts = append(out.Parts, m.state(s.And[i].Key))
	}
	out.Case = s.CaseOf(&out.State, out.Parts)
	out.Applied = m.change(string(s.Key), s.Leaf(out.Case))
	for i := range s.And {
		p := &s.And[i]
		switch out.Case {
		case redlock.CaseAbsent:
			out.Applied = m.change(string(p.Key), &p.Absent) || out.Applied
		case redlock.CaseMine:
			out.Applied = m.change(string(p.Key), &p.Mine) || out.Applied
		}
	}
	return out
}

func (m *model) state(key []byte) redlock.State {
	if v, ok := m.values[string(key)]; ok {
		return redlock.State{Kind: redlock.Text, Value: []byte(v), TTL: 1000}
	}
	return redlock.State{}
}

func (m *model) change(key string, l *redlock.Leaf) bool {
	switch l.Effect {
	case redlock.Set:
		m.values[key] = string(l.Value)
	case redlock.Delete:
		delete(m.values, key)
	case redlock.Expire:
	default:
		return false
	}
	return true
}

// transcript runs the commands, with so many at a time in flight, and returns
// what was answered.
func transcript(t *testing.T, commands []string, together int) (said string) {
	t.Run(fmt.Sprintf("%d together", together), func(t *testing.T) {
		said = answersTo(t, commands, together)
	})
	return said
}

func answersTo(t *testing.T, commands []string, together int) string {
	m := &model{values: map[string]string{}}
	_, addr := serveAny(t, Config{}, m)
	defer m.late.Wait()
	c := dial(t, addr)
	var b strings.Builder
	for len(commands) > 0 {
		n := min(together, len(commands))
		go c.send(append(commands[:n:n], "ECHO end")...)
		for line := ""; line != "end\r\n"; {
			var err error
			if line, err = c.r.ReadString('\n'); err != nil {
				t.Fatalf("%v, after %q, of %q", err, b.String(), commands[:n])
			}
			if line != "$3\r\n" && line != "end\r\n" {
				b.WriteString(line)
			}
		}
		commands = commands[n:]
	}
	return b.String()
}

func TestPipelinedCommandsDoWhatTheyDoOneByOne(t *testing.T) {
	for _, keys := range []int{1, 3, 500} {
		var commands []string
		for i := range 1000 {
			k, other := rand.IntN(keys), rand.IntN(keys)
			commands = append(commands, []string{
				fmt.Sprintf("SET k%d v%d NX PX 1000", k, i),
				fmt.Sprintf("SET k%d v%d KEEPTTL", k, i),
				fmt.Sprintf("GET k%d", k),
				fmt.Sprintf("DEL k%d", k),
				fmt.Sprintf("EXISTS k%d k%d k%d", k, other, k),
				fmt.Sprintf("DEL k%d k%d", k, other),
				fmt.Sprintf(`EVAL "return redis.call('msetnx',KEYS[1],ARGV[1],KEYS[2],ARGV[1])" 2 k%d k%d v%d`, k, other, i),
				fmt.Sprintf(`EVAL "return redis.call('del',KEYS[1],KEYS[2])" 2 k%d k%d`, other, k),
			}[rand.IntN(8)])
		}
		want := transcript(t, commands, 1)
		if got := transcript(t, commands, len(commands)); got != want {
			t.Errorf("%d keys: the replies differ\ntogether: %.2000q\none by one: %.2000q", keys, got, want)
		}
	}
}
