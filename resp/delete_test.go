package resp

import (
	"strconv"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

func TestConditionalDeletes(t *testing.T) {
	const (
		wrong  = "-" + wrongType + "\r\n"
		delexW = "-" + delexWrongType + "\r\n"
	)
	mine := func() *oneMaster { return held(redlock.Text, "v", 500) }
	other := func() *oneMaster { return held(redlock.Text, "x", 500) }
	list := func() *oneMaster { return held(redlock.WrongType, "", 500) }
	tests := []struct {
		command string
		m       *oneMaster
		want    string
		left    int
	}{
		{"DELEX k IFEQ v", mine(), ":1\r\n", 0},
		{"delex k ifeq v", mine(), ":1\r\n", 0},
		{"DELEX k IFEQ v", other(), ":0\r\n", 1},
		{"DELEX k IFEQ v", free(), ":0\r\n", 0},
		{"DELEX k IFEQ v", list(), delexW, 1},
		{"DELEX k IFNE v", mine(), ":0\r\n", 1},
		{"DELEX k IFNE v", other(), ":1\r\n", 0},
		{"DELEX k IFNE v", free(), ":0\r\n", 0},
		{"DELEX k IFNE v", list(), delexW, 1},
		{"DELEX k", list(), ":1\r\n", 0},
		{"DELEX k", mine(), ":1\r\n", 0},
		{"DELEX k", free(), ":0\r\n", 0},
		{"DELEX k IFEQ", mine(), "-ERR wrong number of arguments for 'delex' command\r\n", 1},
		{"DELEX k IFEQ v w", mine(), "-ERR wrong number of arguments for 'delex' command\r\n", 1},
		{"DELEX k EQ v", mine(), "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE\r\n", 1},
		{"DELIFEQ k v", mine(), ":1\r\n", 0},
		{"DELIFEQ k v", other(), ":0\r\n", 1},
		{"DELIFEQ k v", free(), ":0\r\n", 0},
		{"DELIFEQ k v", list(), wrong, 1},
		{"DELIFEQ k", mine(), "-ERR wrong number of arguments for 'delifeq' command\r\n", 1},
	}
	for _, tt := range tests {
		before := tt.m.keys["k"]
		if got := tt.m.run(t, testEnv(), 2, strings.Fields(tt.command)...); got != tt.want || len(tt.m.keys) != tt.left {
			t.Errorf("%s on %+v: %q, %d keys left; want %q, %d", tt.command, before, got, len(tt.m.keys), tt.want, tt.left)
		}
	}
}

func TestDelSendsAKeyNamedTwiceOnce(t *testing.T) {
	var l Lock
	args := words([]string{"DEL", "a", "b", "a", "", "b", ""})
	if errText := testEnv().Recognise(&l, args, 0); errText != "" {
		t.Fatal(errText)
	}
	var keys []string
	for _, s := range l.Swaps {
		keys = append(keys, string(s.Key))
	}
	if got := strings.Join(keys, ","); got != "a,b," {
		t.Errorf("keys %q", got)
	}
}

func TestTooManyKeysAreRefused(t *testing.T) {
	for _, command := range []string{"DEL", "UNLINK", "EXISTS", "MGET"} {
		args := []string{command}
		for i := range maxKeys + 1 {
			args = append(args, strconv.Itoa(i))
		}
		var l Lock
		if errText := testEnv().Recognise(&l, words(args), 0); errText != "ERR this proxy takes at most 1024 keys in one command" {
			t.Errorf("%s of %d keys: %q", command, maxKeys+1, errText)
		}
		if errText := testEnv().Recognise(&l, words(args[:maxKeys+1]), 0); errText != "" || len(l.Swaps) != maxKeys {
			t.Errorf("%s of %d keys: %q, %d swaps", command, maxKeys, errText, len(l.Swaps))
		}
	}
}
