package proxy

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// serveEmbedded starts a server over three masters in memory.
func serveEmbedded(t testing.TB) string {
	t.Helper()
	return serveMasters(t, redlock.ClusterConfig{Embedded: 3})
}

// serveMasters starts a server over masters, and waits for these.
func serveMasters(t testing.TB, cfg redlock.ClusterConfig) string {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	cfg.OpTimeout, cfg.Logger = 500*time.Millisecond, quiet
	cluster, err := redlock.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	for db := range 3 { // what the tests use
		q, err := cluster.DB(db)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "a quorum votes", q.Ready)
	}
	_, addr := serveLocks(t, Config{Logger: quiet, Locks: cluster, OpTimeout: cfg.OpTimeout})
	return addr
}

// conversation is with one server, on two connections.
type conversation struct {
	t   *testing.T
	one *realClient
	two *realClient
}

func newConversation(t *testing.T, addr string, proto int) *conversation {
	t.Helper()
	e := &conversation{t, dialReal(t, addr), dialReal(t, addr)}
	for _, c := range []*realClient{e.one, e.two} {
		c.say(t, fmt.Sprintf("HELLO %d", proto))
	}
	return e
}

// say runs lines on the first connection, those that begin with "2: " on the
// second. Lines joined by " | " go out in one write.
func (e *conversation) say(lines []string) []string {
	e.t.Helper()
	var replies []string
	for _, line := range lines {
		c := e.one
		if rest, ok := strings.CutPrefix(line, "2: "); ok {
			c, line = e.two, rest
		}
		replies = append(replies, c.pipeline(e.t, strings.Split(line, " | "))...)
	}
	return replies
}

// transactionScripts are conversations whose replies must be Redis's.
var transactionScripts = []struct {
	name  string
	lines []string
}{
	{"nothing queued", []string{"MULTI", "EXEC", "EXEC"}},
	{"without MULTI", []string{"EXEC", "DISCARD", "EXEC x", "DISCARD x", "UNWATCH", "UNWATCH x", "WATCH", "MULTI x", "EXEC"}},
	{"nested MULTI", []string{"MULTI", "MULTI", "PING", "EXEC", "PING"}},
	{"MULTI with an argument", []string{"MULTI", "MULTI x", "PING", "EXEC", "EXEC"}},
	{"EXEC with an argument", []string{"MULTI", "PING", "EXEC x", "EXEC", "PING"}},
	{"DISCARD with an argument", []string{"MULTI", "DISCARD x", "PING", "EXEC"}},
	{"WATCH inside MULTI", []string{"MULTI", "WATCH k", "PING", "EXEC", "MULTI", "WATCH", "PING", "EXEC"}},
	{"unknown command", []string{"MULTI", "FOO a b", "PING", "SET k v PX 100000", "EXEC", "EXISTS k"}},
	{"arity", []string{"MULTI", "GET", "EXEC", "MULTI", "SET k", "PING", "EXEC", "MULTI", "EVAL x", "EXEC", "MULTI", "PING", "EXEC",
		"MULTI", "SELECT", "EXEC", "MULTI", "unlink", "EXEC", "MULTI", "UNWATCH x", "EXEC"}},
	{"plain commands", []string{"MULTI", "PING", "PING x", "ECHO y", "SET k v PX 100000", "GET k", "TTL k", "EXISTS k k", "STRLEN k", "TYPE k", "DEL k", "GET k", "TTL k", "TYPE k", "EXEC", "EXISTS k"}},
	{"rarer commands", []string{"MULTI", "GETEX k EX 200", "EXPIRETIME k", "PEXPIRETIME k", "GETSET k a", "GETEX k EX 200", "TTL k", "GETEX k", "GETEX k EX", "GETEX k EX 0", "GETDEL k", "GETDEL k", "SET k b EX 100 GET",
		"SET k c KEEPTTL GET", "TTL k", "SETEX k 300 d", "PSETEX k 300000 e", "TTL k", "GETRANGE k 0 0", "MGET k k", "EXISTS k k", "DEL k k", "EXEC"}},
	{"acquire and release", []string{"SET k t NX PX 100000", "MULTI", "SET k u NX PX 100000", "EXPIRE k 200", "EXEC", "TTL k", "MULTI", "DEL k", "EXEC", "MULTI", "UNLINK k", "EXEC",
		"MULTI", "SETNX k w", "PEXPIRE k 100000", "EXEC", "GET k", "TTL k"}},
	{"errors of commands", []string{"SET k v PX 100000", "MULTI", "SET k v EX 0", "EXPIRE k x", "SET k v foo", "SET k v NX XX", "GET k", "SET k v PX x", "EXPIRE k 1 FOO", "EXEC", "GET k"}},
	{"discarded", []string{"SET k v PX 100000", "WATCH k", "MULTI", "DEL k", "DISCARD", "EXISTS k", "2: SET k w PX 100000", "MULTI", "PING", "EXEC"}},
	{"watched and unchanged", []string{"SET k v PX 100000", "WATCH k", "GET k", "MULTI", "DEL k", "EXEC", "EXISTS k"}},
	{"watched and absent", []string{"WATCH k", "GET k", "MULTI", "SET k v PX 100000", "EXEC", "GET k"}},
	{"watched by other case", []string{"SET k v PX 100000", "watch k", "multi", "unlink k", "exec"}},
	{"watched and changed", []string{"SET k v PX 100000", "WATCH k", "2: SET k w PX 100000", "MULTI", "DEL k", "EXEC", "GET k", "MULTI", "DEL k", "EXEC"}},
	{"watched and changed by the same connection", []string{"SET k v PX 100000", "WATCH k", "SET k w PX 100000", "MULTI", "DEL k", "EXEC", "GET k"}},
	{"watched and deleted", []string{"SET k v PX 100000", "WATCH k", "2: DEL k", "MULTI", "DEL k", "EXEC"}},
	{"watched and created", []string{"WATCH k", "2: SET k w PX 100000", "MULTI", "SET k v PX 100000", "EXEC", "GET k"}},
	{"watched and prolonged", []string{"SET k v PX 100000", "WATCH k", "2: PEXPIRE k 300000", "MULTI", "DEL k", "EXEC", "TTL k"}},
	{"watched, lost, and taken again with the same value for longer", []string{"SET k v PX 100000", "WATCH k", "2: DEL k", "2: SET k v NX PX 300000", "MULTI", "DEL k", "EXEC", "GET k"}},
	{"watched and changed, nothing queued", []string{"SET k v PX 100000", "WATCH k", "2: DEL k", "MULTI", "EXEC", "MULTI", "EXEC"}},
	{"watched and unchanged, nothing queued", []string{"SET k v PX 100000", "WATCH k", "MULTI", "EXEC"}},
	{"watched and unchanged, no key touched", []string{"SET k v PX 100000", "WATCH k", "MULTI", "PING", "EXEC"}},
	{"watched and changed, read only", []string{"SET k v PX 100000", "WATCH k", "MULTI", "GET k", "TTL k", "EXEC", "WATCH k", "2: SET k w PX 100000", "MULTI", "GET k", "EXEC"}},
	{"what depends on the TTL", []string{"SET k v PX 100000", "WATCH k", "MULTI", "EXPIRE k 200 GT", "EXPIRE k 100 GT", "TTL k", "EXEC", "TTL k"}},
	{"unwatched", []string{"SET k v PX 100000", "WATCH k", "UNWATCH", "2: SET k w PX 100000", "MULTI", "GET k", "EXEC"}},
	{"UNWATCH inside MULTI", []string{"SET k v PX 100000", "WATCH k", "MULTI", "UNWATCH", "GET k", "EXEC", "WATCH k", "MULTI", "UNWATCH", "2: SET k w PX 100000", "GET k", "EXEC"}},
	{"EXEC unwatches", []string{"SET k v PX 100000", "WATCH k", "MULTI", "EXEC", "2: SET k w PX 100000", "MULTI", "GET k", "EXEC"}},
	{"failed EXEC unwatches", []string{"SET k v PX 100000", "WATCH k", "2: SET k w PX 100000", "MULTI", "FOO", "EXEC", "MULTI", "GET k", "EXEC"}},
	{"EXEC without MULTI does not unwatch", []string{"SET k v PX 100000", "WATCH k", "2: SET k w PX 100000", "EXEC", "DISCARD", "MULTI", "GET k", "EXEC"}},
	{"RESET unwatches", []string{"SET k v PX 100000", "WATCH k", "2: SET k w PX 100000", "MULTI", "DEL k", "RESET", "EXEC", "MULTI", "GET k", "EXEC"}},
	{"watched twice, the first counts", []string{"SET k v PX 100000", "WATCH k", "2: SET k w PX 100000", "WATCH k", "MULTI", "GET k", "EXEC"}},
	{"another database", []string{"SELECT 1", "SET k v PX 100000", "SELECT 2", "SET k v PX 100000", "SELECT 1", "WATCH k", "2: SELECT 2", "2: SET k w PX 100000", "MULTI", "GET k", "DEL k", "EXEC",
		"WATCH k", "2: SELECT 1", "2: SET k w PX 100000", "MULTI", "GET k", "EXEC"}},
	{"scripts", []string{"MULTI", "EVAL \"return {1,false,redis.call('get',KEYS[1]),{ok='fine'},{err='My fault'},true}\" 1 k", "SET k v PX 100000", "EVAL \"return redis.call('get',KEYS[1])\" 1 k",
		`EVAL "return nil" 0`, `EVAL "return KEYS" 2 k k`, `EVAL "return ARGV" 0 a b c`, "EVALSHA 0000000000000000000000000000000000000000 0", "EVALSHA abc 0", `EVAL "return 1" x`, `EVAL "return 1" 3 a`, "EXEC"}},
	{"compare and delete", []string{"SET k t PX 100000", "MULTI", "EVAL \"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end\" 1 k t", "EXISTS k", "EXEC",
		"SET k u PX 100000", "MULTI", "EVAL \"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end\" 1 k t", "EXISTS k", "EXEC"}},
	{"several keys", []string{"DEL a b", "MULTI", "SET a 1 PX 100000", "SET b 2 PX 100000", "MGET a b c", "EXEC", "MULTI", "GET a", "GET b", "DEL a b c", "EXISTS a b", "EXEC", "MULTI", "SET a 1 NX PX 100000", "SET b 1 NX PX 100000", "EXEC",
		"MULTI", "DEL a", "EXEC", "MULTI", "SET a 2 NX PX 100000", "SET b 2 NX PX 100000", "TTL a", "TTL b", "EXEC", "MGET a b", "MULTI", "DEL a", "DEL b", "EXEC", "MULTI", "MSETNX a 1 b 2", "MSETNX a 3 b 4", "MGET a b", "DEL a b", "EXEC"}},
	{"several keys, one watched", []string{"SET a 1 PX 100000", "SET b 2 PX 100000", "WATCH a", "MULTI", "GET b", "DEL b", "EXEC", "EXISTS a b", "WATCH a", "2: SET a 3 PX 100000", "MULTI", "SET b 4 PX 100000", "EXEC", "EXISTS b",
		"WATCH a", "2: SET b 5 PX 100000", "MULTI", "GETSET b 6", "GET a", "DEL a", "EXEC", "MGET a b", "DEL b"}},
	{"several keys, all watched", []string{"SET a 1 PX 100000", "WATCH a b", "MULTI", "SET b 2 PX 100000", "DEL a", "EXEC", "MGET a b", "WATCH a b", "2: DEL b", "MULTI", "SET a 3 PX 100000", "EXEC", "EXISTS a",
		"WATCH a", "WATCH b", "MULTI", "SET a 3 PX 100000", "SET b 3 PX 100000", "EXEC", "WATCH a b", "MULTI", "EXEC", "WATCH a b", "2: PEXPIRE b 300000", "MULTI", "DEL a", "EXEC",
		"WATCH b a", "MULTI", "TTL a", "EXPIRE a 90 GT", "EXPIRE b 400", "EXEC", "TTL b", "WATCH a b c", "MULTI", "DEL a b c", "EXEC"}},
	{"in one write", []string{"SET k t NX PX 100000 | WATCH k | GET k | MULTI | DEL k | EXEC | EXISTS k | PING", "WATCH k | SET k u PX 100000 | MULTI | GET k | EXEC | GET k",
		"MULTI | SET k x PX 100000 | GET k | EXEC | MULTI | DEL k | EXEC | GET k"}},
}

func TestTransactionsEqualRedis(t *testing.T) {
	eachMasters(t, func(t *testing.T, ours string) {
		real := startRedis(t)
		for _, proto := range []int{2, 3} {
			for _, test := range transactionScripts {
				t.Run(fmt.Sprintf("RESP%d/%s", proto, test.name), func(t *testing.T) {
					compareConversations(t, newConversation(t, real, proto), newConversation(t, ours, proto), test.lines)
				})
			}
		}
	})
}

// compareConversations runs lines on a real server and on ours.
func compareConversations(t *testing.T, real, ours *conversation, lines []string) {
	t.Helper()
	for _, c := range []*conversation{real, ours} {
		c.say([]string{"DEL k a b c"})
	}
	want, got := real.say(lines), ours.say(lines)
	lines = strings.Split(strings.Join(lines, " | "), " | ")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s\nredis %q\nproxy %q", lines[i], want[i], got[i])
		}
	}
}
