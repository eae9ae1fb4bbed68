package redlock

import (
	"strings"
	"testing"
)

func TestMasterThatEvictsKeysIsResynchronised(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	hold(t, c, 50)
	u := c.databases[0].steward.ups[0]
	serial := func() uint64 {
		u.mu.Lock()
		defer u.mu.Unlock()
		votes, _ := u.link.votes()
		if !votes {
			return 0
		}
		return u.link.serial
	}
	before := serial()
	servers[0].must("CONFIG SET maxmemory-policy allkeys-random")
	servers[0].must("CONFIG SET maxmemory 1")
	do(t, servers[0].client(), "SET", "provoke", "eviction") // refused, but everything else is evicted
	servers[0].must("CONFIG SET maxmemory 0")
	await(t, "another admission", func() bool { return serial() > before })
	wantHeld(t, servers[0], 50)
}

func TestEvictionIsWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		policy, memory string
		warned         bool
	}{
		{"noeviction", "100", false},
		{"allkeys-lru", "0", false},
		{"allkeys-lru", "100", true},
		{"volatile-ttl", "100", true},
		{"", "", false},
	} {
		got := evictionWarning(map[string]string{"maxmemory_policy": tt.policy, "maxmemory": tt.memory})
		if (got != "") != tt.warned || tt.warned && !strings.Contains(got, tt.policy) {
			t.Errorf("%s at %s: %q", tt.policy, tt.memory, got)
		}
	}
}
