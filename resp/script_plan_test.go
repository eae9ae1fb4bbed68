package resp

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// planOf plans one run with the key "k".
func planOf(t *testing.T, e *Env, text string, args ...string) *Plan {
	t.Helper()
	s, err := e.Scripts.Compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p := new(Plan)
	if errText := s.Plan(p, words([]string{"k"}), words(args), 0, false, e); errText != "" {
		t.Fatalf("%s: %s", text, errText)
	}
	return p
}

// show writes a table in short.
func show(s *redlock.Swap) string {
	leaf := func(l *redlock.Leaf) string {
		switch l.Effect {
		case redlock.Keep:
			return "keep"
		case redlock.Learn:
			return "learn"
		case redlock.Set:
			return fmt.Sprintf("set %s %d", l.Value, l.TTL)
		case redlock.Expire:
			return fmt.Sprintf("expire %d", l.TTL)
		}
		return "delete"
	}
	token := "-"
	if s.HasToken {
		token = string(s.Token)
	}
	return fmt.Sprintf("%s %s: absent %s, mine %s, other %s, wrong %s", s.Key, token,
		leaf(&s.Absent), leaf(&s.Mine), leaf(&s.Other), leaf(&s.Wrong))
}

func TestScriptsBecomeTables(t *testing.T) {
	const none = testDefaultTTL
	for _, test := range []struct{ name, text, want string }{
		{"acquire", `return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
			"k -: absent set tok 30000, mine keep, other keep, wrong keep"},
		{"compare and delete", `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
			"k tok: absent keep, mine delete, other keep, wrong keep"},
		{"compare and expire, negated", `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[1], ARGV[2])`,
			"k tok: absent keep, mine expire 30000, other keep, wrong keep"},
		{"storing the same value is a renewal", `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`,
			"k tok: absent keep, mine expire 30000, other keep, wrong keep"},
		{"storing another value", `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], 'new', 'PX', ARGV[2]) end`,
			"k tok: absent keep, mine set new 30000, other keep, wrong keep"},
		{"storing another value with its TTL", `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], 'new', 'KEEPTTL') end`,
			"k tok: absent keep, mine set new -1, other keep, wrong keep"},
		{"acquire or renew", `local v = redis.call('get', KEYS[1]) if v == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
			return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
			"k tok: absent set tok 30000, mine expire 30000, other keep, wrong keep"},
		{"two writes are one effect", `if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) end`,
			"k -: absent set tok 30000, mine keep, other keep, wrong keep"},
		{"delete and set is a set", `redis.call('del', KEYS[1]) redis.call('set', KEYS[1], 'x', 'PX', 5)`,
			"k -: absent set x 5, mine keep, other set x 5, wrong set x 5"},
		{"set and delete is nothing on a free key", `redis.call('set', KEYS[1], 'x', 'PX', 5) redis.call('del', KEYS[1])`,
			"k -: absent keep, mine keep, other delete, wrong delete"},
		{"an expiry of zero deletes", `redis.call('pexpire', KEYS[1], 0)`,
			"k -: absent keep, mine keep, other delete, wrong delete"},
		{"no TTL becomes the default", `redis.call('setnx', KEYS[1], ARGV[1])`,
			fmt.Sprintf("k -: absent set tok %d, mine keep, other keep, wrong keep", none)},
		{"absolute times become remaining ones", fmt.Sprintf(`redis.call('set', KEYS[1], 'x', 'NX', 'PXAT', %d)`, testNow+5000),
			"k -: absent set x 5000, mine keep, other keep, wrong keep"},
		{"a past time stores nothing", `return redis.call('set', KEYS[1], 'x', 'PXAT', 1)`,
			"k -: absent keep, mine keep, other delete, wrong delete"},
		{"a returned value need not be known if it is not mine", `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('get', KEYS[1]) end return 0`,
			"k tok: absent keep, mine keep, other keep, wrong keep"},
		{"a returned value", `return redis.call('get', KEYS[1])`,
			"k -: absent keep, mine keep, other learn, wrong keep"},
		{"a TTL in a condition", `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end if redis.call('pttl', KEYS[1]) < 0 then return 2 end redis.call('pexpire', KEYS[1], 5) return 1`,
			"k tok: absent keep, mine learn, other keep, wrong keep"},
		{"a TTL that is not looked at", `redis.call('pttl', KEYS[1]) local t = redis.call('ttl', KEYS[1]) if t then return redis.call('del', KEYS[1]) end`,
			"k -: absent keep, mine keep, other delete, wrong delete"},
		{"part of the value", `if string.sub(redis.call('get', KEYS[1]) or '', 1, 3) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
			"k -: absent keep, mine keep, other learn, wrong keep"},
		{"two tokens", `local v = redis.call('get', KEYS[1]) if v == ARGV[1] or v == 'admin' then return redis.call('del', KEYS[1]) end return 0`,
			"k tok: absent keep, mine delete, other learn, wrong keep"},
		{"compared with what is no string", `local v = redis.call('get', KEYS[1]) if v == false or v == 5 or v == nil then return 0 end return redis.call('del', KEYS[1])`,
			"k -: absent keep, mine keep, other delete, wrong keep"},
		{"an error after a write keeps the write", `redis.call('set', KEYS[1], 'x', 'PX', 5) error('boom')`,
			"k -: absent set x 5, mine keep, other set x 5, wrong set x 5"},
		{"a condition on the remaining time", `return redis.call('pexpire', KEYS[1], 5, 'GT')`,
			"k -: absent keep, mine keep, other learn, wrong learn"},
		{"SET IFEQ", `return redis.call('set', KEYS[1], 'new', 'IFEQ', ARGV[1], 'PX', 5)`,
			"k tok: absent keep, mine set new 5, other keep, wrong keep"},
		{"DELEX", `return redis.call('delex', KEYS[1], 'IFEQ', ARGV[1])`, "k tok: absent keep, mine delete, other keep, wrong keep"},
		{"DELIFEQ", `return server.call('delifeq', KEYS[1], ARGV[1])`, "k tok: absent keep, mine delete, other keep, wrong keep"},
		{"the key is the one that is touched", `return redis.call('del', ARGV[1])`, "tok -: absent keep, mine keep, other delete, wrong delete"},
		{"a key made of strings", `return redis.call('del', 'lock:' .. KEYS[1])`, "lock:k -: absent keep, mine keep, other delete, wrong delete"},
	} {
		p := planOf(t, testEnv(), test.text, "tok", "30000")
		if got := show(&p.Swap); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestScriptChoosesItsDatabase(t *testing.T) {
	p := planOf(t, testEnv(), `redis.pcall('SELECT', ARGV[1]) return redis.call('del', KEYS[1])`, "3")
	if p.DB != 3 {
		t.Errorf("database %d, want 3", p.DB)
	}
	if p := planOf(t, testEnv(), `redis.call('del', KEYS[1]) redis.call('select', 3)`); p.DB != 0 {
		t.Errorf("selected behind: database %d, want 0", p.DB)
	}
}

func TestScriptWithoutAKeyIsAnsweredAtOnce(t *testing.T) {
	p := planOf(t, testEnv(), `return {#KEYS, ARGV[1]}`, "x")
	if !p.NoKey {
		t.Fatal("NoKey is false")
	}
	if got, again := p.Resolve(nil, 2, nil, nil); string(got) != "*2\r\n:1\r\n$1\r\nx\r\n" || again {
		t.Errorf("%q, again %v", got, again)
	}
}

// rounds runs a script and returns the reply and how many rounds it took.
func rounds(t *testing.T, e *Env, m *oneMaster, text string, args ...string) (string, int) {
	t.Helper()
	reply := m.run(t, e, 2, append([]string{"EVAL", text, "1", "k"}, args...)...)
	return reply, m.round
}

func TestHowManyRoundsAScriptTakes(t *testing.T) {
	const (
		release  = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
		additive = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) if left < 0 then return 0 end
			redis.call('pexpire', KEYS[1], ARGV[2] + left) return 1`
		query  = `return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])}`
		prefix = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
			if redis.call('getrange', KEYS[1], 0, 2) == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) return 2 end return 0`
	)
	for _, test := range []struct {
		name, text string
		m          *oneMaster
		reply      string
		rounds     int
	}{
		{"release, mine", release, held(redlock.Text, "tok", 500), ":1\r\n", 1},
		{"release, other", release, held(redlock.Text, "x", 500), ":0\r\n", 1},
		{"release, free", release, free(), ":0\r\n", 1},
		{"additive extend, mine", additive, held(redlock.Text, "tok", 500), ":1\r\n", 2},
		{"additive extend, mine without TTL", additive, held(redlock.Text, "tok", redlock.NoTTL), ":0\r\n", 1},
		{"additive extend, other", additive, held(redlock.Text, "x", 500), ":0\r\n", 1},
		{"query", query, held(redlock.Text, "x", 500), "*2\r\n$1\r\nx\r\n:500\r\n", 1},
		{"query, free", query, free(), "*2\r\n$-1\r\n:-2\r\n", 1},
		{"by prefix, free", prefix, free(), ":1\r\n", 1},
		{"by prefix, mine", prefix, held(redlock.Text, "tok:1", 500), ":2\r\n", 2},
		{"by prefix, other", prefix, held(redlock.Text, "x", 500), ":0\r\n", 1},
	} {
		reply, n := rounds(t, testEnv(), test.m, test.text, "tok", "30000")
		if reply != test.reply || n != test.rounds {
			t.Errorf("%s: %q in %d rounds, want %q in %d", test.name, reply, n, test.reply, test.rounds)
		}
	}
}

func TestAdditiveExtendWritesOneTTL(t *testing.T) {
	m := held(redlock.Text, "tok", 500)
	rounds(t, testEnv(), m, `local left = redis.call('pttl', KEYS[1]) redis.call('pexpire', KEYS[1], left + ARGV[1])`, "30000")
	if got := m.ttl("k"); got != 30500 {
		t.Errorf("TTL %d, want 30500", got)
	}
}

func TestStateThatChangesMeanwhileIsLookedAtAgain(t *testing.T) {
	const counter = `local n = redis.call('get', KEYS[1]) or '0' redis.call('set', KEYS[1], n + 1, 'PX', 500) return n + 1`
	for _, test := range []struct {
		name    string
		between func(m *oneMaster) func(round int)
		reply   string
		value   string
	}{
		{"another value", func(m *oneMaster) func(int) {
			return func(round int) {
				if round == 2 {
					m.keys["k"] = heldKey{kind: redlock.Text, value: "40"}
				}
			}
		}, ":41\r\n", "41"},
		{"gone", func(m *oneMaster) func(int) {
			return func(round int) {
				if round == 2 {
					delete(m.keys, "k")
				}
			}
		}, ":1\r\n", "1"},
		{"of another type", func(m *oneMaster) func(int) {
			return func(int) { m.keys["k"] = heldKey{kind: redlock.WrongType} }
		}, "-WRONGTYPE Operation against a key holding the wrong kind of value", ""},
		{"all the time", func(m *oneMaster) func(int) {
			return func(round int) { m.keys["k"] = heldKey{kind: redlock.Text, value: fmt.Sprint(round)} }
		}, "-" + tooManyRounds + "\r\n", ""},
	} {
		m := held(redlock.Text, "7", 500)
		m.between = test.between(m)
		reply, _ := rounds(t, testEnv(), m, counter)
		if !strings.HasPrefix(reply, test.reply) {
			t.Errorf("%s: reply %q, want %q", test.name, reply, test.reply)
		}
		if test.value != "" && m.value("k") != test.value {
			t.Errorf("%s: holds %q, want %q", test.name, m.value("k"), test.value)
		}
	}
}

func TestUndecidedVotesAreAnError(t *testing.T) {
	p := planOf(t, testEnv(), `return redis.call('del', KEYS[1])`)
	got, again := p.Resolve(nil, 2, &redlock.Outcome{Err: errors.New("1 of 3 masters answered")}, nil)
	if string(got) != "-NOQUORUM 1 of 3 masters answered\r\n" || again {
		t.Errorf("%q, again %v", got, again)
	}
}

func TestRefusedAfterLearningWritesNothing(t *testing.T) {
	m := held(redlock.Text, "tok", 500)
	reply, n := rounds(t, testEnv(), m, `local v = redis.call('get', KEYS[1]) if #v == 3 then redis.call('set', KEYS[1], 'new') redis.call('hset', 'c', 'f', v) end`)
	if !strings.Contains(reply, "calls 'HSET'") || n != 1 || m.value("k") != "tok" {
		t.Errorf("%q after %d rounds, holds %q", reply, n, m.value("k"))
	}
}

func TestReadOnlyRunsMayNotWrite(t *testing.T) {
	e := testEnv()
	const want = "-ERR Write commands are not allowed from read-only scripts. script: %s, on @user_script:%d.\r\n"
	for text, line := range map[string]int{
		`return redis.call('del', KEYS[1])`:                               1,
		`return redis.call('setnx', KEYS[1], 'x')`:                        1,
		"#!lua flags=no-writes\nreturn redis.call('pexpire', KEYS[1], 5)": 2,
	} {
		m := held(redlock.Text, "x", 500)
		got := m.run(t, e, 2, "EVAL_RO", text, "1", "k")
		sha, _ := e.Scripts.Load([]byte(text))
		if got != fmt.Sprintf(want, sha, line) || m.value("k") != "x" {
			t.Errorf("%s: %q", text, got)
		}
		if got := m.run(t, e, 2, "EVALSHA_RO", sha, "1", "k"); got != fmt.Sprintf(want, sha, line) {
			t.Errorf("by SHA, %s: %q", text, got)
		}
	}
	if got := held(redlock.Text, "x", 500).run(t, e, 2, "EVAL_RO", `return redis.call('get', KEYS[1])`, "1", "k"); got != "$1\r\nx\r\n" {
		t.Errorf("a read: %q", got)
	}
}

func TestTimeStandsStillInAScript(t *testing.T) {
	e := testEnv()
	ticks := 0
	e.Wall = func() time.Time { ticks++; return time.UnixMilli(testNow + int64(ticks)*1000) }
	p := planOf(t, e, `local a = redis.call('time') if redis.call('get', KEYS[1]) == 'x' then return 0 end
		local b = redis.call('time') return {a[1], b[1]}`)
	got, _ := p.Resolve(nil, 2, &redlock.Outcome{Case: redlock.CaseOther}, nil)
	sec := fmt.Sprint(testNow/1000 + 1)
	if want := fmt.Sprintf("*2\r\n$%[1]d\r\n%[2]s\r\n$%[1]d\r\n%[2]s\r\n", len(sec), sec); string(got) != want || ticks != 1 {
		t.Errorf("%q, want %q, after %d looks at the clock", got, want, ticks)
	}
}

func TestDefaultTTLIsReported(t *testing.T) {
	for text, want := range map[string]bool{
		`redis.call('setnx', KEYS[1], 'x')`:                                        true,
		`redis.call('setnx', KEYS[1], 'x') redis.call('pexpire', KEYS[1], 5)`:      false,
		`if redis.call('get', KEYS[1]) == 'x' then redis.call('del', KEYS[1]) end`: false,
	} {
		if p := planOf(t, testEnv(), text); p.DefaultTTL != want {
			t.Errorf("%s: DefaultTTL %v, want %v", text, p.DefaultTTL, want)
		}
	}
}

func TestValueThatTheEngineLeavesOutIsTheToken(t *testing.T) {
	p := planOf(t, testEnv(), `local v = redis.call('get', KEYS[1]) if v == ARGV[1] then return {v, redis.call('pttl', KEYS[1])} end`, "tok")
	out := redlock.Outcome{Case: redlock.CaseMine, State: redlock.State{Kind: redlock.Text, TTL: 500}}
	if got, _ := p.Resolve(nil, 2, &out, new(redlock.Swap)); string(got) != "*2\r\n$3\r\ntok\r\n:500\r\n" {
		t.Errorf("%q", got)
	}
}

func TestCanonicalScriptsNeedNoAllocation(t *testing.T) {
	e := testEnv()
	s, err := e.Scripts.Compile([]byte(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`))
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{script: s, keys: words([]string{"k"}), args: words([]string{"tok"}), env: e}
	m := p.machine() // one of our own: the pool loses some on purpose under -race
	reply := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		if err := p.derive(m); err != nil {
			t.Fatal(m.refusal)
		}
		assume, known := p.assumed(redlock.CaseMine)
		reply = p.answer(m, reply[:0], 2, assume, known)
	}); n != 0 {
		t.Errorf("%v allocations per run", n)
	}
	if string(reply) != ":1\r\n" {
		t.Errorf("reply %q", reply)
	}
}

// TestShortcutsOfAPlanChangeNothing: a reply that is remembered is what another run
// would return, and a case that is not run is as it would have turned out.
func TestShortcutsOfAPlanChangeNothing(t *testing.T) {
	e := testEnv()
	shortcuts := 0
	for _, text := range []string{
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`,
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], 1000) end return 0.7`,
		`if redis.pcall('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return -1`,
		`local ok, v = pcall(redis.call, 'GET', KEYS[1]) if not ok then redis.call('SET', KEYS[1], 'x', 'PX', 1) end return 3`,
		`local ok, v = pcall(function() return redis.call('GET', KEYS[1]) end) if not ok then redis.call('DEL', KEYS[1]) end return 3`,
		`redis.call('TTL', KEYS[1]) return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 2`,
		`redis.call('DEL', KEYS[1]) return redis.call('GET', KEYS[1]) and 1 or 2`,
		`local v = redis.call('GET', KEYS[1]) redis.call('PUBLISH', 'c', 'm') return v == ARGV[1] and 1 or 2`,
		`redis.call('PUBLISH', 'c', 'm') if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`,
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return 1/0 end return -2^53`,
		`return redis.call('EXISTS', KEYS[1])`,
		`return redis.call('GET', KEYS[1]) == ARGV[1]`,
	} {
		p := planOf(t, e, text, "token")
		whole := p.Swap
		m := p.machine()
		if err := p.guess(m, redlock.CaseWrong); err != nil {
			t.Fatal(err)
		}
		p.done(m)
		if !reflect.DeepEqual(p.Swap, whole) {
			t.Errorf("%s: of another type: %+v, want %+v", text, whole.Wrong, p.Swap.Wrong)
		}
		for c := redlock.CaseAbsent; c <= redlock.CaseWrong; c++ {
			out := redlock.Outcome{Case: c}
			var again redlock.Swap
			p := planOf(t, e, text, "token")
			if p.remembered(&out).known {
				shortcuts++
			}
			got, _ := p.Resolve(nil, 2, &out, &again)
			said := fmt.Sprint(p.published)
			p = planOf(t, e, text, "token")
			p.replies = [len(p.replies)]numberReply{}
			want, _ := p.Resolve(nil, 2, &out, &again)
			if string(got) != string(want) || said != fmt.Sprint(p.published) {
				t.Errorf("%s: case %d: %q and publishes %s, want %q and %v", text, c, got, said, want, p.published)
			}
		}
	}
	if shortcuts < 10 {
		t.Errorf("only %d replies were remembered", shortcuts)
	}
}
