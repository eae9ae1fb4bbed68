package resp

import (
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// What Redis 7.0 has of SET is compared with a real server in
// differential_test.go; here is what it does not have, and what we add.

func TestSetIfEqualFollowsRedis84(t *testing.T) {
	const wrong = "-" + wrongType + "\r\n"
	mine := func() *oneMaster { return held(redlock.Text, "v", 500) }
	other := func() *oneMaster { return held(redlock.Text, "x", 500) }
	list := func() *oneMaster { return held(redlock.WrongType, "", 500) }
	tests := []struct {
		name    string
		m       *oneMaster
		command string
		want    string
		value   string
		ttl     int64
	}{
		{"equal", mine(), "SET k w PX 900 IFEQ v", "+OK\r\n", "w", 900},
		{"equal, operand first", mine(), "SET k w IFEQ v PX 900", "+OK\r\n", "w", 900},
		{"lower case", mine(), "set k w ifeq v ex 9", "+OK\r\n", "w", 9000},
		{"without TTL", mine(), "SET k w IFEQ v", "+OK\r\n", "w", testDefaultTTL},
		{"keeping the TTL", mine(), "SET k w IFEQ v KEEPTTL", "+OK\r\n", "w", 500},
		{"unequal", other(), "SET k w PX 900 IFEQ v", "$-1\r\n", "x", 500},
		{"unequal, KEEPTTL", other(), "SET k w KEEPTTL IFEQ v", "$-1\r\n", "x", 500},
		{"absent", free(), "SET k w PX 900 IFEQ v", "$-1\r\n", "", 0},
		{"wrong type", list(), "SET k w PX 900 IFEQ v", wrong, "", 500},
		{"GET of equal", mine(), "SET k w PX 900 GET IFEQ v", "$1\r\nv\r\n", "w", 900},
		{"GET of unequal", other(), "SET k w PX 900 IFEQ v GET", "$1\r\nx\r\n", "x", 500},
		{"GET of absent", free(), "SET k w IFEQ v GET PX 900", "$-1\r\n", "", 0},
		{"past", mine(), "SET k w PXAT 5 IFEQ v", "+OK\r\n", "", 0},
		{"not equal", other(), "SET k w PX 900 IFNE v", "+OK\r\n", "w", 900},
		{"not unequal", mine(), "SET k w PX 900 IFNE v", "$-1\r\n", "v", 500},
		{"IFNE of absent", free(), "SET k w PX 900 IFNE v", "+OK\r\n", "w", 900},
		{"IFNE of absent, KEEPTTL", free(), "SET k w KEEPTTL IFNE v", "+OK\r\n", "w", testDefaultTTL},
		{"IFNE of wrong type", list(), "SET k w PX 900 IFNE v", wrong, "", 500},
		{"GET and IFNE of equal", mine(), "SET k w PX 900 IFNE v GET", "$1\r\nv\r\n", "v", 500},
	}
	for _, tt := range tests {
		got := tt.m.run(t, testEnv(), 2, strings.Fields(tt.command)...)
		if got != tt.want || tt.m.value("k") != tt.value || tt.m.ttl("k") != tt.ttl {
			t.Errorf("%s: %s: %q, then %q for %d ms; want %q, %q, %d", tt.name, tt.command,
				got, tt.m.value("k"), tt.m.ttl("k"), tt.want, tt.value, tt.ttl)
		}
	}
}

func TestOperandOfIfEqualMayLookLikeAnOption(t *testing.T) {
	for _, operand := range []string{"NX", "PX", "ifeq", "", "KEEPTTL", "\x00\r\n"} {
		m := held(redlock.Text, operand, 500)
		if got := m.run(t, testEnv(), 2, "SET", "k", "w", "IFEQ", operand, "PX", "900"); got != "+OK\r\n" {
			t.Errorf("IFEQ %q: %q", operand, got)
		}
		if m.ttl("k") != 900 {
			t.Errorf("IFEQ %q: TTL %d", operand, m.ttl("k"))
		}
	}
}

func TestContradictingConditionsAreASyntaxError(t *testing.T) {
	for _, options := range []string{
		"IFEQ", "PX 5 IFEQ", "IFEQ a NX", "NX IFEQ a", "IFEQ a XX", "XX IFNE a", "IFEQ a IFNE b", "IFEQ a IFEQ a",
		"IFDEQ", "IFDEQ a IFEQ b", "IFEQ a IFDNE b", "IFDNE a NX", "XX IFDEQ a", "NX XX", "XX NX", "EX 5 PX 5", "PX 5 KEEPTTL", "KEEPTTL PX 5", "PERSIST", "NX\x00",
	} {
		args := append([]string{"SET", "k", "v"}, strings.Fields(options)...)
		if got := free().run(t, testEnv(), 2, args...); got != "-ERR syntax error\r\n" {
			t.Errorf("SET k v %s: %q", options, got)
		}
	}
}

func TestMissingTTLBecomesTheDefault(t *testing.T) {
	tests := []struct {
		command string
		m       *oneMaster
		ttl     int64
		said    bool // DefaultTTL of the Lock
	}{
		{"SET k v", free(), testDefaultTTL, true},
		{"SET k v", held(redlock.Text, "x", 5), testDefaultTTL, true},
		{"SET k v NX", free(), testDefaultTTL, true},
		{"SETNX k v", free(), testDefaultTTL, true},
		{"GETSET k v", held(redlock.Text, "x", 5), testDefaultTTL, true},
		{"SET k v XX", held(redlock.Text, "x", redlock.NoTTL), testDefaultTTL, true},
		{"SET k v KEEPTTL", free(), testDefaultTTL, true},
		{"SET k v KEEPTTL", held(redlock.Text, "x", 5), 5, true},
		{"SET k v KEEPTTL XX", held(redlock.Text, "x", 5), 5, false},
		{"SET k v KEEPTTL", held(redlock.Text, "x", redlock.NoTTL), testDefaultTTL, true},
		{"SET k v KEEPTTL", held(redlock.WrongType, "", redlock.NoTTL), testDefaultTTL, true},
		{"SET k v KEEPTTL", held(redlock.WrongType, "", 7), 7, true},
		{"SET k v PX 9", free(), 9, false},
		{"PERSIST k", held(redlock.Text, "x", 5), testDefaultTTL, false},
		{"PERSIST k", held(redlock.Text, "x", testDefaultTTL+5), testDefaultTTL + 5, false},
		{"PERSIST k", held(redlock.Text, "x", redlock.NoTTL), redlock.NoTTL, false},
		{"GETEX k PERSIST", held(redlock.Text, "x", 5), testDefaultTTL, false},
		{"GETEX k PERSIST", held(redlock.Text, "x", testDefaultTTL+5), testDefaultTTL + 5, false},
	}
	for _, tt := range tests {
		args := strings.Fields(tt.command)
		before := tt.m.keys["k"]
		tt.m.run(t, testEnv(), 2, args...)
		var l Lock
		testEnv().Recognise(&l, words(args), 0)
		if got := tt.m.ttl("k"); got != tt.ttl || l.DefaultTTL != tt.said {
			t.Errorf("%s on %+v: TTL %d, DefaultTTL %v; want %d, %v", tt.command, before, got, l.DefaultTTL, tt.ttl, tt.said)
		}
	}
}

func TestAnyTTLThatRedisAcceptsIsStoredWithoutWrapping(t *testing.T) {
	tests := []struct {
		options string
		ttl     int64
	}{
		{"PX 1", 1},
		{"PX 31557600000000", 31_557_600_000_000},
		{"PX 9223370336854775807", 9_223_370_336_854_775_807}, // 2^63-1 less testNow
		{"EX 9223370336854775", 9_223_370_336_854_775_000},
		{"PXAT 9223372036854775807", 9_223_370_336_854_775_807},
		{"EXAT 9223372036854775", 9_223_370_336_854_775_000},
		{"PXAT 1700000000001", 1},
		{"EXAT 1700000001", 1000},
	}
	for _, tt := range tests {
		m := free()
		args := append([]string{"SET", "k", "v", "NX"}, strings.Fields(tt.options)...)
		if got := m.run(t, testEnv(), 2, args...); got != "+OK\r\n" || m.ttl("k") != tt.ttl {
			t.Errorf("%s: %q, TTL %d, want %d", tt.options, got, m.ttl("k"), tt.ttl)
		}
	}
	for _, options := range []string{
		"PX 9223370336854775808", "PX 9223372036854775807", "EX 9223370336854776", "EX 9223372036854775", "EX 9223372036854776",
		"EXAT 9223372036854776", "PX 0", "PX -1", "EX 0", "PXAT 0", "EXAT -5",
	} {
		m := free()
		args := append([]string{"SET", "k", "v", "NX"}, strings.Fields(options)...)
		if got := m.run(t, testEnv(), 2, args...); got != "-ERR invalid expire time in 'set' command\r\n" || len(m.keys) != 0 {
			t.Errorf("%s: %q, holds %v", options, got, m.keys)
		}
	}
}

func TestExpiryInThePastLetsNothingLive(t *testing.T) {
	tests := []struct {
		command string
		m       *oneMaster
		want    string
		left    int
	}{
		{"SET k v NX PXAT 5", free(), "+OK\r\n", 0},
		{"SET k v NX PXAT 5", held(redlock.Text, "x", 50), "$-1\r\n", 1},
		{"SET k v PXAT 5", held(redlock.Text, "x", 50), "+OK\r\n", 0},
		{"SET k v EXAT 5 XX", held(redlock.Text, "x", 50), "+OK\r\n", 0},
		{"SET k v EXAT 5 XX", free(), "$-1\r\n", 0},
		{"SET k v EXAT 5", held(redlock.WrongType, "", 50), "+OK\r\n", 0},
		{"SET k v EXAT 5 GET", held(redlock.Text, "x", 50), "$1\r\nx\r\n", 0},
		{"GETEX k EXAT 5", held(redlock.Text, "x", 50), "$1\r\nx\r\n", 0},
		{"PEXPIREAT k 5", held(redlock.Text, "x", 50), ":1\r\n", 0},
		{"PEXPIRE k -9223372036854775808", held(redlock.Text, "x", 50), ":1\r\n", 0},
		{"PEXPIREAT k -9223372036854775808", held(redlock.Text, "x", 50), ":1\r\n", 0},
	}
	for _, tt := range tests {
		if got := tt.m.run(t, testEnv(), 2, strings.Fields(tt.command)...); got != tt.want || len(tt.m.keys) != tt.left {
			t.Errorf("%s: %q, holds %v; want %q, %d keys", tt.command, got, tt.m.keys, tt.want, tt.left)
		}
	}
}

func TestMaxTTLRefusesLongerOnes(t *testing.T) {
	e := testEnv()
	e.MaxTTL = 60_000
	for _, command := range []string{
		"SET k v NX PX 60001", "SET k v EX 61", "SET k v PXAT 1700000060001", "SETEX k 61 v", "PSETEX k 60001 v",
		"PEXPIRE k 60001", "EXPIREAT k 1700000061", "GETEX k EX 61", "PEXPIRE k 60001 GT",
	} {
		got := held(redlock.Text, "x", 50).run(t, e, 2, strings.Fields(command)...)
		if !strings.HasPrefix(got, "-ERR TTL of 6") || !strings.HasSuffix(got, " ms is longer than this proxy's --max-ttl of 60000 ms\r\n") {
			t.Errorf("%s: %q", command, got)
		}
	}
	for _, command := range []string{"SET k v PX 60000", "SET k v EX 60", "PEXPIRE k 60000", "PEXPIRE k -1", "PERSIST k"} {
		if got := held(redlock.Text, "x", 50).run(t, e, 2, strings.Fields(command)...); got[0] == '-' {
			t.Errorf("%s: %q", command, got)
		}
	}
}
