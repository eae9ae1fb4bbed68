package resp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// writer makes up scripts that a lock library might send on a bad day.
type writer struct {
	*rand.Rand
	locals int
}

func (w *writer) pick(from ...string) string { return from[w.IntN(len(from))] }

// value is an expression. The deeper, the simpler.
func (w *writer) value(depth int) string {
	if depth <= 0 {
		return w.pick(`ARGV[1]`, `ARGV[2]`, `"other"`, `"tok"`, `""`, `0`, `1`, `5000`, `nil`, `false`, `true`, w.local())
	}
	sub := func() string { return w.value(depth - 1) }
	switch w.IntN(16) {
	case 0, 1, 2:
		return `redis.call("get", KEYS[1])`
	case 3:
		return w.pick(`redis.call("pttl", KEYS[1])`, `redis.call("ttl", KEYS[1])`)
	case 4:
		return w.pick(`redis.call("exists", KEYS[1])`, `redis.call("strlen", KEYS[1])`, `redis.pcall("get", KEYS[1])`)
	case 5:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("==", "~=", "and", "or"), sub())
	case 6:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("<", ">=", "+", "-", ".."), sub())
	case 7:
		return fmt.Sprintf("(not %s)", sub())
	case 8:
		return fmt.Sprintf("%s(%s)", w.pick("tonumber", "type"), sub())
	case 13:
		return fmt.Sprintf("tostring(%s)", w.value(0))
	case 9:
		return fmt.Sprintf("{%s, %s}", sub(), sub())
	case 10:
		return fmt.Sprintf("string.sub(%s, 1, 3)", sub())
	case 11:
		return w.write(depth)
	case 12:
		return fmt.Sprintf("#%s", sub())
	}
	return w.value(0)
}

// write is a command that may change the key.
func (w *writer) write(depth int) string {
	v := w.pick("ARGV[1]", `"other"`, `"new"`, "ARGV[1]")
	switch w.IntN(7) {
	case 0:
		return `redis.call("del", KEYS[1])`
	case 1:
		return fmt.Sprintf(`redis.call("pexpire", KEYS[1], %s)`, w.pick("ARGV[2]", "0", "60000", w.value(depth-1)))
	case 2:
		return fmt.Sprintf(`redis.call("set", KEYS[1], %s, "PX", ARGV[2]%s)`, v, w.pick("", `, "NX"`, `, "XX"`, `, "GET"`))
	case 3:
		return fmt.Sprintf(`redis.call("set", KEYS[1], %s%s)`, v, w.pick("", `, "NX"`, `, "KEEPTTL"`, `, "EX", 20`))
	case 4:
		return fmt.Sprintf(`redis.call("setnx", KEYS[1], %s)`, v)
	case 5:
		return w.pick(`redis.call("persist", KEYS[1])`, `redis.call("getdel", KEYS[1])`)
	}
	return fmt.Sprintf(`redis.call("pexpire", KEYS[1], 50000, %s)`, w.pick(`"NX"`, `"XX"`, `"GT"`, `"LT"`))
}

func (w *writer) local() string {
	if w.locals == 0 {
		return "KEYS[1]"
	}
	return fmt.Sprintf("v%d", w.IntN(w.locals))
}

func (w *writer) block(depth, length int) string {
	var b strings.Builder
	before := w.locals
	for range 1 + w.IntN(length) {
		b.WriteString(w.statement(depth))
		b.WriteByte('\n')
	}
	w.locals = before
	return b.String()
}

func (w *writer) statement(depth int) string {
	if depth > 0 {
		switch w.IntN(6) {
		case 0, 1:
			return fmt.Sprintf("if %s then\n%selse\n%send", w.value(2), w.block(depth-1, 2), w.block(depth-1, 2))
		case 2:
			return fmt.Sprintf("for i = 1, 2 do\n%send", w.block(depth-1, 2))
		}
	}
	switch w.IntN(5) {
	case 0, 1:
		s := fmt.Sprintf("local v%d = %s", w.locals, w.value(2))
		w.locals++
		return s
	case 2:
		return w.write(2)
	case 3:
		return fmt.Sprintf("if %s then return %s end", w.value(2), w.value(1))
	}
	return fmt.Sprintf("do return %s end", w.value(2))
}

func randomScripts(seed uint64, n int) []scriptCase {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0))}
	var texts []string
	for range n {
		w.locals = 0
		texts = append(texts, w.block(2, 4))
	}
	return scripts(texts...)
}

func TestRandomScriptsAreLikeRealRedis(t *testing.T) {
	conn := dialRealRedis(t, startRedis(t), 2)
	failed := 0
	for seed := range uint64(20) {
		failed += compareScripts(t, conn, 2, randomScripts(seed, 100))
	}
	t.Logf("2000 scripts on %d states, %d differ", len(scriptStates), failed)
}

// What a table makes of a state must be what the script makes of it when it is
// run on that state itself: whatever a run with an unknown value concludes must
// hold for every value.
func checkTable(t *testing.T, e *Env, s *Script, keys, args []string) {
	t.Helper()
	for _, start := range []redlock.State{
		{},
		{Kind: redlock.Text, Value: []byte("tok"), TTL: 100_000},
		{Kind: redlock.Text, Value: []byte("other"), TTL: 100_000},
		{Kind: redlock.Text, Value: []byte("7"), TTL: 1},
		{Kind: redlock.Text, Value: []byte{}, TTL: redlock.NoTTL},
		{Kind: redlock.WrongType, TTL: 100_000},
	} {
		var p Plan
		errText := s.Plan(&p, words(keys), words(args), 0, false, e)
		if errText != "" || p.NoKey {
			return
		}
		m := p.machine()
		v, err := p.run(m, start, true)
		if len(p.Swap.And) > 0 || m.model.nmore > 0 {
			p.done(m)
			checkSeveral(t, s, &p, start)
			continue
		}
		want := string(m.appendResult(nil, 2, s, &v, err))
		var effect redlock.Leaf
		if err == nil || err == errLua {
			effect, err = p.effect(m)
		}
		p.done(m)
		if err != nil && err != errLua {
			continue // refused in this state only
		}
		out := redlock.Outcome{Case: p.Swap.Case(&start), State: start}
		var again redlock.Swap
		got, more := p.Resolve(nil, 2, &out, &again)
		leaf := *p.Swap.Leaf(out.Case)
		if more {
			out.Case = again.Case(&start)
			leaf = *again.Leaf(out.Case)
			got, more = p.Resolve(nil, 2, &out, nil)
		} else if leaf.Effect == redlock.Learn {
			leaf = redlock.Leaf{}
		}
		if more || string(got) != want || !sameLeaf(&start, leaf, effect) {
			t.Errorf("%s\non %+v:\n got %q %+v (again %v)\nwant %q %+v", s.text, start, got, leaf, more, want, effect)
		}
	}
}

// Builtins that look at an argument which is not known, each in a script that does
// something else where it is.
func TestABuiltinThatNeedsTheKeysContentWaitsForIt(t *testing.T) {
	e := testEnv()
	for _, text := range []string{
		`redis.set_repl(redis.call('get', KEYS[1]) or 2) return redis.call('del', KEYS[1])`,
		`redis.log(redis.call('get', KEYS[1]) or 1, 'x') return redis.call('del', KEYS[1])`,
		`redis.setresp(redis.call('get', KEYS[1]) or 2) return redis.call('del', KEYS[1])`,
		`local _, text = pcall(error, {err = redis.call('get', KEYS[1])}) if type(text) == 'string' then return redis.call('del', KEYS[1]) end return 5`,
	} {
		s, err := e.Scripts.Compile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, e, s, []string{"k"}, nil)
	}
}

// sameLeaf says that two leaves do the same to a state.
func sameLeaf(st *redlock.State, a, b redlock.Leaf) bool {
	return resulting(st, a) == resulting(st, b)
}

func resulting(st *redlock.State, l redlock.Leaf) string {
	switch {
	case l.Effect == redlock.Delete || l.Effect == redlock.Keep && st.Kind == redlock.Absent:
		return "absent"
	case l.Effect == redlock.Keep:
		return fmt.Sprintf("%d %q %d", st.Kind, st.Value, st.TTL)
	case l.Effect == redlock.Expire:
		return fmt.Sprintf("%d %q %d", st.Kind, st.Value, l.TTL)
	}
	ttl := l.TTL
	if ttl == redlock.KeepTTL {
		if ttl = st.TTL; ttl == redlock.NoTTL {
			ttl = testDefaultTTL
		}
	}
	return fmt.Sprintf("%d %q %d", redlock.Text, l.Value, ttl)
}

func TestTablesAgreeWithRunsOnTheStateItself(t *testing.T) {
	e := testEnv()
	all := append(randomScripts(1000, 3000), lockScripts()...)
	all = append(all, spellings()...)
	all = append(all, commandScripts()...)
	all = append(all, listScripts()...)
	all = append(all, randomListScripts(1000, 1000)...)
	for _, c := range all {
		s, err := e.Scripts.Compile([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		checkTable(t, e, s, c.keys, c.args)
	}
}

// FuzzScript: whatever a client sends as a script, nothing panics, it ends
// soon, and tables agree with runs on the state itself.
func FuzzScript(f *testing.F) {
	for _, cases := range [][]scriptCase{lockScripts(), languageScripts(), commandScripts(), spellings()[:40], randomScripts(7, 50), listScripts(), randomListScripts(7, 50)} {
		for _, c := range cases {
			f.Add(c.text, "tok", "30000")
		}
	}
	for _, text := range []string{"while 1 do end", "local t={1} for i=1,40 do t={t,t} end return t", "return ((((", "return {{{{{", strings.Repeat("{", 9000), strings.Repeat("a.", 8000)} {
		f.Add(text, "", "\x00")
	}
	e := testEnv()
	f.Fuzz(func(t *testing.T, text, a, b string) {
		begin := time.Now()
		s, err := e.Scripts.Compile([]byte(text))
		if err != nil {
			return
		}
		checkTable(t, e, s, []string{"k", "l"}, []string{a, b})
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("takes %v", took)
		}
	})
}
