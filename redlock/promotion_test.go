package redlock

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// follow makes a server the replica of another one, and waits until it has its
// data.
func (s *testServer) follow(of *testServer) {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(of.addr)
	s.must("REPLICAOF " + host + " " + port)
	s.await(func() bool {
		info, _ := do(s.t, s.client(), "INFO", "replication").ToString()
		return strings.Contains(info, "master_link_status:up")
	})
}

func (s *testServer) promote() { s.must("REPLICAOF NO ONE") }

// A master that follows its own replica for a moment, and is a master again,
// has what the replica had: here it was behind by one lock. Its run_id is the
// same, its record is one of ours and admits it, no connection breaks.
func TestMasterWithTheDataOfItsReplicaGetsItsLocksBack(t *testing.T) {
	for name, args := range map[string][]string{
		"not persistent": {"--repl-diskless-sync-delay", "0"},
		"persistent":     {"--repl-diskless-sync-delay", "0", "--appendonly", "yes", "--appendfsync", "always"},
	} {
		t.Run(name, func(t *testing.T) {
			servers := startServers(t, 3, args...)
			replica := startServer(t, "--repl-diskless-sync-delay", "0")
			c := openCluster(t, servers...)
			awaitVoters(t, c, "123", "")
			replica.follow(servers[0])
			replica.promote()
			hold(t, c, 1)
			servers[0].follow(replica)
			servers[0].promote()
			await(t, "the lock back on the master", func() bool {
				return servers[0].must("EXISTS lock-0") == ":1"
			})
			awaitVoters(t, c, "123", "")
			wantHeld(t, servers[0], 1)
		})
	}
}

func TestMasterThatIsFilledHasAHorizonOverItsLocks(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	hold(t, c, 1)
	horizon := func() time.Duration {
		ttl, err := do(t, servers[0].client(), "PTTL", horizonKey("redlock")).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(ttl) * time.Millisecond
	}
	servers[0].must("FLUSHALL")
	await(t, "the lock back on the master", func() bool { return servers[0].must("EXISTS lock-0") == ":1" })
	awaitVoters(t, c, "123", "")
	if got := horizon(); got < 25*time.Second {
		t.Errorf("filled under a horizon of %v", got)
	}
	short := lockSwap("another", "token")
	short.Absent.TTL = 31_000 // less than the horizon before the FLUSHALL
	if out := decideOn(t, c, short); !out.Applied {
		t.Errorf("acquire: %+v", out)
	}
	await(t, "the horizon to cover a new lock", func() bool { return horizon() > 31*time.Second })
}

func TestServersThatHaveFollowedAnotherOne(t *testing.T) {
	for name, want := range map[string]bool{
		"second_repl_offset:-1\r\nmaster_replid2:0000000000000000000000000000000000000000\r\n":   false,
		"second_repl_offset:1024\r\nmaster_replid2:6d2df8e1e9c2e0f3ea0a66a8be21d1f8a7a1b2c3\r\n": true,
		"": true, // it does not tell
	} {
		if got := wasReplica(parseInfo(name)); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestWhatIsToldOfAPastAsAReplica(t *testing.T) {
	const head, ids = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:aaaa\r\n", "master_repl_offset:0\r\n"
	for info, want := range map[string]string{
		head + "master_replid2:0000000000000000000000000000000000000000\r\n" + ids + "second_repl_offset:-1\r\nrepl_backlog_active:0\r\n":   neverReplica,
		head + "master_replid2:6d2df8e1e9c2e0f3ea0a66a8be21d1f8a7a1b2c3\r\n" + ids + "second_repl_offset:1024\r\nrepl_backlog_active:1\r\n": "1024-6d2df8e1",
		"# Replication\r\nrole:slave\r\nmaster_replid2:0000\r\nsecond_repl_offset:-1\r\n":                                                   "",
	} {
		if got := replicationOf(info); got != want {
			t.Errorf("%q: %q, want %q", info, got, want)
		}
	}
}

// TestAReplicaIsAttached: that changes the replication id of a master, and
// nothing else.
func TestAReplicaIsAttached(t *testing.T) {
	servers := startServers(t, 3, "--repl-diskless-sync-delay", "0")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	for _, s := range servers {
		startServer(t).follow(s)
	}
	for range 20 {
		mustCycle(t, c)
	}
	awaitVoters(t, openCluster(t, servers...), "123", "")
	for _, u := range c.databases[0].steward.ups {
		u.mu.Lock()
		if u.link.serial != 1 || u.link.generation != 1 {
			t.Errorf("%s was admitted or connected again", u.Name())
		}
		u.mu.Unlock()
	}
}

// TestAPromotedReplicaIsNoRestart: a master is made a replica of its own past,
// a copy that has the record but none of the locks, and promoted. It persists
// every write, which does not help.
func TestAPromotedReplicaIsNoRestart(t *testing.T) {
	for _, persistence := range [][]string{nil, {"--appendonly", "yes", "--appendfsync", "always"}} {
		t.Run(fmt.Sprint(persistence), func(t *testing.T) {
			quick := []string{"--repl-diskless-sync-delay", "0"}
			servers := startServers(t, 3, append(quick, persistence...)...)
			c := openCluster(t, servers...)
			awaitVoters(t, c, "123", "")
			past := startServer(t, append(quick, persistence...)...)
			past.follow(servers[0])
			past.promote()
			hold(t, c, 50)

			servers[0].follow(past)
			servers[0].promote()
			await(t, "the locks of the others", func() bool {
				return servers[0].try("EXISTS lock-49") == ":1" && servers[0].try("EXISTS lock-0") == ":1"
			})
			wantHeld(t, servers[0], 50)
			awaitVoters(t, c, "123", "")
			mustCycle(t, c)
		})
	}
}

// follow makes a server a replica of another until it has its data.
