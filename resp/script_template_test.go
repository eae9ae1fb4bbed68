package resp

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// templateForms are what lock libraries send most, in words of our own. Each has
// to have a template, for otherwise it is slow and nobody notices.
func templateForms() []string {
	return []string{
		// compare and delete
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end return 0`,
		`if ARGV[1] == redis.pcall("get", KEYS[1]) then redis.call("del", KEYS[1]) return true end return false`,
		`local key, token = KEYS[1], ARGV[1] local held = redis.call("Get", key) if held ~= token then return 0 end return redis.call("Del", key)`,
		`local v = redis.call("get", KEYS[1]) if v == ARGV[1] then return redis.call("del", KEYS[1]) elseif v == false then return -1 else return 0 end`,
		`local v = redis.call("get", KEYS[1]) if not v then return -1 end if v ~= ARGV[1] then return redis.error_reply("NOT yours") end return redis.call("del", KEYS[1])`,
		`local v = redis.call("get", KEYS[1]) if v and v ~= ARGV[1] then return {err = "ERROR"} end redis.call("del", KEYS[1]) return {ok = "OK"}`,
		`local v = server.call("get", KEYS[1]) if v == nil or type(v) == "boolean" or not (v == ARGV[1]) then return nil end return server.call("del", KEYS[1])`,
		`return redis.call("get", KEYS[1]) == ARGV[1] and redis.call("del", KEYS[1]) or 0`,
		`local n n = 0 if redis.call("get", KEYS[1]) == ARGV[1] then n = redis.call("del", KEYS[1]) end do return n end`,
		`local call = redis.call if call("get", KEYS[1]) == ARGV[1] then return tonumber(call("del", KEYS[1])) end return 0`,
		`if redis.call("exists", KEYS[1]) == 1 and redis.call("get", KEYS[1]) == ARGV[1] then redis.call("del", KEYS[1]) return 1 end return 0`,
		// compare and expire
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`,
		`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("EXPIRE", KEYS[1], ARGV[2]) return 1`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], tonumber(ARGV[2])) end`,
		`local ttl = tonumber(ARGV[2]) if redis.call("get", KEYS[1]) == ARGV[1] then redis.call("expire", KEYS[1], ttl) return "true" end return "false"`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("expire", KEYS[1], 30) end return 0`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2], "XX") end return 0`,
		`if redis.call("get", KEYS[1]) == KEYS[3] then return redis.call("set", KEYS[1], KEYS[3], "PX", KEYS[2], "XX") end return 0`,
		// get and compare
		`return redis.call("get", KEYS[1]) == ARGV[1]`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end return 0`,
		`return redis.call("get", KEYS[1])`,
		// acquire, and acquire or renew
		`return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
		`if redis.call("SET", KEYS[1], ARGV[1], "ex", 30, "nx") then return 1 end return 0`,
		`if redis.call("setnx", KEYS[1], ARGV[1]) == 1 then redis.call("pexpire", KEYS[1], ARGV[2]) return 1 end return 0`,
		`if redis.call('exists', KEYS[1]) == 1 then return 0 end redis.call('psetex', KEYS[1], ARGV[2], ARGV[1]) return 1`,
		`if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return "OK"
		 else return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) end`,
		`if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then return 1 elseif redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`,
		`redis.call('setex', KEYS[1], 10, ARGV[1]) return redis.call('get', KEYS[1]) == ARGV[1]`,
		`return redis.call('set', KEYS[1], ARGV[1])`,
		`return redis.call('del', KEYS[1])`,
	}
}

// inspectingScripts may do something else for other arguments, or more than a
// table of one key says.
func inspectingScripts() []string {
	mine := func(then string) string {
		return `if redis.call("get", KEYS[1]) == ARGV[1] then ` + then + ` end return 0`
	}
	return []string{
		// what an argument holds
		`if ARGV[1] == "x" then return redis.call("del", KEYS[1]) end return redis.call("exists", KEYS[1])`,
		`if ARGV[1] ~= ARGV[2] then return redis.call("del", KEYS[1]) end`, `if KEYS[1] == ARGV[1] then return redis.call("del", KEYS[1]) end`,
		`local v = redis.call("get", KEYS[1]) return v == ARGV[1] or v == ARGV[2]`, `local v = redis.call("get", KEYS[1]) return v == ARGV[1] or v == "x"`,
		`return redis.call("get", KEYS[1]) == "x"`, `return redis.call("get", KEYS[1]) == "p:" .. ARGV[1]`,
		mine(`if #ARGV[2] > 3 then return redis.call("del", KEYS[1]) end`), mine(`if tonumber(ARGV[2]) > 0 then return redis.call("del", KEYS[1]) end`),
		mine(`if tonumber(ARGV[2]) == 5 then return redis.call("del", KEYS[1]) end`), mine(`return redis.call("pexpire", KEYS[1], ARGV[2] * 1000)`),
		mine(`return redis.call("pexpire", KEYS[1], ARGV[2] + 0)`), mine(`return redis.call("pexpire", KEYS[1], -ARGV[2])`), mine(`return tonumber(ARGV[2])`),
		mine(`return redis.call("pexpire", KEYS[1], tonumber(ARGV[2], 16))`), mine(`return redis.call("set", KEYS[1], tonumber(ARGV[2]), "PX", 5)`),
		mine(`return redis.call(ARGV[2], KEYS[1])`), mine(`return redis.call("set", KEYS[1], ARGV[1], ARGV[2], 5)`), mine(`return ({x = 1})[ARGV[2]]`),
		mine(`return redis.error_reply(ARGV[2])`), mine(`return redis.status_reply(ARGV[2])`), mine(`return {err = ARGV[2]}`), mine(`return error(ARGV[2])`),
		mine(`if string.sub(ARGV[2], 1, 1) == "x" then return redis.call("del", KEYS[1]) end`), mine(`if ARGV[2] < "x" then return redis.call("del", KEYS[1]) end`),
		mine(`return redis.sha1hex(ARGV[2])`), mine(`return ARGV[2]:len()`), mine(`redis.log(ARGV[2], "x") return redis.call("del", KEYS[1])`),
		mine(`return redis.call("set", KEYS[1], ARGV[2], "PX", 5)`), // a renewal, if both are the same
		// how many there are, and which
		mine(`return redis.call("del", KEYS[#KEYS])`), mine(`return redis.call("del", unpack(KEYS))`), mine(`return redis.call("del", KEYS[ARGV[2]])`),
		mine(`for _, k in ipairs(KEYS) do redis.call("del", k) end`), `ARGV[1] = "x" ` + mine(`return redis.call("del", KEYS[1])`), mine(`return KEYS`), mine(`return #ARGV`),
		`local a = ARGV a[1] = "x" ` + mine(`return redis.call("del", KEYS[1])`), mine(`return select("#", ...)`), mine(`return KEYS[1.5]`), mine(`return KEYS[0]`), mine(`return KEYS.x`),
		// what is unknown
		`return tonumber(redis.call("get", KEYS[1]))`, `return #redis.call("get", KEYS[1])`, `return redis.call("get", KEYS[1]) .. ""`, mine(`return redis.call("pttl", KEYS[1])`),
		// other commands and options, several keys, databases, the clock
		mine(`return redis.call("pexpire", KEYS[1], ARGV[2], "GT")`), mine(`return redis.call("pexpireat", KEYS[1], ARGV[2])`), mine(`return redis.call("expire", KEYS[1], 0)`),
		mine(`return redis.call("expire", KEYS[1], -1)`), mine(`return redis.call("pexpire", KEYS[1], "x")`), mine(`return redis.call("pexpire", KEYS[1], 1.5)`), mine(`return redis.call("pexpire", KEYS[1], nil)`),
		mine(`return redis.call("pexpire", KEYS[1], 1e14)`), mine(`return redis.call("pexpire", KEYS[1])`), mine(`return redis.call("del", KEYS[1], KEYS[1])`), mine(`return redis.call("del", KEYS[2])`),
		mine(`return redis.call("del", "x")`), mine(`return redis.call("persist", KEYS[1])`), mine(`redis.call("publish", KEYS[1], "x") return redis.call("del", KEYS[1])`),
		mine(`redis.call("lpush", KEYS[2], 1) redis.call("expire", KEYS[2], 1) return redis.call("del", KEYS[1])`), mine(`return redis.call("get", KEYS[2])`), mine(`return redis.call("time")`),
		`redis.call("select", ARGV[2]) ` + mine(`return redis.call("del", KEYS[1])`), `redis.setresp(3) ` + mine(`return redis.call("del", KEYS[1])`), mine(`return redis.call("hget", KEYS[1], "x")`),
		`return redis.call("set", KEYS[1], ARGV[1], "KEEPTTL")`, `return redis.call("set", KEYS[1], ARGV[1], "GET")`, `return redis.call("set", KEYS[1], ARGV[1], "PXAT", ARGV[2])`,
		`return redis.call("set", KEYS[1], ARGV[1], "NX", "XX")`, `return redis.call("set", KEYS[1], ARGV[1], "PX", 5, "EX", 5)`, `return redis.call("set", KEYS[1], ARGV[1], "PX")`, `return redis.call("set", KEYS[1], 5)`,
		`return redis.call("set", KEYS[1], ARGV[1], "IFEQ", ARGV[2])`, `return redis.call("getset", KEYS[1], ARGV[1])`,
		// calls and loops
		`local function f() return redis.call("get", KEYS[1]) end return f() == ARGV[1]`, `return pcall(redis.call, "get", KEYS[1])`, `while redis.call("get", KEYS[1]) == ARGV[1] do redis.call("del", KEYS[1]) end`,
		mine(`return redis.call`), mine(`return redis`), mine(`return {1, 2}`), mine(`return {map = "x"}`), mine(`return x`), mine(`return cjson`), `redis.call = nil ` + mine(`return 1`),
		// no key
		`return 1`, `return ARGV[1]`, ``,
		strings.Repeat(`redis.call("get", KEYS[1]) `, maxTemplateSteps/6),
	}
}

func TestFormsOfLockLibrariesHaveTemplates(t *testing.T) {
	for _, text := range templateForms() {
		if script, err := parseScript([]byte(text)); err != nil || script.template == nil {
			t.Errorf("no template: %s (%v)", text, err)
		}
	}
}

func TestScriptsThatInspectTheirArgumentsHaveNone(t *testing.T) {
	for _, text := range inspectingScripts() {
		if script, err := parseScript([]byte(text)); err != nil || script.template != nil {
			t.Errorf("a template: %s (%v)", text, err)
		}
	}
}

// Whatever would make a run of the script object, or count as work, is left to it.
func TestArgumentsThatNeedARunOfTheScript(t *testing.T) {
	const extend = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("expire", KEYS[1], tonumber(ARGV[2])) end`
	env := testEnv()
	env.MaxTTL, env.Reserved = 1_000_000, "~r:"
	script, err := env.Scripts.Compile([]byte(extend))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", bytesAStep)
	for _, test := range []struct {
		key, token, ttl string
		want            bool
	}{
		{"k", "t", "30", true}, {"k", "t", "1000", true}, {"k", "t", "1001", false}, {"k", "k", "30", true}, {"", "", "30", true},
		{"k", "t", "0", false}, {"k", "t", "-1", false}, {"k", "t", "", false}, {"k", "t", "x", false}, {"k", "t", "1.0", false}, {"k", "t", " 1", false}, {"k", "t", "01", false},
		{"~r:k", "t", "30", false}, {"k", "~r:", "30", true}, {long, "t", "30", false}, {"k", long, "30", false}, {long[1:], long[1:], "30", true},
	} {
		p := Plan{script: script, keys: words([]string{test.key}), args: words([]string{test.token, test.ttl}), env: env}
		if got := script.template.fill(&p); got != test.want {
			t.Errorf("%.20q %.20q %q: filled %v, want %v", test.key, test.token, test.ttl, got, test.want)
		}
	}
	bare := Plan{script: script, keys: words([]string{"k"}), args: words([]string{"t"}), env: env}
	if script.template.fill(&bare) {
		t.Error("filled without the last argument")
	}
	env.MaxTTL = 0
	for ttl, want := range map[string]bool{"99999999999999": true, "100000000000000": false, "9223372036854775807": false} {
		p := Plan{script: script, keys: words([]string{"k"}), args: words([]string{"t", ttl}), env: env}
		if got := script.template.fill(&p); got != want {
			t.Errorf("%s seconds: filled %v, want %v", ttl, got, want)
		}
	}
}

// templateCall is a call of a script.
type templateCall struct {
	keys, args []string
	env        *Env
	readOnly   bool
}

// templateEnvs are those of clients who may do everything, and less.
func templateEnvs() []*Env {
	usual, bounded, bridled := testEnv(), testEnv(), testEnv()
	bounded.MaxTTL, bounded.Reserved, bounded.DefaultTTL = 1_000_000, "~r:", 5000
	bridled.Forbids = func(args [][]byte) string {
		if strings.EqualFold(string(args[0]), "del") || len(args) > 1 && string(args[1]) == "other" {
			return "NOPERM no"
		}
		return ""
	}
	return []*Env{usual, bounded, bridled}
}

// difference tells what a plan by the template of a script has that one by runs
// has not.
func (c *templateCall) difference(s *Script) string {
	byRuns := &Script{sha: s.sha, main: s.main, refused: s.refused, readOnly: s.readOnly, text: s.text, machines: s.machines}
	keys, args := words(c.keys), words(c.args)
	var got, want Plan
	gotText, wantText := s.Plan(&got, keys, args, 3, c.readOnly, c.env), byRuns.Plan(&want, keys, args, 3, c.readOnly, c.env)
	want.script = s
	if gotText != wantText || !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%q %+v\nwant %q %+v", gotText, got, wantText, want)
	}
	if gotText != "" {
		return ""
	}
	states := []redlock.State{{}, {Kind: redlock.WrongType, TTL: 5000}}
	for _, value := range append(append([]string{"something else", ""}, c.keys...), c.args...) {
		states = append(states, redlock.State{Kind: redlock.Text, Value: []byte(value), TTL: 5000, Longest: 6000})
	}
	for i := range states {
		p, q := got, want
		if a, b := resolveAll(&p, states[i]), resolveAll(&q, states[i]); a != b {
			return fmt.Sprintf("on %+v: %s\nwant %s", states[i], a, b)
		}
	}
	return ""
}

// resolveAll is all that a plan says and asks for on a state.
func resolveAll(p *Plan, state redlock.State) string {
	var said strings.Builder
	if p.NoKey {
		reply, _ := p.Resolve(nil, 2, nil, nil)
		return string(reply)
	}
	for more := true; more; {
		out := redlock.Outcome{Case: p.Swap.Case(&state), State: state, Applied: true}
		if out.Case == redlock.CaseMine {
			out.State.Value = nil // the engine may leave it out
		}
		for range p.Swap.And {
			out.Parts = append(out.Parts, state)
		}
		var again redlock.Swap
		var reply []byte
		reply, more = p.Resolve(nil, 3, &out, &again)
		fmt.Fprintf(&said, "%q %s %v\n", reply, show(&p.Swap), p.published)
	}
	return said.String()
}

// templateCalls are calls with arguments of every kind, in every place.
func templateCalls() (calls []templateCall) {
	long := strings.Repeat("x", 2*bytesAStep)
	var inputs [][2][]string
	for _, v := range []string{
		"", "tok", "other", "k", "NX", "~r:", "~r:k", "\x00\r\n\xff", long, long[:bytesAStep], long[1:bytesAStep],
		"1", "30000", "0", "-1", "-0", "01", "+5", " 5", "5 ", "1.5", "1e3", "0x10", "inf", "nan", "5_0", "1000", "1001", "1000000", "1000001",
		"99999999999999", "100000000000000", "9007199254740993", "9223372036854775", "9223372036854776", "4611686018427387903", "4611686018427387904",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808",
	} {
		inputs = append(inputs, [2][]string{{"k"}, {v, "30000"}}, [2][]string{{"k"}, {"tok", v}}, [2][]string{{"k"}, {v, v}}, [2][]string{{v}, {"tok", "30000"}},
			[2][]string{{v, v, v}, {v, v, v}}, [2][]string{{"k", v, "tok"}, {v}})
	}
	for n := range 4 {
		inputs = append(inputs, [2][]string{words4("k")[:n], {"tok", "30000"}}, [2][]string{{"k"}, words4("500")[:n]})
	}
	for i, in := range inputs {
		for _, env := range templateEnvs() {
			calls = append(calls, templateCall{in[0], in[1], env, i%10 == 9})
		}
	}
	return calls
}

func words4(s string) []string { return []string{s, s + "2", s + "3", s + "4"} }

// A plan by a template is a plan by runs of the script to the last field, and
// answers alike. The calls are dealt out to the scripts where there are many.
func TestTemplatesAreWhatRunsOfTheScriptLeadTo(t *testing.T) {
	calls := templateCalls()
	scripts := NewScripts()
	templates, filled := 0, 0
	check := func(text string, n, of int) {
		script, err := scripts.Compile([]byte(text))
		if err != nil || script.template == nil {
			return
		}
		templates++
		for i := n % of; i < len(calls); i += of {
			c := &calls[i]
			if diff := c.difference(script); diff != "" {
				t.Errorf("%s\nwith %.80q %.80q: %.3000s", text, c.keys, c.args, diff)
				return
			}
			p := Plan{script: script, keys: words(c.keys), args: words(c.args), env: c.env, readOnly: c.readOnly}
			if script.template.fill(&p) {
				filled++
			}
		}
	}
	for i, text := range templateForms() {
		check(text, i, 1)
	}
	for i, c := range lockScripts() {
		check(c.text, i, 3)
	}
	for _, cases := range [][]scriptCase{spellings(), languageScripts(), commandScripts(), listScripts(), randomScripts(3000, 3000)} {
		for i, c := range cases {
			check(c.text, i, 199)
		}
	}
	for i, text := range plainScripts(3000, 2000) {
		check(text, i, 199)
	}
	t.Logf("%d templates, filled %d times", templates, filled)
	if templates < 1000 || filled < 7000 {
		t.Errorf("only %d templates, filled %d times", templates, filled)
	}
}

// FuzzTemplate: a plan by the template of any script, with any arguments, is
// that by runs of the script.
func FuzzTemplate(f *testing.F) {
	texts := append(append(templateForms(), inspectingScripts()...), plainScripts(7, 100)...)
	for i, c := range append(lockScripts(), spellings()...) {
		if i%5 == 0 {
			texts = append(texts, c.text)
		}
	}
	for i, text := range texts {
		f.Add(text, "k", "tok", "30000")
		f.Add(text, "~r:", "~r:", []string{"1000", "1001", "0", "-5", "1e3", "100000000000000", "9223372036854775807"}[i%7])
	}
	envs, scripts := templateEnvs(), NewScripts()
	f.Fuzz(func(t *testing.T, text, key, a, b string) {
		script, err := scripts.Compile([]byte(text))
		if err != nil || script.template == nil {
			return
		}
		for i := range 8 {
			c := templateCall{[]string{key, b, a}[:1+i/2%3], []string{a, b, key}[:2+i%2], envs[i%3], i == 7}
			if diff := c.difference(script); diff != "" {
				t.Errorf("%s\nwith %q %q: %s", text, c.keys, c.args, diff)
			}
		}
	})
}
