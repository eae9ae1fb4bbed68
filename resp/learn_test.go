package resp

import (
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

func TestACommitExpectsExactlyWhatWasSeen(t *testing.T) {
	var l Lock
	if errText := testEnv().Recognise(&l, words([]string{"PEXPIRE", "k", "900", "GT"}), 0); errText != "" {
		t.Fatal(errText)
	}
	seen := redlock.State{Kind: redlock.Text, Value: []byte("token"), TTL: 500}
	outs := []redlock.Outcome{{Case: redlock.CaseOther, State: seen}}
	var s redlock.Swap
	if reply, more := l.Reply(nil, 2, outs, &s); !more || len(reply) != 0 {
		t.Fatalf("%q, %v", reply, more)
	}
	if string(s.Key) != "k" || string(s.Token) != "token" || !s.HasToken {
		t.Errorf("expects %q = %q", s.Key, s.Token)
	}
	if s.Mine.Effect != redlock.Expire || s.Mine.TTL != 900 {
		t.Errorf("commits %+v", s.Mine)
	}
	for _, c := range []redlock.Case{redlock.CaseAbsent, redlock.CaseOther, redlock.CaseWrong} {
		if s.Leaf(c).Effect != redlock.Learn {
			t.Errorf("case %d is %+v, want Learn", c, s.Leaf(c))
		}
	}
}

func TestALearningCommandStartsOverWhenTheKeyChanges(t *testing.T) {
	tests := []struct {
		name, command string
		change        heldKey
		want          string
		value         string
		ttl           int64
	}{
		{"another value", "PEXPIRE k 900 GT", heldKey{redlock.Text, "new", testNow + 100}, ":1\r\n", "new", 900},
		{"another value, condition no longer met", "PEXPIRE k 900 GT", heldKey{redlock.Text, "new", testNow + 1000}, ":0\r\n", "new", 1000},
		{"gone", "PEXPIRE k 900 GT", heldKey{}, ":0\r\n", "", 0},
		{"a list", "PEXPIRE k 900 GT", heldKey{redlock.WrongType, "", testNow + 100}, ":1\r\n", "", 900},
		{"SET on what is gone", "SET k w KEEPTTL", heldKey{}, "+OK\r\n", "w", testDefaultTTL},
		{"SET XX on what is gone", "SET k w KEEPTTL XX", heldKey{}, "$-1\r\n", "", 0},
		{"SET GET of the new value", "SET k w KEEPTTL GET", heldKey{redlock.Text, "new", testNow + 100}, "$3\r\nnew\r\n", "w", 100},
	}
	for _, tt := range tests {
		m := held(redlock.Text, "old", 500)
		m.between = func(round int) {
			if round != 2 {
				return
			}
			delete(m.keys, "k")
			if tt.change != (heldKey{}) {
				m.keys["k"] = tt.change
			}
		}
		got := m.run(t, testEnv(), 2, strings.Fields(tt.command)...)
		if got != tt.want || m.value("k") != tt.value || m.ttl("k") != tt.ttl {
			t.Errorf("%s: %s: %q, then %q for %d; want %q, %q, %d", tt.name, tt.command,
				got, m.value("k"), m.ttl("k"), tt.want, tt.value, tt.ttl)
		}
	}
}

func TestALearningCommandGivesUpOnAKeyThatNeverRests(t *testing.T) {
	m := held(redlock.Text, "0", 500)
	m.between = func(round int) {
		m.keys["k"] = heldKey{redlock.Text, strings.Repeat("x", round), testNow + 500}
	}
	got := m.run(t, testEnv(), 2, "PEXPIRE", "k", "900", "GT")
	if got != "-"+tooManyCommits+"\r\n" || m.ttl("k") != 500 {
		t.Errorf("%q, TTL %d", got, m.ttl("k"))
	}
	if m.round > 2*maxCommits+2 {
		t.Errorf("%d rounds", m.round)
	}
}

func TestOnlyCommandsThatNeedItLearn(t *testing.T) {
	for command, want := range map[string]bool{
		"SET k v NX PX 5": false, "SET k v": false, "SET k v NX KEEPTTL": false, "SET k v KEEPTTL": true, "SET k v XX KEEPTTL": true,
		"PEXPIRE k 5": false, "PEXPIRE k 5 GT": true, "PERSIST k": true, "GETEX k PERSIST": true, "GETEX k PX 5": false, "GET k": false,
	} {
		var l Lock
		if errText := testEnv().Recognise(&l, words(strings.Fields(command)), 0); errText != "" || l.MayLearn != want {
			t.Errorf("%s: %q, MayLearn %v, want %v", command, errText, l.MayLearn, want)
		}
	}
}

func TestConditionsOfExpireAreStrict(t *testing.T) {
	tests := []struct{ command, want string }{
		{"PEXPIRE k 500 GT", ":0\r\n"}, {"PEXPIRE k 501 GT", ":1\r\n"}, {"PEXPIREAT k 1700000000500 GT", ":0\r\n"},
		{"PEXPIRE k 500 LT", ":0\r\n"}, {"PEXPIRE k 499 LT", ":1\r\n"}, {"PEXPIREAT k 1700000000500 LT", ":0\r\n"},
	}
	for _, tt := range tests {
		m := held(redlock.Text, "v", 500)
		if got := m.run(t, testEnv(), 2, strings.Fields(tt.command)...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}
