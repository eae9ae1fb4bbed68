package redlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// hold takes n locks of a minute each.
func hold(t *testing.T, c *Cluster, n int) {
	t.Helper()
	var swaps []Swap
	for i := range n {
		swaps = append(swaps, lockSwap(fmt.Sprint("lock-", i), fmt.Sprint("token-", i)))
	}
	for i, out := range startMany(t, c, 5*time.Second, swaps...) {
		if out.Err != nil || !out.Applied {
			t.Fatalf("lock %d: %+v", i, out)
		}
	}
}

// wantHorizon checks that a server remembers how long its locks live.
func wantHorizon(t *testing.T, s *testServer) {
	t.Helper()
	c := s.client()
	horizon, _ := do(t, c, "PTTL", horizonKey("redlock")).AsInt64()
	lock, _ := do(t, c, "PTTL", "lock-0").AsInt64()
	if lock < 1 || horizon < lock {
		t.Errorf("horizon on %s: %d ms, a lock lives %d ms", s.addr, horizon, lock)
	}
}

// wantHeld checks that a server has the locks of hold, with nearly all of their
// time.
func wantHeld(t *testing.T, s *testServer, n int) {
	t.Helper()
	c := s.client()
	for i := range n {
		value, err := do(t, c, "GET", fmt.Sprint("lock-", i)).ToString()
		ttl, _ := do(t, c, "PTTL", fmt.Sprint("lock-", i)).AsInt64()
		if err != nil || value != fmt.Sprint("token-", i) || ttl < 20_000 {
			t.Fatalf("lock %d on %s: %q %v, TTL %d", i, s.addr, value, err, ttl)
		}
	}
}

func TestMasterThatRestartedEmptyGetsItsLocksBack(t *testing.T) {
	servers := startServers(t, 3)
	c, other := openCluster(t, servers...), openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	awaitVoters(t, other, "123", "")
	const n = 3000
	hold(t, c, n)
	for _, s := range servers { // one after the other
		s.kill()
		awaitVoters(t, c, strings.Replace("123", fmt.Sprint(place(servers, s)), "", 1), "")
		s.start()
		awaitVoters(t, c, "123", "")
		awaitVoters(t, other, "123", "")
		wantHeld(t, s, n)
		wantHorizon(t, s)
	}
	mustCycle(t, other)
}

func place(servers []*testServer, s *testServer) int {
	for i := range servers {
		if servers[i] == s {
			return i + 1
		}
	}
	return 0
}

func TestMasterThatWasFlushedOrRestartedFromASnapshotGetsItsLocksBack(t *testing.T) {
	servers := startServers(t, 3, "--save", "3600 1000000")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	hold(t, c, 100)
	servers[0].terminate() // saves
	servers[0].start()
	awaitVoters(t, c, "23", "")
	awaitVoters(t, c, "123", "")
	wantHeld(t, servers[0], 100)
	servers[2].must("FLUSHALL")
	mustCycle(t, c)
	await(t, "the record of a new admission", func() bool { // the flush may not be noticed yet
		return servers[2].must("EXISTS "+recordKey("redlock")) == ":1"
	})
	awaitVoters(t, c, "123", "")
	wantHeld(t, servers[2], 100)
	wantHorizon(t, servers[2])
	mustCycle(t, c)
}

func TestMasterWhoseClockSteppedVotesAgainAfterResynchronisation(t *testing.T) {
	servers := startServers(t, 3)
	witness, other := openCluster(t, servers...), openCluster(t, servers...)
	awaitVoters(t, witness, "123", "")
	awaitVoters(t, other, "123", "")
	stepClock(witness, 1, time.Hour)
	mustCycle(t, witness)
	for _, c := range []*Cluster{witness, other} {
		await(t, "a new admission", func() bool {
			u := c.databases[0].steward.ups[1]
			u.mu.Lock()
			defer u.mu.Unlock()
			votes, _ := u.link.votes()
			return votes && u.link.serial == 4 // admitted, withdrawn, claimed, admitted
		})
	}
	mustCycle(t, witness)
}

func TestMasterThatWasEmptiedUnnoticedIsNoSource(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	hold(t, c, 10)
	s := c.databases[0].steward
	to, _ := s.ups[2].peer(s.ups[2].view().generation)
	peers := s.votingPeers(2, &restoration{loss: loss{known: 0b011}})
	if n, err := resync(t.Context(), to, peers, &meter{s: s, r: &restoration{}, told: s.clock.Now()}); n != 10 || err != nil {
		t.Fatalf("%d keys: %v", n, err)
	}
	servers[0].must("FLUSHALL")
	if n, err := resync(t.Context(), to, peers, &meter{s: s, r: &restoration{}, told: s.clock.Now()}); !errors.Is(err, errMoved) {
		t.Errorf("%d keys: %v, want %v", n, err, errMoved)
	}
}

func TestKeysThatDifferKeepAMasterOutUntilTheyAgree(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	servers[0].must("SET stray a PX 60000")
	servers[1].must("SET stray b PX 60000") // two attempts that nobody has won
	servers[2].kill()
	servers[2].start()
	awaitVoters(t, c, "12", "keys differ between masters")
	mustCycle(t, c)
	servers[1].must("DEL stray")
	awaitVoters(t, c, "123", "")
	if got := servers[2].must("GET stray"); got != "$1" {
		t.Errorf("GET stray: %q", got)
	}
}

func TestWithoutPeersMastersWaitUntilNoForgottenLockCanLive(t *testing.T) {
	for _, restarted := range []int{2, 3} {
		t.Run(fmt.Sprint(restarted, " of 3 restart empty"), func(t *testing.T) {
			servers := startServers(t, 3)
			c := openCluster(t, servers...)
			awaitVoters(t, c, "123", "")
			swap := lockSwap("k", "token")
			swap.Absent.TTL = 1500
			start := time.Now()
			if out := decideOn(t, c, swap); !out.Applied {
				t.Fatalf("acquire: %+v", out)
			}
			for _, s := range servers[:restarted] {
				s.kill()
				s.start()
			}
			await(t, "an error that says how long", func() bool {
				out := decideOn(t, c, lockSwap("k", "rival"))
				if out.Applied {
					t.Fatalf("granted meanwhile: %+v", out)
				}
				return out.Err != nil && strings.Contains(out.Err.Error(), "live until ")
			})
			awaitVoters(t, c, "123", "")
			if took := time.Since(start); took < 1500*time.Millisecond || took > 4*time.Second {
				t.Errorf("they voted again after %v", took)
			}
			mustCycle(t, c)
		})
	}
}

func TestProxyThatSawNothingOfALostQuorumLeavesItToTheOperator(t *testing.T) {
	servers := startServers(t, 3)
	awaitVoters(t, openCluster(t, servers...), "123", "")
	record := recordKey("redlock")
	for _, s := range servers[:2] { // as after a restart without the data
		s.must("DEL " + record)
	}
	late := openCluster(t, servers...)
	awaitVoters(t, late, "", "its record is gone")
}

func TestHorizonIsRaisedByEighths(t *testing.T) {
	second := time.Second
	for _, tt := range []struct {
		present time.Duration
		longest int64
		want    int64
	}{
		{0, 0, 0},
		{0, 8000, 9001},
		{19 * second, 8000, 0},    // 10 s + 8 s
		{17 * second, 8000, 9001}, // not far enough
		{0, 31_557_600_000_000, maxHorizon.Milliseconds() + 1},
	} {
		if got := horizonFor(tt.present, 10*second, tt.longest); got != tt.want {
			t.Errorf("horizonFor(%v, 10s, %d) = %d, want %d", tt.present, tt.longest, got, tt.want)
		}
	}
}
