package resp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// The same commands on the same states, to a real redis-server and to the
// recognisers over a quorum of one: the reply must have the same bytes in
// RESP2 and RESP3, and what is stored afterwards must be the same.

// startState is what is at a key before a command.
type startState struct {
	name  string
	kind  redlock.Kind
	value string
	ttl   int64 // milliseconds, NoTTL for none
}

var startStates = []startState{
	{name: "absent"},
	{"same value", redlock.Text, "v", 100_000},
	{"other value", redlock.Text, "other", 100_000},
	{"longer than the default", redlock.Text, "other", 9 * diffDefaultTTL},
	{"empty value", redlock.Text, "", 100_000},
	{"without TTL", redlock.Text, "v", redlock.NoTTL},
	{"list", redlock.WrongType, "", 100_000},
	{"list without TTL", redlock.WrongType, "", redlock.NoTTL},
}

// diffDefaultTTL is a default that no command here asks for.
const diffDefaultTTL = 7_654_321

// difference is one that we want.
type difference struct {
	reason string
	is     func(c *comparison) bool
	timing bool // only if time passes between the two servers
}

var differences = []difference{
	{"no key without an expiry is stored: what Redis stores for ever gets the default",
		func(c *comparison) bool {
			return c.ours.reply == c.real.reply && c.ours.value == c.real.value &&
				c.real.ttl == redlock.NoTTL && near(c.ours.ttl, diffDefaultTTL)
		}, false},
	{"PERSIST leaves an expiry that is later than the default",
		func(c *comparison) bool {
			return (c.name() == "persist" || c.name() == "getex") &&
				c.ours.reply == c.real.reply && c.ours.value == c.real.value &&
				c.real.ttl == redlock.NoTTL && near(c.ours.ttl, c.start.ttl)
		}, false},
	{"a quorum does not know the type of what is not a string",
		func(c *comparison) bool {
			return c.name() == "type" && c.start.kind == redlock.WrongType && c.real.reply == "+list\r\n" &&
				strings.HasPrefix(c.ours.reply, "-ERR the key holds something that is not a string") && c.sameState()
		}, false},
	{"Redis reads options as C strings and ignores what follows a NUL byte",
		func(c *comparison) bool {
			return slices.ContainsFunc(c.args[2:], func(a string) bool { return strings.Contains(a, "\x00") }) &&
				c.ours.reply[0] == '-'
		}, false},
	{"EXPIRETIME and PEXPIRETIME are computed from the remaining time: some milliseconds off",
		func(c *comparison) bool {
			return strings.HasSuffix(c.name(), "expiretime") && c.sameState() && nearReplies(c)
		}, true},
	{"the remaining time goes on between one server and the other",
		func(c *comparison) bool {
			return strings.HasSuffix(c.name(), "ttl") && c.sameState() && nearReplies(c)
		}, true},
}

// nearReplies allows for what passes between the two servers.
func nearReplies(c *comparison) bool {
	a, errA := strconv.ParseInt(strings.TrimSpace(c.ours.reply[1:]), 10, 64)
	b, errB := strconv.ParseInt(strings.TrimSpace(c.real.reply[1:]), 10, 64)
	if c.name()[0] != 'p' { // seconds
		a, b = a*1000, b*1000
	}
	return errA == nil && errB == nil && a > 0 && b > 0 && near(a, b)
}

// near allows for what passes between the two servers.
func near(a, b int64) bool { return a-b < 5000 && b-a < 5000 }

// result is a reply and what is at the key "k" after it.
type result struct {
	reply string
	value string // "(none)" if absent, "(list)" for the wrong type
	ttl   int64
}

// comparison is one command on one state in one protocol.
type comparison struct {
	start startState
	args  []string
	proto int
	real  result
	ours  result
}

func (c *comparison) name() string { return strings.ToLower(c.args[0]) }

func (c *comparison) sameState() bool {
	return c.ours.value == c.real.value &&
		(c.ours.ttl == c.real.ttl || c.ours.ttl > 0 && c.real.ttl >= 0 && near(c.ours.ttl, c.real.ttl))
}

func (c *comparison) same() bool { return c.ours.reply == c.real.reply && c.sameState() }

// compareAll runs each command on each state in both protocols. It counts in
// used which differences there were.
func compareAll(t *testing.T, addr string, commands [][]string, used []int) {
	t.Helper()
	failed := 0
	for _, proto := range []int{2, 3} {
		conn := dialRealRedis(t, addr, proto)
		for chunk := range slices.Chunk(commands, 200) {
			for _, c := range compareChunk(t, conn, proto, chunk) {
				if c.same() {
					continue
				}
				if i := slices.IndexFunc(differences, func(d difference) bool { return d.is(c) }); i >= 0 {
					used[i]++
				} else if failed++; failed <= 20 {
					t.Errorf("RESP%d %q on %s:\nreal %+v\nours %+v", proto, c.args, c.start.name, c.real, c.ours)
				}
			}
		}
	}
	t.Logf("%d commands on %d states in RESP2 and RESP3, %d differ", len(commands), len(startStates), failed)
}

// compareChunk runs some commands on each state.
func compareChunk(t testing.TB, conn *realRedis, proto int, chunk [][]string) (all []*comparison) {
	var pipeline [][]string
	for _, args := range chunk {
		for _, start := range startStates {
			all = append(all, &comparison{start: start, args: args, proto: proto})
			pipeline = append(pipeline, start.setup()...)
			pipeline = append(pipeline, args, []string{"TYPE", "k"}, []string{"PTTL", "k"}, []string{"GET", "k"})
		}
	}
	replies := conn.do(pipeline)
	for _, c := range all {
		n := len(c.start.setup())
		c.real = realResult(replies[n : n+4])
		replies = replies[n+4:]
		c.ours = c.run(t)
	}
	return all
}

// setup is how to make the state on a real server.
func (s *startState) setup() [][]string {
	commands := [][]string{{"DEL", "k"}, {"SET", "second", "2"}}
	switch s.kind {
	case redlock.Text:
		commands = append(commands, []string{"SET", "k", s.value})
	case redlock.WrongType:
		commands = append(commands, []string{"RPUSH", "k", "x"})
	}
	if s.kind != redlock.Absent && s.ttl != redlock.NoTTL {
		commands = append(commands, []string{"PEXPIRE", "k", strconv.FormatInt(s.ttl, 10)})
	}
	return commands
}

// realResult reads the replies to a command, TYPE, PTTL and GET.
func realResult(replies []string) result {
	r := result{reply: replies[0]}
	r.ttl, _ = strconv.ParseInt(strings.TrimSpace(replies[2][1:]), 10, 64)
	switch replies[1] {
	case "+none\r\n":
		r.value, r.ttl = "(none)", 0
	case "+list\r\n":
		r.value = "(list)"
	default:
		_, value, _ := strings.Cut(replies[3], "\r\n")
		r.value = strings.TrimSuffix(value, "\r\n")
	}
	return r
}

// run is the command through the recognisers.
func (c *comparison) run(t testing.TB) result {
	now := time.Now().UnixMilli()
	m := &oneMaster{now: func() int64 { return now }, keys: map[string]heldKey{
		"second": {redlock.Text, "2", 0},
	}}
	if c.start.kind != redlock.Absent {
		k := heldKey{kind: c.start.kind, value: c.start.value}
		if c.start.ttl != redlock.NoTTL {
			k.expiry = now + c.start.ttl
		}
		m.keys["k"] = k
	}
	e := &Env{
		Wall:       func() time.Time { return time.UnixMilli(now) },
		DefaultTTL: diffDefaultTTL,
		Scripts:    NewScripts(),
	}
	r := result{reply: m.run(t, e, c.proto, c.args...)}
	st := m.state([]byte("k"))
	r.value, r.ttl = string(st.Value), st.TTL
	switch st.Kind {
	case redlock.Absent:
		r.value, r.ttl = "(none)", 0
	case redlock.WrongType:
		r.value = "(list)"
	}
	return r
}

// numbers are what is sent where a number belongs.
func numbers() []string {
	now := time.Now().Unix()
	return []string{
		"1000", "10", "31557600000000", "9223372036854775807", "9223372036854775808", "9223372036854775", "9223372036854776",
		"0", "-1", "-9223372036854775808", "-9223372036854775809", "-9223372036854775", "-9223372036854776",
		"", " 10", "10 ", "+10", "010", "-0", "00", "1.5", "1e3", "0x10", "abc", "-", "NX", "18446744073709551617", "10\x00",
		strconv.FormatInt(now-200, 10), strconv.FormatInt(now+200, 10),
		strconv.FormatInt((now-200)*1000, 10), strconv.FormatInt((now+200)*1000, 10),
	}
}

// setCommands are SET with options of every kind in every order, in mixed case.
func setCommands() [][]string {
	rng := rand.New(rand.NewPCG(1, 2))
	expiries := [][]string{nil, {"KEEPTTL"}, {"KEEPTTL", "KEEPTTL"}, {"EX", "10", "PX", "10"}, {"EX", "10", "EX", "20"},
		{"PX", "10", "KEEPTTL"}, {"KEEPTTL", "EXAT", "10"}, {"EX"}, {"PXAT"}, {"EX", "PX", "10"}, {"PERSIST"}, {"NX\x00", "EX", "10"}}
	for _, unit := range []string{"EX", "PX", "EXAT", "PXAT"} {
		for _, n := range numbers() {
			expiries = append(expiries, []string{unit, n})
		}
	}
	var commands [][]string
	for _, condition := range [][]string{nil, {"NX"}, {"XX"}, {"NX", "XX"}, {"NX", "NX"}} {
		for _, get := range [][]string{nil, {"GET"}, {"GET", "GET"}} {
			for _, expiry := range expiries {
				for _, options := range permutations([][]string{condition, get, expiry}) {
					commands = append(commands, append([]string{mixCase(rng, "SET"), "k", "v"}, mixAll(rng, options)...))
				}
			}
		}
	}
	return commands
}

// permutations joins the groups in every order, without repeating one.
func permutations(groups [][]string) [][]string {
	var all [][]string
	seen := map[string]bool{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var joined []string
		for _, i := range order {
			joined = append(joined, groups[i]...)
		}
		if key := fmt.Sprintf("%q", joined); !seen[key] {
			seen[key] = true
			all = append(all, joined)
		}
	}
	return all
}

func mixAll(rng *rand.Rand, in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = mixCase(rng, s)
	}
	return out
}

func mixCase(rng *rand.Rand, s string) string {
	switch rng.IntN(3) {
	case 0:
		return strings.ToLower(s)
	case 1:
		return s[:len(s)/2] + strings.ToLower(s[len(s)/2:])
	}
	return s
}

func TestCommandsAreLikeRealRedis(t *testing.T) {
	addr := startRedis(t)
	used := make([]int, len(differences))
	for name, commands := range map[string][][]string{
		"SET":    setCommands(),
		"others": otherCommands(),
		"EXPIRE with conditions around the remaining time": expireCommands(),
	} {
		t.Run(name, func(t *testing.T) { compareAll(t, addr, commands, used) })
	}
	for i, d := range differences {
		t.Logf("%6d: %s", used[i], d.reason)
		if used[i] == 0 && !d.timing {
			t.Errorf("a difference that does not exist: %s", d.reason)
		}
	}
}

// otherCommands are those that Redis 7.0 has, but for SET.
func otherCommands() (commands [][]string) {
	add := func(lines ...string) {
		for _, line := range lines {
			commands = append(commands, strings.Split(line, " "))
		}
	}
	add("SETNX k v", "GETSET k w", "GET k", "GETDEL k", "STRLEN k", "TYPE k", "PERSIST k",
		"TTL k", "PTTL k", "EXPIRETIME k", "PEXPIRETIME k",
		"EXISTS k", "EXISTS k second k gone", "exists gone gone", "MGET k", "MGET k second gone k",
		"DEL k", "DEL k second gone k", "UNLINK k", "UNLINK second k k",
		"GETEX k", "GETEX k PERSIST", "getex k persist persist", "GETEX k PERSIST EX 10", "GETEX k EX 10 PERSIST",
		"GETEX k KEEPTTL", "GETEX k EX", "GETEX k EX 10 PX 10", "GETEX k EX 10 EX 20", "GETEX k NX")
	for _, n := range numbers() {
		commands = append(commands, []string{"SETEX", "k", n, "w"}, []string{"psetex", "k", n, "w"})
		for _, unit := range []string{"EX", "px", "ExAt", "PXAT"} {
			commands = append(commands, []string{"GETEX", "k", unit, n})
		}
		for _, name := range []string{"EXPIRE", "pexpire", "ExpireAt", "PEXPIREAT"} {
			for _, options := range [][]string{
				nil, {"NX"}, {"xx"}, {"GT"}, {"lt"}, {"XX", "GT"}, {"lt", "xx"}, {"NX", "XX"}, {"NX", "GT"}, {"GT", "LT"},
				{"XX", "GT", "LT"}, {"NX", "NX"}, {"foo"}, {"NX", "GT", "foo"}, {""}, {"two words"},
			} {
				commands = append(commands, append([]string{name, "k", n}, options...))
			}
		}
	}
	return commands
}

// expireCommands are EXPIRE and its like with times around those that the
// states have.
func expireCommands() (commands [][]string) {
	now := time.Now().Unix()
	for _, seconds := range []int64{50, 90, 110, 68_000, 69_500, 100_000} {
		for _, option := range []string{"NX", "XX", "GT", "LT"} {
			commands = append(commands,
				[]string{"EXPIRE", "k", strconv.FormatInt(seconds, 10), option},
				[]string{"PEXPIRE", "k", strconv.FormatInt(seconds*1000, 10), option},
				[]string{"EXPIREAT", "k", strconv.FormatInt(now+seconds, 10), option},
				[]string{"PEXPIREAT", "k", strconv.FormatInt((now+seconds)*1000, 10), option})
		}
	}
	return commands
}
