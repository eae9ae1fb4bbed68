package resp

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// FuzzRecognise feeds commands, arguments separated by '|', on every state. A
// recogniser must not panic, must never store a key without an expiry, and
// must come to exactly one well-formed reply.
func FuzzRecognise(f *testing.F) {
	for _, seed := range []string{
		"SET|k|v|NX|PX|30000", "set|k|v|px|1|nx|get", "SET|k|v|IFEQ|NX|EX|9223372036854775807", "SET|k|v|KEEPTTL",
		"SETNX|k|v", "PSETEX|k|5|v", "GET|k", "GETEX|k|PERSIST", "GETDEL|k", "DEL|k|k|j", "EXISTS|k|k", "MGET|k|",
		"DELEX|k|IFEQ|v", "DELIFEQ|k|v", "PEXPIRE|k|5|GT", "PEXPIREAT|k|-9223372036854775808|LT|XX", "PERSIST|k",
		"EVAL|return 1|0", "EVAL|return redis.call('get',KEYS[1])|1|k", "EVALSHA_RO|0123456789012345678901234567890123456789|-1",
		"", "|", "get", "PTTL|k", "TYPE|k",
	} {
		f.Add([]byte(seed))
	}
	states := []func() *oneMaster{
		free,
		func() *oneMaster { return held(redlock.Text, "v", 500) },
		func() *oneMaster { return held(redlock.Text, "", redlock.NoTTL) },
		func() *oneMaster { return held(redlock.WrongType, "", 500) },
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var args []string
		for _, a := range bytes.Split(line, []byte("|")) {
			args = append(args, string(a))
		}
		ArityError(words(args))
		for _, state := range states {
			for proto := 2; proto <= 3; proto++ {
				reply := state().run(t, testEnv(), proto, args...)
				if rest, ok := skipReply(reply); !ok || rest != "" {
					t.Errorf("%q: reply %q", args, reply)
				}
			}
		}
	})
}

// skipReply returns what follows the first reply in s.
func skipReply(s string) (rest string, ok bool) {
	reply, err := rawReply(bufio.NewReader(strings.NewReader(s)))
	return s[len(reply):], err == nil && len(reply) >= 3
}
