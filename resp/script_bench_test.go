package resp

import (
	"testing"

	"redlock-proxy/redlock"
)

// A plan and its reply cost as little as a plain command should: the canonical
// scripts of lock libraries, in words of our own.
func BenchmarkScript(b *testing.B) {
	for _, s := range []struct {
		name, text string
		args       []string
		seen       redlock.Case
	}{
		{"compare and delete", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
			[]string{"token"}, redlock.CaseMine},
		{"compare and delete, not mine", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
			[]string{"token"}, redlock.CaseOther},
		{"compare and expire", `local v = redis.call('GET', KEYS[1])
			if v ~= ARGV[1] then return 0 end
			return redis.call('PEXPIRE', KEYS[1], ARGV[2])`, []string{"token", "30000"}, redlock.CaseMine},
		{"acquire", `return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
			[]string{"token", "30000"}, redlock.CaseAbsent},
		{"release that pushes to a list", `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end
			redis.call('del', ARGV[3]) redis.call('lpush', ARGV[3], 1) redis.call('pexpire', ARGV[3], ARGV[2]) redis.call('del', KEYS[1]) return 0`,
			[]string{"token", "1000", "signal"}, redlock.CaseMine},
	} {
		b.Run(s.name, func(b *testing.B) {
			scripts := NewScripts()
			script, err := scripts.Compile([]byte(s.text))
			if err != nil {
				b.Fatal(err)
			}
			env, keys, args := testEnv(), words([]string{"lock"}), words(s.args)
			env.Scripts = scripts
			out := redlock.Outcome{Case: s.seen, Applied: true}
			var p Plan
			var again redlock.Swap
			reply := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				if errText := script.Plan(&p, keys, args, 0, false, env); errText != "" {
					b.Fatal(errText)
				}
				reply, _ = p.Resolve(reply[:0], 2, &out, &again)
			}
		})
	}
}

func BenchmarkScriptParse(b *testing.B) {
	text := []byte(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseScript(text); err != nil {
			b.Fatal(err)
		}
	}
}
