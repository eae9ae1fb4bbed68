package resp

import (
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// Digests of XXH3 with 64 bits, seed 0, from its reference implementation
// (xxhsum -H3, version 0.8).
var digests = map[string]string{
	"":      "2d06800538d394c2",
	"a":     "e6c632b61e964e1f",
	"abc":   "78af5f94892f3950",
	"hello": "9555e8555c62dcfd",
}

func TestDigestIsTheOneOfXXH3(t *testing.T) {
	for value, want := range digests {
		for proto := 2; proto <= 3; proto++ {
			if got := held(redlock.Text, value, 500).run(t, testEnv(), proto, "DIGEST", "k"); got != "$16\r\n"+want+"\r\n" {
				t.Errorf("RESP%d, %q: %q, want %s", proto, value, got, want)
			}
		}
	}
	if got := free().run(t, testEnv(), 3, "DIGEST", "k"); got != "_\r\n" {
		t.Errorf("absent: %q", got)
	}
	if got := held(redlock.WrongType, "", 500).run(t, testEnv(), 2, "DIGEST", "k"); got != "-"+wrongType+"\r\n" {
		t.Errorf("list: %q", got)
	}
	if got := free().run(t, testEnv(), 2, "DIGEST"); got != "-ERR wrong number of arguments for 'digest' command\r\n" {
		t.Errorf("without a key: %q", got)
	}
}

func TestConditionsOnTheDigestFollowRedis84(t *testing.T) {
	const (
		right   = "9555e8555c62dcfd" // of "hello"
		wrong   = "9555e8555c62dcfe"
		bad     = "-" + badDigest + "\r\n"
		badType = "-" + wrongType + "\r\n"
	)
	hello := func() *oneMaster { return held(redlock.Text, "hello", 500) }
	list := func() *oneMaster { return held(redlock.WrongType, "", 500) }
	tests := []struct {
		name, command string
		m             *oneMaster
		want, value   string
		ttl           int64
	}{
		{"equal", "SET k w PX 900 IFDEQ " + right, hello(), "+OK\r\n", "w", 900},
		{"upper case", "SET k w ifdeq " + strings.ToUpper(right) + " PX 900", hello(), "+OK\r\n", "w", 900},
		{"unequal", "SET k w PX 900 IFDEQ " + wrong, hello(), "$-1\r\n", "hello", 500},
		{"absent", "SET k w PX 900 IFDEQ 12", free(), "$-1\r\n", "", 0},
		{"list", "SET k w PX 900 IFDEQ 12", list(), badType, "", 500},
		{"too short", "SET k w PX 900 IFDEQ 12", hello(), bad, "hello", 500},
		{"no digits", "SET k w PX 900 IFDEQ zzzzzzzzzzzzzzzz", hello(), "$-1\r\n", "hello", 500},
		{"without TTL", "SET k w IFDEQ " + right, hello(), "+OK\r\n", "w", testDefaultTTL},
		{"KEEPTTL", "SET k w KEEPTTL IFDEQ " + right, hello(), "+OK\r\n", "w", 500},
		{"KEEPTTL of none", "SET k w IFDEQ " + right + " KEEPTTL", held(redlock.Text, "hello", redlock.NoTTL), "+OK\r\n", "w", testDefaultTTL},
		{"past", "SET k w PXAT 5 IFDEQ " + right, hello(), "+OK\r\n", "", 0},
		{"GET of equal", "SET k w PX 900 IFDEQ " + right + " GET", hello(), "$5\r\nhello\r\n", "w", 900},
		{"GET of unequal", "SET k w PX 900 GET IFDEQ " + wrong, hello(), "$5\r\nhello\r\n", "hello", 500},
		{"GET of absent", "SET k w PX 900 GET IFDEQ " + wrong, free(), "$-1\r\n", "", 0},
		{"IFDNE of equal", "SET k w PX 900 IFDNE " + right, hello(), "$-1\r\n", "hello", 500},
		{"IFDNE of unequal", "SET k w PX 900 IFDNE " + wrong, hello(), "+OK\r\n", "w", 900},
		{"IFDNE of absent", "SET k w PX 900 IFDNE 12", free(), "+OK\r\n", "w", 900},
		{"IFDNE of absent, GET", "SET k w PX 900 IFDNE 12 GET", free(), "$-1\r\n", "w", 900},
		{"IFDNE of list", "SET k w PX 900 IFDNE 12", list(), badType, "", 500},
		{"DELEX equal", "DELEX k IFDEQ " + right, hello(), ":1\r\n", "", 0},
		{"DELEX unequal", "DELEX k IFDEQ " + wrong, hello(), ":0\r\n", "hello", 500},
		{"DELEX absent", "DELEX k IFDEQ 12", free(), ":0\r\n", "", 0},
		{"DELEX too short", "DELEX k IFDEQ 12", hello(), bad, "hello", 500},
		{"DELEX list", "DELEX k IFDEQ " + right, list(), "-" + delexWrongType + "\r\n", "", 500},
		{"DELEX IFDNE equal", "DELEX k IFDNE " + right, hello(), ":0\r\n", "hello", 500},
		{"DELEX IFDNE unequal", "DELEX k ifdne " + wrong, hello(), ":1\r\n", "", 0},
		{"DELEX IFDNE absent", "DELEX k IFDNE 12", free(), ":0\r\n", "", 0},
	}
	for _, tt := range tests {
		got := tt.m.run(t, testEnv(), 2, strings.Fields(tt.command)...)
		if got != tt.want || tt.m.value("k") != tt.value || tt.m.ttl("k") != tt.ttl {
			t.Errorf("%s: %s: %q, then %q for %d ms; want %q, %q, %d", tt.name, tt.command,
				got, tt.m.value("k"), tt.m.ttl("k"), tt.want, tt.value, tt.ttl)
		}
	}
}

func TestValueThatChangesBehindItsDigestIsLookedAtAgain(t *testing.T) {
	m := held(redlock.Text, "hello", 500)
	m.between = func(round int) {
		if round == 2 {
			m.keys["k"] = heldKey{redlock.Text, "abc", m.now() + 500}
		}
	}
	if got := m.run(t, testEnv(), 2, "DELEX", "k", "IFDEQ", digests["hello"]); got != ":0\r\n" || m.value("k") != "abc" {
		t.Errorf("%q, then %q", got, m.value("k"))
	}
}
