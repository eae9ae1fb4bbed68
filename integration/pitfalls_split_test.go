package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// winnerIn is within what time 99 of 100 rounds of contention have a winner.
const winnerIn = 50 * time.Millisecond

// TestSimultaneousContenders: 2 to 16 clients that try once, at the same
// instant, through one to three proxies. Never two of them win, and one does,
// soon; the others are told that the lock is held, and none gets an error, also
// when a master is down (pitfall 6).
func TestSimultaneousContenders(t *testing.T) {
	stalled := watchStalls(t)
	var allUp, oneDown harness.Latencies
	for _, n := range []int{2, 3, 4, 5, 7} {
		t.Run(fmt.Sprintf("%d masters", n), func(t *testing.T) {
			m := startMasters(t, n)
			a := openArena(t, m)
			allUp = append(allUp, a.contend(t, "all up", 150)...)
			if n < 3 {
				return // two of two are the least majority
			}
			// The lowest-numbered one that answers decides who gives way.
			down := []int{0, n - 1}[n%2]
			m[down].Kill()
			for _, p := range a.proxies {
				waitVotes(t, p, m[down].Addr(), 0, soon)
			}
			oneDown = append(oneDown, a.contend(t, fmt.Sprintf("master %d down", down+1), 100)...)
		})
	}
	limit := winnerIn + 2*stalled()
	for name, took := range map[string]harness.Latencies{"all up": allUp, "one down": oneDown} {
		p50, p99 := took.Quantile(0.5), took.Quantile(0.99)
		t.Logf("%s: %d rounds, a winner after p50 %v, p99 %v, at most %v", name, len(took), p50, p99, took.Quantile(1))
		if p99 > limit {
			t.Errorf("%s: p99 of the time to a winner is %v, want at most %v", name, p99, limit)
		}
	}
}

const maxContenders = 16

// arena is proxies over the same masters and enough connections to each for
// any round.
type arena struct {
	proxies []*harness.Proxy
	conns   [][]*harness.Conn // by proxy
	rnd     *rand.Rand
}

func openArena(t *testing.T, m masters) *arena {
	t.Helper()
	a := &arena{rnd: rand.New(rand.NewPCG(uint64(len(m)), 1))}
	for range 3 {
		p := startProxy(t, m)
		var conns []*harness.Conn
		for range maxContenders {
			conns = append(conns, dial(t, p.Addr))
		}
		a.proxies, a.conns = append(a.proxies, p), append(a.conns, conns)
	}
	return a
}

// contenders are connections for one round, through one to three proxies.
func (a *arena) contenders() []*harness.Conn {
	conns := make([]*harness.Conn, 2+a.rnd.IntN(maxContenders-1))
	through := 1 + a.rnd.IntN(len(a.proxies))
	for i := range conns {
		conns[i] = a.conns[i%through][i]
	}
	return conns
}

// contend makes rounds and judges them. It returns how long the winners took.
func (a *arena) contend(t *testing.T, name string, rounds int) (took harness.Latencies) {
	t.Helper()
	stalled := watchStalls(t)
	var faults []string
	for round := range rounds {
		conns := a.contenders()
		r := playRound(conns, fmt.Sprintf("%s:%d", name, round))
		if r.winners > 1 {
			t.Errorf("%s, round %d: %d of %d contenders won", name, round, r.winners, len(conns))
		}
		if r.winners != 1 || r.held != len(conns)-1 {
			faults = append(faults, fmt.Sprintf("round %d, %d contenders: %d won, %d were told it is held, the others %q",
				round, len(conns), r.winners, r.held, r.others))
			continue
		}
		took = append(took, r.took)
	}
	l := load{faults: faults}
	l.report(t, stalled())
	return took
}

// outcome is what the contenders of a round were told.
type outcome struct {
	winners, held int
	others        []string
	took          time.Duration // until the winner knew
}

// playRound lets all connections try to take one lock at the same instant.
func playRound(conns []*harness.Conn, key string) (o outcome) {
	var mu sync.Mutex
	var players sync.WaitGroup
	begin := make(chan struct{})
	var start time.Time
	for i, c := range conns {
		players.Go(func() {
			<-begin
			reply, err := c.Do(acquire(key, fmt.Sprint("token ", i), lockTTL)...)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				o.others = append(o.others, err.Error())
			case reply == "+OK":
				o.winners++
				o.took = took
			case reply == "$-1":
				o.held++
			default:
				o.others = append(o.others, reply)
			}
		})
	}
	start = time.Now()
	close(begin)
	players.Wait()
	return o
}

// TestTenThousandContendedLocks: two clients through two proxies want the same
// locks at the same time. No lock is given to both, and none has two tokens
// with a majority, whichever masters' answers crossed (pitfall 11).
func TestTenThousandContendedLocks(t *testing.T) {
	const locks = 10_000
	m := startMasters(t, 3)
	wins := raceForLocks(t, m, locks, "one", "two")
	eventually(t, soon, func() error { return checkOneHolder(t, m, wins) })
}

// TestTwoClientsWithTheSameValue never both win, as values need not tell who
// holds a lock; and who asks again for a lock it has is told that it is held,
// as by Redis (pitfall 12).
func TestTwoClientsWithTheSameValue(t *testing.T) {
	const locks = 3_000
	m := startMasters(t, 3)
	raceForLocks(t, m, locks, "1", "1")
	forEachTarget(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		for range 5 {
			expect(t, c, "+OK", acquire("k", "1", lockTTL)...)
			expect(t, c, "$-1", acquire("k", "1", lockTTL)...)
			expect(t, dial(t, addr), "$-1", acquire("k", "1", lockTTL)...)
			expect(t, c, ":1", release("k", "1")...)
		}
	})
}

// raceForLocks lets two clients, each with a proxy and eight connections, take
// the same locks at the same time, each with its token. It returns which of
// them got each lock: exactly one may.
func raceForLocks(t *testing.T, m masters, locks int, tokens ...string) (winner []int) {
	t.Helper()
	const conns = 8
	granted := [2][]bool{make([]bool, locks), make([]bool, locks)} // by client and lock
	addrs := [2]string{startProxy(t, m, "--op-timeout", "1s").Addr, startProxy(t, m, "--op-timeout", "1s").Addr}
	faults := make(chan error, 2*conns)
	for j := range conns {
		meet := make(chan struct{})
		for i, addr := range addrs {
			c := dial(t, addr)
			go func() { faults <- takeLocks(c, tokens[i], granted[i], j, conns, rendezvous(meet, i == 0)) }()
		}
	}
	for range 2 * conns {
		if err := <-faults; err != nil {
			t.Fatal(err)
		}
	}
	winner = make([]int, locks)
	var share [2]int
	for k := range locks {
		if granted[0][k] == granted[1][k] {
			t.Errorf("lock %d: given to the clients: %v and %v, want one of them", k, granted[0][k], granted[1][k])
		}
		if granted[1][k] {
			winner[k] = 1
		}
		share[winner[k]]++
	}
	t.Logf("%d locks, the clients got %d", locks, share)
	if slices.Min(share[:]) < locks/100 {
		t.Errorf("the clients got %d of %d locks: they did not contend", share, locks)
	}
	return winner
}

// rendezvous waits for the other side of a pair.
func rendezvous(meet chan struct{}, sends bool) func() {
	return func() {
		if sends {
			meet <- struct{}{}
		} else {
			<-meet
		}
	}
}

// takeLocks tries every nth lock from first on, fifty at a time, together with
// whoever meets it.
func takeLocks(c *harness.Conn, token string, granted []bool, first, nth int, meet func()) error {
	var fault error // after one, the other is still to be met
	for k := first; k < len(granted); {
		var asked []int
		for ; k < len(granted) && len(asked) < 50; k += nth {
			c.Queue(acquire(fmt.Sprint("lock:", k), token, lockTTL)...)
			asked = append(asked, k)
		}
		meet()
		if fault != nil {
			continue
		}
		fault = c.Flush()
		for _, k := range asked {
			reply, err := c.Read()
			if err != nil || reply != "+OK" && reply != "$-1" {
				fault = fmt.Errorf("lock %d: got %s, error %v", k, reply, err)
				break
			}
			granted[k] = reply == "+OK"
		}
	}
	return fault
}

// checkOneHolder wants a majority for the winner of each lock, and for nobody
// else.
func checkOneHolder(t *testing.T, m masters, winner []int) error {
	t.Helper()
	copies := make([]map[string]int, len(winner)) // by lock: masters per token
	for k := range copies {
		copies[k] = make(map[string]int)
	}
	for _, r := range m {
		c := dial(t, r.Addr())
		for k := range winner {
			c.Queue("GET", fmt.Sprint("lock:", k))
		}
		go c.Flush()
		for k := range winner {
			value, err := c.Read()
			if err != nil {
				return err
			}
			copies[k][strings.Trim(value, `"`)]++
		}
		c.Close()
	}
	for k, tokens := range copies {
		for i, token := range []string{"one", "two"} {
			if n := tokens[token]; (n >= len(m)/2+1) != (winner[k] == i) {
				return fmt.Errorf("lock %d was given to client %d, and %d of %d masters hold the token of client %d", k, winner[k], n, len(m), i)
			}
		}
	}
	return nil
}
