package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// applySeveral is apply for a swap of several keys.
func (m *oneMaster) applySeveral(s *redlock.Swap) redlock.Outcome {
	states := []redlock.State{m.state(s.Key)}
	for i := range s.And {
		states = append(states, m.state(s.And[i].Key))
	}
	out := redlock.Outcome{Case: s.CaseOf(&states[0], states[1:]), State: states[0], Parts: states[1:]}
	switch out.Case {
	case redlock.CaseAbsent:
		out.Applied = m.change(string(s.Key), &s.Absent)
	case redlock.CaseMine:
		out.Applied = m.change(string(s.Key), &s.Mine)
	}
	for i := range s.And {
		p := &s.And[i]
		leaf := map[redlock.Case]*redlock.Leaf{redlock.CaseAbsent: &p.Absent, redlock.CaseMine: &p.Mine}[out.Case]
		if leaf != nil && m.change(string(p.Key), leaf) {
			out.Applied = true
		}
	}
	return out
}

// holding is a quorum of one that holds states at some keys.
func holding(states map[string]redlock.State) *oneMaster {
	m := free()
	for key, st := range states {
		if st.Kind == redlock.Absent {
			continue
		}
		held := heldKey{kind: st.Kind, value: string(st.Value)}
		if st.TTL != redlock.NoTTL {
			held.expiry = m.now() + st.TTL
		}
		m.keys[key] = held
	}
	return m
}

// checkSeveral compares the swaps of a script that touches several keys, all of
// them in one state, with a run on that state itself.
func checkSeveral(t *testing.T, s *Script, p *Plan, start redlock.State) {
	t.Helper()
	m := p.machine()
	v, err := p.run(m, start, true)
	want := string(m.appendResult(nil, 2, s, &v, err))
	effects := map[string]redlock.Leaf{}
	for i := range m.model.keys() {
		if k := m.model.at(i); err == nil || err == errLua {
			effects[string(k.key)], _, _ = k.effect(m)
		}
	}
	p.done(m)
	if err != nil && err != errLua {
		return // refused in this state only
	}
	states := map[string]redlock.State{}
	for key := range effects {
		states[key] = start
	}
	held := holding(states)
	got, asked := resolveOn(t, p, held)
	if strings.Contains(got, "does not hold a string") && start.Kind == redlock.WrongType {
		return
	}
	if asked { // it touches more keys than the table had: they are in the same state
		for i := range p.names {
			states[string(p.names[i])] = start
		}
	}
	if got != want {
		t.Errorf("%s\non %+v:\n got %q\nwant %q", s.text, start, got, want)
	}
	for key, leaf := range effects {
		now := held.state([]byte(key))
		if a, b := resulting(&now, redlock.Leaf{}), resulting(&start, leaf); a != b {
			t.Errorf("%s\non %+v: %q is then %s, want %s", s.text, start, key, a, b)
		}
	}
}

// resolveOn runs the swaps of a plan until there is a reply. more says that it
// took more than one.
func resolveOn(t *testing.T, p *Plan, held *oneMaster) (reply string, more bool) {
	t.Helper()
	swap := p.Swap
	for range 2 * maxRounds {
		out := held.apply(&swap)
		got, again := p.Resolve(nil, 2, &out, &swap)
		if !again {
			return string(got), more
		}
		more = true
	}
	t.Fatalf("%s: no reply", p.script.text)
	return "", more
}

// severalScripts are scripts over several keys, in words of our own: all the
// shapes that lock libraries have. KEYS are a and b, sometimes c; ARGV are the
// token and the TTL.
func severalScripts() []scriptCase {
	keys, args := []string{"a", "b"}, []string{"tok", "30000"}
	var cases []scriptCase
	for _, text := range []string{
		// all or nothing, by EXISTS
		`for i = 1, #KEYS do if redis.call('exists', KEYS[i]) == 1 then return 0 end end
		 for i = 1, #KEYS do redis.call('set', KEYS[i], ARGV[1], 'PX', ARGV[2]) end return #KEYS`,
		// all or nothing, by one EXISTS
		`if redis.call('exists', unpack(KEYS)) > 0 then return false end
		 for _, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2], 'NX') end return true`,
		// extend all or nothing
		`for i, key in ipairs(KEYS) do if redis.call('get', key) ~= ARGV[1] then return 0 end end
		 for i, key in ipairs(KEYS) do redis.call('pexpire', key, ARGV[2]) end return #KEYS`,
		// release those that are mine, and count
		`local n = 0 for i, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[1] then n = n + redis.call('del', key) end end return n`,
		// extend those that are mine, and count
		`local n = 0 for i, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[1] then n = n + redis.call('pexpire', key, ARGV[2]) end end return n`,
		// MSETNX with an expiry for each
		`local t = {} for i = 1, #KEYS do t[#t+1] = KEYS[i] t[#t+1] = ARGV[1] end
		 if redis.call('msetnx', unpack(t)) == 1 then for i = 1, #KEYS do redis.call('pexpire', KEYS[i], ARGV[2]) end return 1 end return 0`,
		`if redis.call('msetnx', KEYS[1], ARGV[1], KEYS[2], ARGV[1]) == 0 then return {err='TAKEN'} end return redis.call('expire', KEYS[1], 10) + redis.call('expire', KEYS[2], 20)`,
		// prefix compare, by GETRANGE
		`local function ours(k) return redis.call('getrange', k, 0, #ARGV[1] - 1) == ARGV[1] end
		 if ours(KEYS[1]) and ours(KEYS[2]) then return redis.call('del', KEYS[1], KEYS[2]) end return -1`,
		// acquire, or renew where all begin with the token
		`if redis.call('msetnx', KEYS[1], ARGV[1], KEYS[2], ARGV[1]) == 1 then
		   for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[2]) end return redis.status_reply('OK') end
		 for _, k in ipairs(KEYS) do local v = redis.call('get', k) if not v or string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return false end end
		 for _, k in ipairs(KEYS) do redis.call('set', k, ARGV[1], 'PX', ARGV[2]) end return redis.status_reply('OK')`,
		// one by one, with what came of each
		`local out = {} for i, key in ipairs(KEYS) do out[i] = redis.call('set', key, ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0 end return out`,
		`local out = {} for i, key in ipairs(KEYS) do local v = redis.call('get', key)
		   if v == ARGV[1] then out[i] = {key, redis.call('pexpire', key, ARGV[2])} else out[i] = {key, v, redis.call('pttl', key)} end end return out`,
		// queries
		`return redis.call('mget', KEYS[1], KEYS[2])`,
		`return redis.call('exists', KEYS[1], KEYS[2], KEYS[1])`,
		`local v = redis.call('mget', unpack(KEYS)) return v[1] == v[2]`,
		`return {redis.call('get', KEYS[2]), redis.call('ttl', KEYS[1])}`,
		// the same key twice
		`return redis.call('msetnx', KEYS[1], 'x', KEYS[1], 'y', KEYS[2], 'z')`,
		`return redis.call('del', KEYS[1], KEYS[2], KEYS[1])`,
		// whatever they hold
		`redis.call('mset', KEYS[1], ARGV[1], KEYS[2], 'z') return redis.call('pexpire', KEYS[2], ARGV[2])`,
		`return redis.call('unlink', KEYS[1], KEYS[2])`,
		// a second key that only counts if the first is mine
		`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) redis.call('set', KEYS[2], 'free', 'PX', 5000) return 1 end return 0`,
		`if redis.call('exists', KEYS[2]) == 1 then return redis.error_reply('BUSY writer waits') end return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
		// a lock moves from one key to the other
		`local v = redis.call('get', KEYS[1]) if not v or redis.call('exists', KEYS[2]) == 1 then return 0 end
		 redis.call('set', KEYS[2], v, 'PX', redis.call('pttl', KEYS[1]) > 0 and redis.call('pttl', KEYS[1]) or 1000) redis.call('del', KEYS[1]) return 1`,
		// different tokens
		`if redis.call('get', KEYS[1]) == ARGV[1] and redis.call('get', KEYS[2]) == 'other' then redis.call('pexpire', KEYS[1], 4444) return redis.call('del', KEYS[2]) end return 0`,
		// the second key is what the first holds
		`local k = redis.call('get', KEYS[1]) if k == 'other' then return redis.call('set', k, 'new', 'PX', 5000) end return {k, redis.call('exists', KEYS[2])}`,
		`local k = redis.call('get', KEYS[1]) if k then return redis.call('set', k, 'new', 'PX', 5000) end return 7`,
		// errors keep what was written before
		`redis.call('set', KEYS[1], ARGV[1], 'PX', 5000) redis.call('set', KEYS[2], ARGV[1], 'PX', 'x') return 1`,
		`local r = redis.pcall('get', KEYS[1]) if type(r) == 'table' then return r end redis.call('del', KEYS[2]) return r`,
		// additive extend
		`for _, k in ipairs(KEYS) do if redis.call('get', k) ~= ARGV[1] or redis.call('pttl', k) < 0 then return 0 end end
		 for _, k in ipairs(KEYS) do redis.call('pexpire', k, redis.call('pttl', k) + ARGV[2]) end return 1`,
	} {
		cases = append(cases, scriptCase{text, keys, args}, scriptCase{text, []string{"b", "b"}, args})
		if strings.Contains(text, "ipairs") {
			cases = append(cases, scriptCase{text, []string{"a", "c", "b"}, args})
		}
	}
	return cases
}

var severalStates = []startState{
	{name: "absent"},
	{"mine", redlock.Text, "tok", 100_000},
	{"other", redlock.Text, "other", 100_000},
	{"mine with something behind", redlock.Text, "tok:more", 100_000},
	{"mine without TTL", redlock.Text, "tok", redlock.NoTTL},
	{"list", redlock.WrongType, "", 100_000},
}

// TestScriptsOverSeveralKeysAreLikeRealRedis runs them in all mixed states.
func TestScriptsOverSeveralKeysAreLikeRealRedis(t *testing.T) {
	addr := startRedis(t)
	for _, proto := range []int{2, 3} {
		conn := dialRealRedis(t, addr, proto)
		e := testEnv()
		e.Wall, e.DefaultTTL = time.Now, diffDefaultTTL
		compared, refused := 0, 0
		for _, c := range severalScripts() {
			for _, first := range severalStates {
				for _, second := range severalStates {
					compared++
					if compareSeveral(t, conn, e, proto, c, first, second) {
						refused++
					}
				}
			}
		}
		t.Logf("RESP%d: %d comparisons, %d refused because of a key that is no string", proto, compared, refused)
	}
}

// compareSeveral runs a script with a key in either state. It reports whether
// it was refused for the reason we have.
func compareSeveral(t *testing.T, conn *realRedis, e *Env, proto int, c scriptCase, first, second startState) bool {
	t.Helper()
	var pipeline [][]string
	held := free()
	held.now = func() int64 { return time.Now().UnixMilli() }
	for key, st := range map[string]startState{"a": first, "b": second, "c": second} {
		for _, cmd := range st.setup() {
			if cmd[1] == "k" {
				cmd[1] = key
				pipeline = append(pipeline, cmd)
			}
		}
		if st.kind != redlock.Absent {
			k := heldKey{kind: st.kind, value: st.value}
			if st.ttl != redlock.NoTTL {
				k.expiry = held.now() + st.ttl
			}
			held.keys[key] = k
		}
	}
	watched := []string{"a", "b", "c", "other"}
	pipeline = append(pipeline, []string{"DEL", "other", "tok"}, c.command())
	n := len(pipeline)
	for _, key := range watched {
		pipeline = append(pipeline, []string{"TYPE", key}, []string{"PTTL", key}, []string{"GET", key})
	}
	replies := conn.do(pipeline)
	ours := held.run(t, e, proto, c.command()...)
	if strings.Contains(ours, "changes several keys, and") && (first.kind == redlock.WrongType || second.kind == redlock.WrongType) {
		return true
	}
	fail := func(format string, args ...any) {
		t.Errorf("RESP%d, first %s, second %s, keys %q: %s\n%s", proto, first.name, second.name, c.keys, c.text, fmt.Sprintf(format, args...))
	}
	if !sameScriptReply(ours, replies[n-1]) {
		fail("reply %q, want %q", ours, replies[n-1])
	}
	for i, key := range watched {
		at := n + 3*i
		want := realResult([]string{"", replies[at], replies[at+1], replies[at+2]})
		st := held.state([]byte(key))
		got := result{value: map[redlock.Kind]string{redlock.Absent: "(none)", redlock.WrongType: "(list)", redlock.Text: string(st.Value)}[st.Kind], ttl: st.TTL}
		if st.Kind == redlock.Absent {
			got.ttl = want.ttl
		}
		if got.value != want.value || !near(got.ttl, want.ttl) && !(want.ttl == redlock.NoTTL && near(got.ttl, diffDefaultTTL)) {
			fail("%q is then %+v, want %+v", key, got, want)
		}
	}
	return false
}

// TestTablesOfSeveralKeys: what needs no second look, and what it is for.
func TestTablesOfSeveralKeys(t *testing.T) {
	e := testEnv()
	for _, tt := range []struct {
		name, text, want string
		kind             Kind
	}{
		{"acquire", `if redis.call('exists', KEYS[1], KEYS[2]) > 0 then return 0 end
			for _, k in ipairs(KEYS) do redis.call('set', k, ARGV[1], 'PX', ARGV[2]) end return 2`,
			"a -: absent set tok 30000, mine learn, other learn, wrong learn; b -: absent set tok 30000, mine keep", KindAcquire},
		{"extend", `for _, k in ipairs(KEYS) do if redis.call('get', k) ~= ARGV[1] then return 0 end end
			for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[2]) end return 1`,
			"a tok: absent keep, mine expire 30000, other learn, wrong learn; b tok: absent keep, mine expire 30000", KindExtend},
		{"release", `local n = 0 for _, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[1] then n = n + redis.call('del', k) end end return n`,
			"a tok: absent keep, mine delete, other learn, wrong learn; b tok: absent keep, mine delete", KindRelease},
		{"acquire or renew, key by key", `for _, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[1] then redis.call('pexpire', k, ARGV[2])
			else redis.call('set', k, ARGV[1], 'NX', 'PX', ARGV[2]) end end`,
			"a tok: absent set tok 30000, mine expire 30000, other learn, wrong learn; b tok: absent set tok 30000, mine expire 30000", KindRenew},
		{"read", `return redis.call('mget', KEYS[1], KEYS[2])`,
			"a -: absent keep, mine learn, other learn, wrong learn; b -: absent keep, mine keep", KindScript},
	} {
		var l Lock
		if errText := e.Recognise(&l, words([]string{"EVAL", tt.text, "2", "a", "b", "tok", "30000"}), 0); errText != "" {
			t.Fatalf("%s: %s", tt.name, errText)
		}
		got := show(&l.Swaps[0])
		for i := range l.Swaps[0].And {
			p := &l.Swaps[0].And[i]
			one := redlock.Swap{Key: p.Key, Token: p.Token, HasToken: p.HasToken, Absent: p.Absent, Mine: p.Mine}
			got += "; " + strings.TrimSuffix(show(&one), ", other keep, wrong keep")
		}
		if got != tt.want || l.Kind != tt.kind || !l.MayLearn {
			t.Errorf("%s: %s, may learn %v\n got %s\nwant %s", tt.name, l.Kind, l.MayLearn, got, tt.want)
		}
	}
}

// TestSeveralKeysThatChangeInBetween: the second round finds another state, and
// the script is run again on that.
func TestSeveralKeysThatChangeInBetween(t *testing.T) {
	text := `local n = 0 for _, k in ipairs(KEYS) do if redis.call('get', k) == ARGV[1] then n = n + redis.call('del', k) end end return n`
	tok := redlock.State{Kind: redlock.Text, Value: []byte("tok"), TTL: 5000}
	m := holding(map[string]redlock.State{"a": tok, "c": tok})
	m.between = func(round int) {
		if round == 2 {
			m.keys["b"] = m.keys["a"]
			delete(m.keys, "c")
		}
	}
	if got := m.run(t, testEnv(), 2, "EVAL", text, "3", "a", "b", "c", "tok"); got != ":2\r\n" || len(m.keys) != 0 {
		t.Errorf("%q, left %v", got, m.keys)
	}
}

// TestAdditiveExtendNeverShortens: somebody else extended the lock between the
// look and the commit.
func TestAdditiveExtendNeverShortens(t *testing.T) {
	text := `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
		return redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[2])`
	m := holding(map[string]redlock.State{"a": {Kind: redlock.Text, Value: []byte("tok"), TTL: 5000}})
	m.between = func(round int) {
		if round == 2 {
			held := m.keys["a"]
			held.expiry = m.now() + 60_000
			m.keys["a"] = held
		}
	}
	if got := m.run(t, testEnv(), 2, "EVAL", text, "1", "a", "tok", "1000"); got != ":1\r\n" || m.ttl("a") != 61_000 {
		t.Errorf("%q, TTL %d, want 61000", got, m.ttl("a"))
	}
}

// TestWhatWasDoneTooLateIsNotDenied: a swap that changes what it expects finds
// its own traces when the engine tries it again.
func TestWhatWasDoneTooLateIsNotDenied(t *testing.T) {
	for _, text := range []string{
		`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], 'new', 'PX', 5000) end return 0`,
		`if redis.call('get', KEYS[1]) == ARGV[1] and redis.call('get', 'l') == ARGV[1] then return redis.call('set', 'l', 'new', 'PX', 5000) end return 0`,
	} {
		p := planOf(t, testEnv(), text, "tok")
		parts := make([]redlock.State, len(p.Swap.And))
		out := redlock.Outcome{Case: redlock.CaseMine, Applied: true, Parts: parts}
		if got, _ := p.Resolve(nil, 2, &out, nil); string(got) != "+OK\r\n" {
			t.Errorf("%s: %q", text, got)
		}
		out = redlock.Outcome{Case: redlock.CaseOther, Parts: parts, State: redlock.State{Kind: redlock.Text, Value: []byte("new"), TTL: 4900}}
		if got, _ := p.Resolve(nil, 2, &out, nil); !strings.HasPrefix(string(got), "-NOQUORUM too slow") {
			t.Errorf("%s: tried again: %q", text, got)
		}
	}
}

// TestKeysThatAScriptFindsOnItsWay are added to its swap.
func TestKeysThatAScriptFindsOnItsWay(t *testing.T) {
	text := `local k = KEYS[1] for i = 1, 5 do k = redis.call('get', k) if not k then return i end end redis.call('set', k, 'found', 'PX', 5000) return k`
	m := holding(map[string]redlock.State{})
	for _, link := range []string{"ab", "bc", "cd", "de", "ef"} {
		m.keys[link[:1]] = heldKey{kind: redlock.Text, value: link[1:]}
	}
	if got := m.run(t, testEnv(), 2, "EVAL", text, "1", "a"); got != "$1\r\nf\r\n" || m.value("f") != "found" {
		t.Errorf("%q, left %v", got, m.keys)
	}
}

// BenchmarkScriptOverSeveralKeys is an acquire of three keys, planned and
// answered.
func BenchmarkScriptOverSeveralKeys(b *testing.B) {
	e := testEnv()
	args := words([]string{"EVAL", `for i = 1, #KEYS do if redis.call('exists', KEYS[i]) == 1 then return 0 end end
		for i = 1, #KEYS do redis.call('set', KEYS[i], ARGV[1], 'PX', ARGV[2]) end return #KEYS`, "3", "a", "b", "c", "tok", "30000"})
	outs := []redlock.Outcome{{Case: redlock.CaseAbsent, Applied: true, Parts: make([]redlock.State, 2)}}
	var l Lock
	b.ReportAllocs()
	for b.Loop() {
		if errText := e.Recognise(&l, args, 0); errText != "" {
			b.Fatal(errText)
		}
		l.Reply(nil, 2, outs, nil)
	}
}
