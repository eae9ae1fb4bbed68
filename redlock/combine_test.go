package redlock

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestCombinedCallsAnswerAsIfAlone: what one command does to many keys is what a
// command for each would have done.
func TestCombinedCallsAnswerAsIfAlone(t *testing.T) {
	client := startServer(t).client()
	d := dialects(t, client)["Redis 7"]
	rnd := rand.New(rand.NewPCG(1, 2))
	value := func() []byte { return testValues[rnd.IntN(len(testValues))] }
	now := time.Duration(time.Now().UnixMicro()) * time.Microsecond
	e := encoder{offset: clockOffset{known: true, lo: now, hi: now}}
	for range 200 {
		do(t, client, "FLUSHALL")
		var calls []*Call
		var want []Answer
		for i := range 1 + rnd.IntN(combineMost) {
			key, mine := fmt.Sprintf("key\x00\r\n%d", i), Leaf{Effect: Delete}
			if rnd.IntN(2) == 0 {
				mine = Leaf{Effect: Expire, TTL: 50_000 + int64(i)}
			}
			c := &Call{Table: &Swap{Key: []byte(key), Token: value(), HasToken: true, Mine: mine}, Deadline: time.Minute * time.Duration(1+rnd.IntN(3))}
			a := Answer{Status: Answered}
			late := rnd.IntN(8) == 0
			if late {
				c.Deadline = -time.Minute
			}
			switch held := value(); {
			case rnd.IntN(6) == 0:
			case rnd.IntN(6) == 0:
				do(t, client, "RPUSH", key, "x")
				a.Before = State{Kind: WrongType, TTL: NoTTL}
			case rnd.IntN(3) > 0:
				held = c.Table.Token
				fallthrough
			default:
				do(t, client, "SET", key, string(held), "PX", "90000")
				a.Before = State{Kind: Text, Value: held, TTL: NoTTL}
				if bytes.Equal(held, c.Table.Token) {
					a.Mine, a.Applied, a.Before.TTL = true, true, 90_000
				}
			}
			if late {
				a = Answer{Status: Failed, Reason: ReasonTooLate}
			}
			calls, want = append(calls, c), append(want, a)
		}
		e.begin()
		e.builder = client.B()
		r := client.Do(t.Context(), e.canonicalMany(calls, d))
		i := 0
		decodeCanonicalMany(calls, &r, func(got Answer, ttl int64) {
			w, leaf := want[i], &calls[i].Table.Mine
			if got.Status != w.Status || got.Reason != w.Reason || got.Applied != w.Applied || got.Mine != w.Mine {
				t.Fatalf("call %d of %d: %+v, want %+v", i, len(calls), got, w)
			}
			if diff := differState(got.Before, w.Before); diff != "" {
				t.Fatalf("call %d: %s of %+v, want %+v", i, diff, got.Before, w.Before)
			}
			left, _ := do(t, client, "PTTL", string(calls[i].Table.Key)).AsInt64()
			switch {
			case got.Applied && leaf.Effect == Delete && (left != -2 || ttl != 0):
				t.Fatalf("call %d: TTL %d, said %d; want it deleted", i, left, ttl)
			case got.Applied && leaf.Effect == Expire && (!near(left, leaf.TTL) || ttl != leaf.TTL):
				t.Fatalf("call %d: TTL %d, said %d, want %d", i, left, ttl, leaf.TTL)
			case !got.Applied && w.Before.Kind == Text && !near(left, 90_000):
				t.Fatalf("call %d: TTL %d, though nothing was done", i, left)
			}
			i++
		})
		if i != len(calls) {
			t.Fatalf("%d answers of %d", i, len(calls))
		}
	}
}

// TestWhatAServerRefusesIsRefusedForEachCombinedCall, by its code, and nothing is done.
func TestWhatAServerRefusesIsRefusedForEachCombinedCall(t *testing.T) {
	s := startServer(t)
	client := s.client()
	var calls []*Call
	for i := range combineFrom {
		calls = append(calls, &Call{Table: &Swap{Key: fmt.Append(nil, i), Token: []byte("t"), HasToken: true, Mine: Leaf{Effect: Delete}}})
	}
	for want, set := range map[string]string{
		"NOREPLICAS": "CONFIG SET min-replicas-to-write 1",
		"NOSCRIPT":   "SCRIPT FLUSH",
		"ERR":        "ACL SETUSER default -del", // what Redis calls that in a script
		"READONLY":   "REPLICAOF 127.0.0.1 1",
	} {
		d := dialects(t, client)["Redis 7"]
		for _, c := range calls {
			do(t, client, "SET", string(c.Table.Key), "t", "PX", "60000")
		}
		s.must(set)
		e := encoder{builder: client.B()}
		r := client.Do(t.Context(), e.canonicalMany(calls, d))
		decodeCanonicalMany(calls, &r, func(a Answer, _ int64) {
			if a.Status != Failed || a.Reason != want || a.Applied {
				t.Errorf("%s: %+v", set, a)
			}
		})
		s.must("REPLICAOF NO ONE")
		s.must("ACL SETUSER default +@all")
		s.must("CONFIG SET min-replicas-to-write 0")
		if n, _ := do(t, client, "DBSIZE").AsInt64(); n != combineFrom {
			t.Errorf("%s: %d keys are left", set, n)
		}
	}
}

// TestCombiningKeepsTheOrderOfEachKey, and loses no call.
func TestCombiningKeepsTheOrderOfEachKey(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	conn := &wire{facts: &facts{dialect: dialect{setNXGet: true, canonical: "a", canonicalMany: "b"}}}
	w := newWorker(nil)
	largest := 0
	for range 2000 {
		w.batch = nil
		keys := 1 + rnd.IntN(400)
		order := map[string][]*Call{}
		for range rnd.IntN(batchLimit) {
			key := []byte(fmt.Sprint(rnd.IntN(keys)))
			s := Swap{Key: key, HasToken: true, Mine: Leaf{Effect: Delete}}
			switch rnd.IntN(40) {
			case 0:
				s.Other = Leaf{Effect: Delete}
			case 1:
				s.And = []Part{{Key: []byte("another")}}
			default:
				if rnd.IntN(2) == 0 {
					s = lockSwap(string(key), "t")
				}
			}
			c := &Call{Table: &s}
			w.batch, order[string(key)] = append(w.batch, c), append(order[string(key)], c)
		}
		n := len(w.batch)
		w.combine(conn)
		rest := w.batch
		for _, size := range w.sizes {
			largest = max(largest, size)
			seen := map[string]bool{}
			for _, c := range rest[:size] {
				key := string(c.Table.Key)
				if order[key][0] != c {
					t.Fatalf("a call on %q comes before an earlier one", key)
				}
				order[key] = order[key][1:]
				if size > 1 && (seen[key] || !isCanonical(c)) {
					t.Fatalf("a command of %d calls has %+v", size, c.Table)
				}
				seen[key] = true
			}
			rest = rest[size:]
		}
		for key, left := range order {
			if len(left) > 0 || len(rest) > 0 || len(w.batch) != n {
				t.Fatalf("%d calls on %q are missing", len(left), key)
			}
		}
	}
	if largest < 2*combineFrom || largest > combineMost {
		t.Errorf("the largest command has %d calls", largest)
	}
}

// TestOneForbiddenKeyIsNoneOfTheOthersBusiness: a master refuses a whole command
// for one key that the proxy's user may not touch.
func TestOneForbiddenKeyIsNoneOfTheOthersBusiness(t *testing.T) {
	s := startServer(t)
	s.must("ACL SETUSER proxy on >secret ~lock:* ~redlock-proxy:* &* +@all")
	c, err := Open(ClusterConfig{Masters: []MasterAddr{{Address: s.addr, Username: "proxy", Password: "secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	awaitVoters(t, c, "1", "")
	for range 3 {
		var locks, unlocks []Swap
		for i := range 50 {
			name := fmt.Sprint("lock:", i)
			if i == 20 {
				name = "forbidden"
			}
			locks, unlocks = append(locks, lockSwap(name, "t")), append(unlocks, unlockSwap(name, "t"))
		}
		for _, swaps := range [][]Swap{locks, unlocks} {
			for i, out := range startMany(t, c, 5*time.Second, swaps...) {
				if i == 20 {
					if out.Err == nil || !strings.Contains(out.Err.Error(), "NOPERM") {
						t.Errorf("the forbidden key: %+v", out)
					}
				} else if out.Err != nil || !out.Applied {
					t.Errorf("operation %d: %+v", i, out)
				}
			}
		}
	}
}

func TestKeySet(t *testing.T) {
	s := newKeySet()
	for round := range 1 << 17 { // its marks are used again
		s.empty()
		for i := range 3 {
			if !s.add([]byte{byte(i)}) {
				t.Fatalf("round %d: key %d is said to be there", round, i)
			}
		}
		if s.add([]byte{1}) {
			t.Fatalf("round %d: a key is not there", round)
		}
	}
	s.empty()
	for i := range batchLimit {
		s.add(fmt.Append(nil, i))
	}
	for i := range batchLimit {
		if s.add(fmt.Append(nil, i)) {
			t.Fatalf("key %d is not there", i)
		}
	}
}
