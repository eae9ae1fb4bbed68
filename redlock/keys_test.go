package redlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestKeysAreThoseThatAQuorumHolds(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for key, on := range map[string][]int{"all": {0, 1, 2}, "two": {0, 2}, "one": {1}, "lock:a": {0, 1}, "gone": {0, 1, 2}} {
		for _, i := range on {
			s[i].must("SET " + key + " v PX 60000")
		}
	}
	for _, server := range s {
		server.must("PEXPIRE gone 1")
		server.must("RPUSH list x")
	}
	time.Sleep(5 * time.Millisecond) // "gone" is, on the masters' own clock
	wantKeys(t, c, KeyFilter{}, "all list lock:a two")
	wantKeys(t, c, KeyFilter{Pattern: []byte("lo*")}, "lock:a")
	wantKeys(t, c, KeyFilter{Type: "string"}, "all lock:a two")
	wantKeys(t, c, KeyFilter{Pattern: []byte("nothing")}, "")
	wantKeys(t, c, KeyFilter{Pattern: []byte{}}, "")
}

func TestKeyThatAQuorumMayHoldIsListed(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	s[0].must("SET maybe v PX 60000")
	wantKeys(t, c, KeyFilter{}, "")
	s[2].kill()
	awaitVoters(t, c, "12", "")
	wantKeys(t, c, KeyFilter{}, "maybe")
	s[1].kill()
	awaitVoters(t, c, "", "")
	if keys, err := c.Keys(t.Context(), 0, KeyFilter{}); err == nil || !strings.Contains(err.Error(), "0 of 3 masters listed their keys, 2 needed; ") || !strings.Contains(err.Error(), s[0].addr+": ") {
		t.Errorf("with one master of three: %q, %v", keys, err)
	}
}

func TestMasterThatDoesNotVoteListsNoKeys(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for _, server := range s {
		server.must("SET k v PX 60000")
	}
	s[0].must("FLUSHALL") // may not be noticed yet: nothing was sent since
	u := c.databases[0].masters[0].(*upstream)
	if keys, err := u.list(t.Context(), KeyFilter{}); err == nil {
		t.Errorf("an emptied master lists %q", keys)
	}
	wantKeys(t, c, KeyFilter{}, "k")
}

func TestFrozenMasterDoesNotHoldUpTheList(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for _, server := range s {
		server.must("SET k v PX 60000")
	}
	s[1].signal(syscall.SIGSTOP)
	defer s[1].signal(syscall.SIGCONT)
	began := time.Now()
	wantKeys(t, c, KeyFilter{}, "k")
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestListThatIsTooLongIsRefused(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	for _, server := range s {
		server.must(fmt.Sprintf(`EVAL "for i = 1, %d do redis.call('SET', 'k' .. i, 1, 'EX', 60) end" 0`, maxKeysListed))
	}
	if keys, err := c.Keys(t.Context(), 0, KeyFilter{}); err != nil || len(keys) != maxKeysListed {
		t.Errorf("%d keys, %v; want %d", len(keys), err, maxKeysListed)
	}
	for _, server := range s {
		server.must("SET k v EX 60")
	}
	if _, err := c.Keys(t.Context(), 0, KeyFilter{}); !errors.Is(err, ErrTooManyKeys) {
		t.Errorf("too many keys: %v", err)
	}
	wantKeys(t, c, KeyFilter{Pattern: []byte("k1234?")}, "k12340 k12341 k12342 k12343 k12344 k12345 k12346 k12347 k12348 k12349")
	if _, err := c.Keys(t.Context(), 0, KeyFilter{Pattern: bytes.Repeat([]byte("*a"), 600)}); !errors.Is(err, ErrTooManyKeys) {
		t.Errorf("a long pattern: %v", err)
	}
}

func TestFirstListOfADatabaseWaitsForItsConnections(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	if keys, err := c.Keys(t.Context(), 7, KeyFilter{}); err != nil || len(keys) != 0 {
		t.Errorf("%q, %v", keys, err)
	}
	if _, err := c.Keys(t.Context(), 16, KeyFilter{}); err == nil {
		t.Error("database 16 has keys")
	}
}

func TestEmbeddedMastersListTheirKeys(t *testing.T) {
	c := openCluster(t)
	for _, key := range []string{"b", "a", "lock:x"} {
		if out := decideOn(t, c, lockSwap(key, "token")); !out.Applied {
			t.Fatalf("acquire: %+v", out)
		}
	}
	wantKeys(t, c, KeyFilter{}, "a b lock:x")
	wantKeys(t, c, KeyFilter{Pattern: []byte("?")}, "a b")
	wantKeys(t, c, KeyFilter{Type: "String"}, "a b lock:x")
	wantKeys(t, c, KeyFilter{Type: "list"}, "")
}

func TestListEndsWithItsContext(t *testing.T) {
	s := startServers(t, 3)
	c := openCluster(t, s...)
	awaitVoters(t, c, "123", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if keys, err := c.Keys(ctx, 0, KeyFilter{}); err == nil {
		t.Errorf("%q", keys)
	}
}

// wantKeys compares the keys in database 0.
func wantKeys(t *testing.T, c *Cluster, f KeyFilter, want string) {
	t.Helper()
	keys, err := c.Keys(t.Context(), 0, f)
	if got := strings.Join(keys, " "); got != want || err != nil {
		t.Errorf("%+v: %q, %v; want %q", f, got, err, want)
	}
}
