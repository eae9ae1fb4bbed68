package redlock

import (
	"fmt"
	"testing"
	"time"
)

// TestOneOfManySimultaneousContendersWins: clients that try once, at the same
// instant, through several proxies. All others are told that it is held, none
// gets an error (pitfall 6, design §4.4).
func TestOneOfManySimultaneousContendersWins(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 7} {
		for _, down := range []int{0, 1} {
			if n-down < n/2+1 {
				continue
			}
			t.Run(fmt.Sprintf("%d masters, %d down", n, down), func(t *testing.T) {
				var slowest time.Duration
				for seed := uint64(1); seed <= 300; seed++ {
					took := contend(t, seed, n, down)
					slowest = max(slowest, took)
				}
				t.Logf("slowest winner after %v", slowest)
				if slowest > 50*time.Millisecond {
					t.Errorf("a winner took %v", slowest)
				}
			})
		}
	}
}

// contend is one round. It returns how long the winner took.
func contend(t *testing.T, seed uint64, n, down int) (took time.Duration) {
	s := &sim{rand: newSimRand(seed)}
	s.cfg = simConfig{masters: n, proxies: 1 + s.rand.IntN(3), calm: true}
	for i := range n {
		s.masters = append(s.masters, newSimMaster(s, i))
	}
	for i := range s.cfg.proxies {
		s.proxies = append(s.proxies, newSimProxy(s, i))
		s.proxies[i].open()
	}
	s.run(time.Second) // everybody votes
	for i := range down {
		for _, l := range s.masters[i].links {
			l.blocked = time.Hour
			l.fail()
		}
	}
	winners, held, failed := 0, 0, 0
	contenders := 2 + s.rand.IntN(15)
	for i := range contenders {
		q := s.proxies[s.rand.IntN(len(s.proxies))].quorum
		start := s.now
		op := &Op{Swap: acquireOf(fmt.Sprint("token-", i))}
		op.Done = func(op *Op) {
			switch ok := q.Claim(op); {
			case !ok:
				t.Errorf("seed %d: claimed too late", seed)
			case op.Outcome.Err != nil:
				failed++
			case op.Outcome.Applied:
				winners++
				took = s.now - start
			default:
				held++
			}
			q.Settle(op)
		}
		q.Start(op, 0)
	}
	s.run(2 * time.Second)
	if winners != 1 || failed != 0 || held != contenders-1 {
		t.Errorf("seed %d, %d contenders, %d proxies: %d winners, %d held, %d failed", seed, contenders, s.cfg.proxies, winners, held, failed)
	}
	return took
}

// TestALeftoverOfOnesOwnWinsNoSplit: a client that acquires or renews meets, on
// one of two masters, what an earlier attempt of its own has left behind, and
// somebody else's lock on the other.
func TestALeftoverOfOnesOwnWinsNoSplit(t *testing.T) {
	set := Leaf{Effect: Set, Value: []byte("own"), TTL: 1000}
	h := newHandDriven(t, 3)
	h.masters[2].down = "down"
	op := h.start(Swap{Key: []byte("k"), Token: []byte("own"), HasToken: true, Absent: set, Mine: set})
	for h.done == 0 {
		for len(h.masters[0].calls) > 0 {
			h.mine(0, 500, true)
		}
		for len(h.masters[1].calls) > 0 {
			h.holds(1, "other")
		}
		h.pass(time.Millisecond)
	}
	if out := op.Outcome; out.Err != nil || out.Applied || out.Case != CaseOther {
		t.Errorf("got case %d, applied %v, error %v; want CaseOther", out.Case, out.Applied, out.Err)
	}
}
