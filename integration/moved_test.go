package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAnAddressThatLeadsToTwoServers: one proxy finds an empty
// server at a master's address, the other one still reaches the old server, and
// misses another master, so that it needs the old one's vote.
func TestAnAddressThatLeadsToTwoServers(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	elsewhere, others := relayed(t, m)
	p, q := startProxyOn(t, addrs), startProxyOn(t, others)
	elsewhere[2].LoseRequests(true)
	through, past := dial(t, p.Addr), dial(t, q.Addr)
	both := func(key string) {
		t.Helper()
		first := on(t, past, acquire(key, "old", lockTTL)...)
		second := on(t, through, acquire(key, "new", lockTTL)...)
		if first == "+OK" && second == "+OK" {
			t.Fatalf("%s: two clients hold it", key)
		}
	}
	for i := range 20 {
		both(fmt.Sprint("before:", i))
	}
	spare := startRedis(t)
	relays[0].Retarget(spare.Addr())
	relays[0].Cut()
	deadline := time.Now().Add(soon)
	for i := 0; standingOf(t, p.Addr, addrs[0]) != "votes"; i++ {
		both(fmt.Sprint("during:", i))
		if time.Now().After(deadline) {
			t.Fatalf("the empty server does not vote: %s", standingOf(t, p.Addr, addrs[0]))
		}
	}
	for i := range 50 {
		both(fmt.Sprint("after:", i))
	}
	if got := standingOf(t, q.Addr, others[0]); !strings.Contains(got, "different servers") {
		t.Errorf("what is the matter with the old server is not said: %s", got)
	}
	if got := on(t, past, acquire("old", "old", lockTTL)...); !strings.HasPrefix(got, "-NOQUORUM ") {
		t.Errorf("one of three and an old server: got %s, want -NOQUORUM …", got)
	}
	elsewhere[2].LoseRequests(false)
	elsewhere[0].Retarget(spare.Addr()) // looked up again, without a loss
	eventually(t, 15*time.Second, func() error {
		if got := standingOf(t, q.Addr, others[0]); got != "votes" {
			return fmt.Errorf("at the proxy that reached the old server: %s", got)
		}
		return nil
	})
	both("at last")
}
