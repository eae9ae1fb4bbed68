package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// relayed puts a network in front of each master.
func relayed(t *testing.T, m masters) (relays []*harness.Relay, addrs []string) {
	t.Helper()
	for _, r := range m {
		relay, err := harness.StartRelay(r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(relay.Close)
		relays = append(relays, relay)
		addrs = append(addrs, relay.Addr())
	}
	return relays, addrs
}

// TestASlowMasterIsNotWaitedFor (pitfall 3), but gets its copy all the same, so
// that a lock does not rest on a bare majority (pitfall 5).
func TestASlowMasterIsNotWaitedFor(t *testing.T) {
	for _, delay := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(fmt.Sprintf("%v each way", delay), func(t *testing.T) {
			m := startMasters(t, 3)
			relays, addrs := relayed(t, m)
			p := startProxyOn(t, addrs)
			relays[1].Delay(delay)
			load := startLoad(t, p.Addr, 4, nothingElse)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			time.Sleep(500 * time.Millisecond)
			if p50 := load.finish(t).Quantile(0.5); p50 > fast {
				t.Errorf("the middle operation took %v, want at most %v", p50, fast)
			}
			expect(t, c, ":1", release("held", "mine")...)
			m.waitEmpty(t, soon)
		})
	}
}

// TestALostNetworkIsNoticedAndHeals: packets to a master vanish without an end
// of the connection (pitfall 37).
func TestALostNetworkIsNoticedAndHeals(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	load := startLoad(t, p.Addr, 4, nothingElse)
	dials := relays[2].Dials()
	relays[2].Lose(true)
	eventually(t, 2*time.Second, func() error {
		if relays[2].Dials() == dials {
			return errors.New("the dead connection was not given up")
		}
		return nil
	})
	load.finish(t)
	relays[2].Lose(false)
	m[0].Kill() // now the healed one is needed
	c := dial(t, p.Addr)
	eventually(t, soon, func() error {
		if got := on(t, c, acquire("k", "t", lockTTL)...); got != "+OK" {
			return fmt.Errorf("acquire: %s", got)
		}
		return nil
	})
	expect(t, c, ":1", release("k", "t")...)
}

// TestADeadMasterIsNotDialledInALoop: retries back off.
func TestADeadMasterIsNotDialledInALoop(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	load := startLoad(t, p.Addr, 4, nothingElse)
	m[2].Kill() // the relay accepts and closes at once
	before := relays[2].Dials()
	time.Sleep(2 * time.Second)
	load.finish(t)
	if n := relays[2].Dials() - before; n > 100 {
		t.Errorf("%d dials of a dead master in 2 s, want at most 100", n)
	}
}
