package proxy

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"redlock-proxy/redlock"
)

func TestKeyspaceRepliesEqualRedis(t *testing.T) {
	addr := startRedis(t)
	s, c := newTestServer(t)
	s.cfg.Locks.(*testLocks).keys = func(db int, f redlock.KeyFilter) ([]string, error) {
		if db == 0 && (f.Pattern == nil || redlock.MatchGlob(string(f.Pattern), "lock:a")) && (f.Type == "" || f.Type == "string") {
			return []string{"lock:a"}, nil
		}
		return nil, nil
	}
	for _, proto := range []string{"2", "3"} {
		real := dialReal(t, addr)
		real.say(t, "HELLO "+proto)
		real.say(t, "SET lock:a x")
		say(t, s, c, "HELLO "+proto)
		for _, line := range []string{
			"KEYS *", "keys lock:*", "KEYS x*", `KEYS ""`, "KEYS", "KEYS a b", "DBSIZE", "DBSIZE x", "RANDOMKEY", "RANDOMKEY x",
			"SCAN 0", "scan 0 match lock:* count 100", "SCAN 0 COUNT 100 MATCH x*", "SCAN 0 TYPE string", "SCAN 0 TYPE list", `SCAN 0 MATCH ""`,
			"SCAN", "SCAN x", "SCAN 99999999999999999999", "SCAN 0 COUNT", "SCAN 0 COUNT 0", "SCAN 0 COUNT -1", "SCAN 0 COUNT x",
			"SCAN 0 MATCH", "SCAN 0 FOO bar", "SCAN 0 FOO", "SCAN 0 COUNT 1 2", "SCAN 18446744073709551615 COUNT x",
			"SELECT 1", "KEYS *", "DBSIZE", "RANDOMKEY", "SCAN 0", "SELECT 0",
		} {
			want := real.say(t, line)
			if got := sayKeys(t, s, c, line); got != want {
				t.Errorf("RESP%s %s\nredis %q\nproxy %q", proto, line, want, got)
			}
		}
	}
}

// sayKeys is say for a command that the session may answer.
func sayKeys(t *testing.T, s *Server, c *client, line string) string {
	t.Helper()
	got, do := say(t, s, c, line)
	if do == actionKeys {
		got = string(s.keyspace(c.rights(), c.db, c.proto, words(t, line), nil))
	}
	return got
}

func TestKeyspaceErrors(t *testing.T) {
	s, c := newTestServer(t)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("a: %w", redlock.ErrTooManyKeys), "-ERR a: more than 100000 keys, …match; ask with a pattern…\r\n"},
		{errors.New("1 of 3 masters listed their keys"), "-NOQUORUM 1 of 3 masters listed their keys\r\n"},
	} {
		s.cfg.Locks.(*testLocks).keys = func(int, redlock.KeyFilter) ([]string, error) { return nil, tt.err }
		for _, line := range []string{"KEYS *", "SCAN 0", "DBSIZE", "RANDOMKEY"} {
			if got := sayKeys(t, s, c, line); !like(got, tt.want) {
				t.Errorf("%s: %q, want %q", line, got, tt.want)
			}
		}
	}
	if got := sayKeys(t, s, c, "SCAN 17"); got != "*2\r\n$1\r\n0\r\n*0\r\n" {
		t.Errorf("a cursor that was not handed out: %q", got)
	}
}

// A client that pipelines SET, KEYS and DEL gets what one Redis would say.
func TestListOfKeysIsABarrierInItsConnection(t *testing.T) {
	var asked atomic.Int32
	q := newFakeQuorum()
	locks := &testLocks{keys: func(int, redlock.KeyFilter) ([]string, error) {
		asked.Add(1)
		if n := q.started(); n > 0 {
			t.Errorf("asked for keys with %d later commands started", n)
		}
		return []string{"k"}, nil
	}}
	_, addr := serve(t, Config{Locks: locks}, q)
	c := dial(t, addr)
	c.send("SET a 1 NX PX 1000", "SET b 1 NX PX 1000", "KEYS *", "SET c 1 NX PX 1000")
	for _, op := range q.take(2) {
		if asked.Load() != 0 {
			t.Error("asked for keys in front of what was sent before")
		}
		done(op)
	}
	c.want("+OK", "+OK", "*1")
	c.wantBulk("k")
	done(q.take(1)[0])
	c.want("+OK")
	c.send("DBSIZE", "KEYS k", "PING")
	c.want(":1", "*1")
	c.wantBulk("k")
	c.want("+PONG")
}

func TestListOfKeysEndsWithItsConnection(t *testing.T) {
	q := newFakeQuorum()
	locks := &testLocks{keys: func(int, redlock.KeyFilter) ([]string, error) { return nil, nil }}
	_, addr := serve(t, Config{Locks: locks}, q)
	c := dial(t, addr)
	c.send("SET a 1 NX PX 1000", "KEYS *")
	op := q.take(1)[0]
	c.SetLinger(0)
	c.Close()
	q.await(t, 0, 0)
	done(op)
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	s, c := newTestServer(t)
	for line, want := range map[string]string{
		"FLUSHDB":    "-ERR FLUSHDB is not served by redlock-proxy: it would free every lock",
		"INCR k":     "-ERR INCR is not served by redlock-proxy: a master that misses one call",
		"BLPOP k 0":  "-ERR BLPOP is not served by redlock-proxy: only strings that are locks are kept",
		"LPUSH k 1":  "-ERR LPUSH is not served by redlock-proxy: only strings",
		"SWAPDB 0 1": "-ERR SWAPDB is not served by redlock-proxy: ",
	} {
		if got, _ := say(t, s, c, line); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q…", line, got, want)
		}
	}
}
