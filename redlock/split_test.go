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
	}
	s.run(time.Second) // everybody votes
	for i := range down {
		for _, l := range s.masters[i].links {
			l.up = false
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
