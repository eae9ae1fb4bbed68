package redlock

import (
	"context"
	"strings"
	"testing"
	"time"
)

// stepClock makes a cluster believe that a master's clock has jumped.
func stepClock(c *Cluster, place int, by time.Duration) {
	u := c.databases[0].steward.ups[place]
	u.mu.Lock()
	defer u.mu.Unlock()
	u.link.clock.lo -= by
	u.link.clock.hi -= by
}

func TestProxyWhoseOwnClockSteppedKeepsOutItselfOnly(t *testing.T) {
	servers := startServers(t, 3)
	sleeper, other := openCluster(t, servers...), openCluster(t, servers...)
	awaitVoters(t, sleeper, "123", "")
	awaitVoters(t, other, "123", "")
	for i := range servers {
		stepClock(sleeper, i, time.Hour)
	}
	awaitVoters(t, sleeper, "", "clock stepped by")
	mustCycle(t, other)
	awaitVoters(t, other, "123", "")
	if _, err := sleeper.Admit(context.Background(), "all"); err != nil {
		t.Error(err)
	}
	awaitVoters(t, sleeper, "123", "")
	awaitVoters(t, other, "123", "")
}

func TestFirstRecordIsOnlyWrittenToAnEmptyDatabase(t *testing.T) {
	servers := startServers(t, 3)
	servers[2].must("SET somebody here")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "", "holds 1 keys")
	s := c.databases[0].steward
	view := s.ups[2].view()
	if err := s.ups[2].write(&view, []byte("{}"), true); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v, want not empty", err)
	}
	if got := servers[2].must("EXISTS " + recordKey("redlock")); got != ":0" {
		t.Errorf("a record was written: %s", got)
	}
}

func TestRecordThatAnotherProxyChangedIsNotOverwritten(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	u := c.databases[0].steward.ups[0]
	view := u.view()
	view.raw = []byte("what it was")
	if err := u.write(&view, []byte("lost update"), false); err != nil {
		t.Fatal(err)
	}
	mustCycle(t, c)
	awaitVoters(t, c, "123", "")
}

func TestLargestOpTimeoutIsRecorded(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	var masters []MasterAddr
	for _, s := range servers {
		masters = append(masters, MasterAddr{Address: s.addr})
	}
	slow, err := Open(ClusterConfig{Masters: masters, OpTimeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	client := servers[0].client()
	await(t, "the record has 3000 ms", func() bool {
		text, _ := do(t, client, "GET", recordKey("redlock")).ToString()
		return strings.Contains(text, `"op_timeout_ms":3000`)
	})
	awaitVoters(t, c, "123", "")
	awaitVoters(t, slow, "123", "")
}

func TestProxyOfAnotherQuorumDoesNotVote(t *testing.T) {
	servers := startServers(t, 5)
	c := openCluster(t, servers[:3]...)
	awaitVoters(t, c, "123", "")
	awaitVoters(t, openCluster(t, servers...), "", "quorum of 3 masters, this proxy knows 5")
	awaitVoters(t, openCluster(t, servers[1], servers[0], servers[2]), "", "same order everywhere")
}
