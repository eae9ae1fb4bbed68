package resp

import (
	"math"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

func TestRemainingTimeIsRoundedToSecondsAsRedisDoes(t *testing.T) {
	tests := []struct{ ttl, want int64 }{
		{1, 0}, {499, 0}, {500, 1}, {1499, 1}, {1500, 2}, {31_557_600_000_000, 31_557_600_000},
		{math.MaxInt64, math.MaxInt64/1000 + 1},
	}
	for _, tt := range tests {
		if got := inSeconds(tt.ttl); got != tt.want {
			t.Errorf("inSeconds(%d) = %d, want %d", tt.ttl, got, tt.want)
		}
	}
}

func TestTimesOfAKey(t *testing.T) {
	tests := []struct {
		command string
		m       *oneMaster
		want    string
	}{
		{"PTTL k", free(), ":-2\r\n"},
		{"EXPIRETIME k", free(), ":-2\r\n"},
		{"PTTL k", held(redlock.Text, "v", redlock.NoTTL), ":-1\r\n"},
		{"TTL k", held(redlock.Text, "v", redlock.NoTTL), ":-1\r\n"},
		{"PEXPIRETIME k", held(redlock.WrongType, "", redlock.NoTTL), ":-1\r\n"},
		{"PTTL k", held(redlock.WrongType, "", 1700), ":1700\r\n"},
		{"TTL k", held(redlock.Text, "v", 1700), ":2\r\n"},
		{"PEXPIRETIME k", held(redlock.Text, "v", 1700), ":1700000001700\r\n"},
		{"EXPIRETIME k", held(redlock.Text, "v", 1700), ":1700000002\r\n"},
	}
	for _, tt := range tests {
		if got := tt.m.run(t, testEnv(), 2, strings.Fields(tt.command)...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}

func TestExpiryOfTheLongestTTLDoesNotWrap(t *testing.T) {
	var l Lock
	if errText := testEnv().Recognise(&l, words([]string{"PEXPIRETIME", "k"}), 0); errText != "" {
		t.Fatal(errText)
	}
	outs := []redlock.Outcome{{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text, TTL: math.MaxInt64}}}
	got, _ := l.Reply(nil, 2, outs, nil)
	if string(got) != ":9223372036854775807\r\n" {
		t.Errorf("%q", got)
	}
}

func TestSeveralKeysAreOneReply(t *testing.T) {
	m := held(redlock.Text, "v", 500)
	m.keys["list"] = heldKey{redlock.WrongType, "", 0}
	tests := []struct{ command, want string }{
		{"EXISTS k k none list", ":3\r\n"},
		{"MGET k none list k", "*4\r\n$1\r\nv\r\n_\r\n_\r\n$1\r\nv\r\n"},
		{"DEL k k none list", ":2\r\n"},
		{"MGET k", "*1\r\n_\r\n"},
	}
	for _, tt := range tests {
		if got := m.run(t, testEnv(), 3, strings.Fields(tt.command)...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}
