package integration

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// redisCLI runs redis-cli with what a person would type, a line each, and
// returns its answers.
func redisCLI(t *testing.T, addr, typed string, flags ...string) string {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	cmd := exec.Command("redis-cli", append([]string{"--no-raw", "-h", host, "-p", port}, flags...)...)
	cmd.Stdin = strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %q: %v\n%s", flags, err, out)
	}
	return string(out)
}

// session is what somebody tries first. PTTL is asked of absent keys only, the
// rest is in TestRedisCLIShowsTheRemainingTime.
const session = `PING
SET lock:a token-1 NX PX 30000
SET lock:a token-2 NX PX 30000
GET lock:a
EXISTS lock:a
EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end" 1 lock:a token-2
EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end" 1 lock:a token-1
GET lock:a
PTTL lock:a
TTL lock:a
set lock:b token-3 ex 30 nx
PEXPIRE lock:b 40000
DEL lock:b
DEL lock:b
SET lock:c token-4 PX 30000
SET lock:c token-5 XX PX 30000
GET lock:c
DEL lock:c lock:d
SET lock:a token NX PX 0
SET lock:a token NX PX 1.5
SET lock:a
`

const sessionAnswers = `PONG
OK
(nil)
"token-1"
(integer) 1
(integer) 0
(integer) 1
(nil)
(integer) -2
(integer) -2
OK
(integer) 1
(integer) 1
(integer) 0
OK
OK
"token-5"
(integer) 1
(error) ERR invalid expire time in 'set' command
(error) ERR value is not an integer or out of range
(error) ERR wrong number of arguments for 'set' command
`

func TestRedisCLISession(t *testing.T) {
	for _, flags := range [][]string{nil, {"-2"}, {"-3"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			forEachTarget(t, func(t *testing.T, addr string) {
				got := redisCLI(t, addr, session, flags...)
				// After an error redis-cli adds an empty line.
				if got := strings.ReplaceAll(got, "\n\n", "\n"); got != sessionAnswers {
					t.Errorf("got\n%s\nwant\n%s", got, sessionAnswers)
				}
			})
		})
	}
}

func TestRedisCLIShowsTheRemainingTime(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		got := redisCLI(t, addr, "SET lock:a token NX PX 30000\nPTTL lock:a\nTTL lock:a\n")
		want := "OK\n(integer) 29"
		if !strings.HasPrefix(got, want) && !strings.HasPrefix(got, "OK\n(integer) 30000\n") {
			t.Errorf("got\n%s\nwant a remaining time just below 30000", got)
		}
	})
}

func TestRedisCLIHandshakes(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		for typed, wants := range map[string][]string{
			"HELLO 3\n":                     {"proto", "(integer) 3", "role", "master", "version"},
			"HELLO 2\n":                     {"proto", "(integer) 2"},
			"INFO\n":                        {"redis_version:", "role:master", "loading:0", "tcp_port:"},
			"CLIENT SETNAME me\n":           {"OK"},
			"SELECT 3\nSELECT 0\n":          {"OK\nOK\n"},
			"SELECT 1000000\n":              {"(error) ERR"},
			"COMMAND COUNT\n":               {"(integer)"},
			"CONFIG GET maxmemory-policy\n": {"maxmemory-policy"},
			"ECHO hello\n":                  {`"hello"`},
			"ROLE\n":                        {`"master"`},
			"TIME\n":                        {"1) \"1"},
			"NOSUCHCOMMAND a\n":             {"(error) ERR unknown command"},
			"EVALSHA ffffffffffffffffffffffffffffffffffffffff 0\n": {"(error) NOSCRIPT No matching script. Please use EVAL."},
		} {
			got := redisCLI(t, addr, typed)
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%sgot\n%s\nwant it to contain %q", typed, got, want)
				}
			}
		}
	})
}

func TestRedisCLIOverEmbeddedMasters(t *testing.T) {
	p := startProxyOn(t, nil)
	got := redisCLI(t, p.Addr, session)
	if got := strings.ReplaceAll(got, "\n\n", "\n"); got != sessionAnswers {
		t.Errorf("got\n%s\nwant\n%s", got, sessionAnswers)
	}
}

func TestDatabasesAreLockNamespacesOfTheirOwn(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	got := redisCLI(t, p.Addr, "SET k zero NX PX 30000\nSELECT 5\nSET k five NX PX 30000\nGET k\nSELECT 0\nGET k\n")
	if want := "OK\nOK\nOK\n\"five\"\nOK\n\"zero\"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, r := range m {
		eventually(t, soon, func() error {
			if keys := keysOf(t, r, 5); !slices.Equal(keys, []string{"k"}) {
				return fmt.Errorf("master %s holds %q in database 5", r.Addr(), keys)
			}
			return nil
		})
	}
}

// TestUnservedCommandsKeepTheConnection: an answer that says what this is, and
// the next command works.
func TestUnservedCommandsKeepTheConnection(t *testing.T) {
	c := dial(t, startProxy(t, startMasters(t, 3)).Addr)
	for _, args := range [][]string{
		{"BLPOP", "signal", "1"}, {"LPUSH", "l", "x"}, {"HSET", "h", "f", "v"},
		{"INCR", "n"}, {"ZADD", "z", "1", "m"}, {"FLUSHALL"}, {"CLIENT", "TRACKING", "ON"},
	} {
		if got := on(t, c, args...); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%q: got %s, want an error", args, got)
		}
		expect(t, c, "+PONG", "PING")
	}
}
