package resp

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// Scripts that wake up waiters through the list KEYS[2], "sig", in words of our
// own. ARGV are the token and the TTL.
const (
	signalRelease = `if redis.call('get', KEYS[1]) == ARGV[1] then
		redis.call('del', KEYS[2]) redis.call('rpush', KEYS[2], 'go') redis.call('pexpire', KEYS[2], 900)
		return redis.call('del', KEYS[1])
	end return 0`
	signalReset = `redis.call('unlink', KEYS[2]) redis.call('lpush', KEYS[2], 1, 2) redis.call('expire', KEYS[2], 1) return redis.call('del', KEYS[1])`
)

// listScripts are such scripts, and what else may be done to a list.
func listScripts() (cases []scriptCase) {
	for _, text := range []string{
		signalRelease, signalReset,
		// the lock first
		`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end redis.call('del', KEYS[1]) redis.call('del', KEYS[2]) redis.call('lpush', KEYS[2], 1) redis.call('pexpire', KEYS[2], ARGV[2]) return 0`,
		// no DEL, no expiry
		`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('lpush', KEYS[2], 1) return redis.call('del', KEYS[1]) end return 0`,
		// the expiry first, conditions on it
		`redis.call('pexpire', KEYS[2], 500) redis.call('rpush', KEYS[2], 'x') redis.call('expire', KEYS[2], 5, 'NX') redis.call('expireat', KEYS[2], 1, 'XX') return redis.call('del', KEYS[1])`,
		// both in one DEL
		`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[2], KEYS[1]) redis.call('lpush', KEYS[2], 1) return 'freed' end`,
		// what does not depend on what was there before
		`if redis.call('get', KEYS[1]) ~= ARGV[1] then return false end redis.call('del', KEYS[2])
		 return {redis.call('pexpire', KEYS[2], 5), redis.call('lpush', KEYS[2], 'a', 'b'), redis.call('rpush', KEYS[2], 'c'), redis.call('pexpire', KEYS[2], 5000),
		   redis.call('del', KEYS[2], KEYS[1]), redis.call('del', KEYS[2]), redis.call('lpush', KEYS[2], 'd')}`,
		`redis.call('lpush', KEYS[2], 'x') local n = redis.call('pexpire', KEYS[2], 100) if n == 1 then return redis.call('del', KEYS[1]) end return n`,
		`redis.call('lpush', KEYS[2], 'x') local n = redis.call('expire', KEYS[2], 0) return {n, redis.call('rpush', KEYS[2], 'y'), redis.call('exists', KEYS[1])}`,
		`redis.call('expire', KEYS[2], -1) return {redis.call('rpush', KEYS[2], 'y'), redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])}`,
		// it is a number, whatever list there was
		`local n = redis.call('lpush', KEYS[2], 'x') if n then redis.call('pexpire', KEYS[1], ARGV[2]) end return {type(n), n == 'x', n == nil}`,
		`assert(redis.call('lpush', KEYS[2], 'x')) local t = {redis.call('del', KEYS[2])} return redis.call('del', KEYS[1]) + #t`,
		// pushed to in one branch, deleted in another
		`redis.call('del', KEYS[2]) if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('lpush', KEYS[2], 1) return redis.call('del', KEYS[1]) end return 0`,
		`if redis.call('exists', KEYS[1]) == 0 then redis.call('del', KEYS[2]) return 0 end redis.call('lpush', KEYS[2], 1) return redis.call('del', KEYS[1])`,
		// what it needs to know is in the lock
		`local v = redis.call('get', KEYS[1]) if v and string.sub(v, 1, 3) == ARGV[1] then redis.call('del', KEYS[2]) redis.call('lpush', KEYS[2], v) return redis.call('del', KEYS[1]) end return v`,
		`redis.call('del', KEYS[2]) local v = redis.call('get', KEYS[1]) if v and #v == 3 then redis.call('lpush', KEYS[2], v) return redis.call('del', KEYS[1]) end return v`,
		`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 elseif redis.call('ttl', KEYS[1]) < 0 then return 2 end redis.call('lpush', KEYS[2], 1) return redis.call('expire', KEYS[1], 50)`,
		// errors
		`redis.call('del', KEYS[2]) redis.call('lpush', KEYS[2])`,
		`redis.call('lpush', KEYS[2], 1) redis.call('del', KEYS[1]) redis.call('pexpire', KEYS[2], 'soon')`,
		`local e = redis.pcall('pexpire', KEYS[2], 'soon') redis.call('lpush', KEYS[2], 1) return {e, redis.call('del', KEYS[1])}`,
		`local ok = pcall(function() redis.call('lpush', KEYS[2], 1) error('x') end) if not ok then return redis.call('del', KEYS[1]) end`,
		// a second lock, and lists by other names
		`if redis.call('get', KEYS[1]) == ARGV[1] and redis.call('get', 'second') == '2' then redis.call('lpush', KEYS[2], 1) return redis.call('del', KEYS[1], 'second') end return 0`,
		`for i = 1, 5 do redis.call('del', KEYS[2] .. i) redis.call('lpush', KEYS[2] .. i, i) redis.call('expire', KEYS[2] .. i, 1) end return redis.call('del', KEYS[1])`,
	} {
		cases = append(cases, scriptCase{letExpire(text), []string{"k", "sig"}, []string{"tok", "30000"}})
	}
	return cases
}

// letExpire is a script that in the end gives the list an expiry.
func letExpire(text string) string {
	return "local r = (function()\n" + text + "\nend)() redis.call('pexpire', KEYS[2], 60000) return r"
}

// listSetups are what the list may be before the script.
var listSetups = [][][]string{
	{{"DEL", "sig"}},
	{{"DEL", "sig"}, {"RPUSH", "sig", "a", "b", "c"}, {"PEXPIRE", "sig", "90000"}},
	{{"DEL", "sig"}, {"RPUSH", "sig", "a"}},
}

// compareLists runs scripts on every state of lock and list. Whatever the list
// was, the reply and the lock must be as in Redis, or the script is refused.
func compareLists(t *testing.T, conn *realRedis, proto int, cases []scriptCase) (refused int) {
	t.Helper()
	for i := range cases {
		for _, start := range scriptStates {
			for _, list := range listSetups {
				setup := append(start.setup(), list...)
				replies := conn.do(append(setup, cases[i].command(), []string{"TYPE", "k"}, []string{"PTTL", "k"}, []string{"GET", "k"}))
				c := comparison{start: start, args: cases[i].command(), proto: proto, real: realResult(replies[len(setup):])}
				c.ours = c.run(t)
				switch {
				case strings.HasPrefix(c.ours.reply, "-ERR redlock-proxy: this script "):
					refused++
				case !sameScriptReply(c.ours.reply, c.real.reply) || !sameAfterScript(&c):
					t.Errorf("RESP%d on %s, list after %q: %s\nreal %+v\nours %+v", proto, start.name, list, cases[i].text, c.real, c.ours)
				}
			}
		}
	}
	return refused
}

func TestScriptsThatPushAreLikeRealRedis(t *testing.T) {
	addr := startRedis(t)
	for _, proto := range []int{2, 3} {
		n := compareLists(t, dialRealRedis(t, addr, proto), proto, listScripts())
		// Of two locks one of which is a list no swap can expect both, and one
		// script fails before it has given its list an expiry.
		if n > (2+len(scriptStates))*len(listSetups) {
			t.Errorf("RESP%d: %d refused", proto, n)
		}
	}
}

// randomListScripts push to the list, first or last, and use it in every way,
// allowed or not.
func randomListScripts(seed uint64, n int) (cases []scriptCase) {
	const push = "redis.call('lpush', KEYS[2], 1)\n"
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
	for range n {
		body := ""
		for range 2 + w.IntN(4) {
			body += w.listStatement() + "\n"
		}
		if w.IntN(2) == 0 {
			body = push + body
		} else { // and never return before: a key that nobody pushes to is a lock
			body = strings.ReplaceAll(body, "return ", "local n = ") + push
		}
		body += "return " + w.pick("0", w.listLock(), w.list())
		cases = append(cases, scriptCase{letExpire(body), []string{"k", "sig"}, []string{"tok", "30000"}})
	}
	return cases
}

func (w *writer) list() string {
	return w.pick(`redis.call('del', KEYS[2])`, `redis.call('del', KEYS[2], KEYS[1])`, `redis.call('lpush', KEYS[2], 1)`, `redis.call('rpush', KEYS[2], ARGV[1], 'x')`,
		`redis.call('pexpire', KEYS[2], 7000)`, `redis.call('expire', KEYS[2], 0)`, `redis.call('expire', KEYS[2], 9, 'GT')`, `redis.call('exists', KEYS[2])`)
}

func (w *writer) listLock() string {
	return w.pick(`redis.call('del', KEYS[1])`, `redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])`, `redis.call('set', KEYS[1], 'new', 'NX', 'EX', 9)`,
		`redis.call('setnx', KEYS[1], 'other')`, `redis.call('pexpire', KEYS[1], 60000)`, `redis.call('get', KEYS[1])`, `redis.call('getdel', KEYS[1])`)
}

func (w *writer) listStatement() string {
	switch w.IntN(6) {
	case 0:
		return fmt.Sprintf("if %s == %s then return %s end", w.listLock(), w.pick("ARGV[1]", "1", "'tok:more'"), w.list())
	case 1:
		return "local n = " + w.list()
	case 2:
		return fmt.Sprintf("if redis.call('get', KEYS[1]) == ARGV[1] then %s %s end", w.list(), w.pick(w.list(), w.listLock()))
	case 3:
		return fmt.Sprintf("if %s == %s then %s end", w.list(), w.pick("0", "1", "2"), w.listLock())
	case 4:
		return w.listLock()
	}
	return w.list()
}

func TestRandomScriptsThatPushAreLikeRealRedis(t *testing.T) {
	conn := dialRealRedis(t, startRedis(t), 2)
	cases := randomListScripts(1, 600)
	refused := compareLists(t, conn, 2, cases)
	all := len(cases) * len(scriptStates) * len(listSetups)
	t.Logf("%d runs, %d refused", all, refused)
	if refused > all*3/4 {
		t.Error("nearly all are refused")
	}
}

func TestListsThatAreOnlyWrittenTakeNoPartInTheSwap(t *testing.T) {
	e := testEnv()
	for _, tt := range []struct {
		name, text, want string
		kind             Kind
	}{
		{"release", signalRelease, "k tok: absent keep, mine delete, other keep, wrong keep", KindRelease},
		{"reset", signalReset, "k -: absent keep, mine keep, other delete, wrong delete", KindDelete},
		{"deleted first", `redis.call('del', KEYS[2]) if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('lpush', KEYS[2], 1) redis.call('expire', KEYS[2], 5) redis.call('del', KEYS[1]) end`,
			"k tok: absent keep, mine delete, other keep, wrong keep", KindRelease},
		{"pushed to by the last case only", `if redis.call('exists', KEYS[1]) == 0 then redis.call('del', KEYS[2]) return end
			if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('lpush', KEYS[2], 1) redis.call('expire', KEYS[2], 5) redis.call('pexpire', KEYS[1], ARGV[2]) end`,
			"k tok: absent keep, mine expire 30000, other keep, wrong keep", KindExtend},
	} {
		var l Lock
		if errText := e.Recognise(&l, words([]string{"EVAL", tt.text, "2", "k", "sig", "tok", "30000"}), 0); errText != "" {
			t.Errorf("%s: %s", tt.name, errText)
			continue
		}
		if got := show(&l.Swaps[0]); got != tt.want || l.Kind != tt.kind || l.MayLearn || len(l.Swaps[0].And) > 0 {
			t.Errorf("%s: %s, may learn %v, %d more keys\n got %s\nwant %s", tt.name, l.Kind, l.MayLearn, len(l.Swaps[0].And), got, tt.want)
		}
	}
}

func TestListsAreRefusedWhereOneCouldTell(t *testing.T) {
	const reply = " returns for a list, which depends on what that held; lists are not kept here, and who waits for one has to poll for the lock; the proxy runs"
	const other = `pushes to "sig" and does more with it than to delete it and to give it an expiry; lists are not kept here`
	e := testEnv()
	e.Reserved = "redlock:"
	for _, tt := range []struct{ text, want string }{
		// as a string
		{`redis.call('lpush', 'sig', 1) return redis.call('get', 'sig')`, other},
		{`redis.call('get', 'sig') redis.call('lpush', 'sig', 1)`, other},
		{`redis.call('set', 'sig', 'x', 'PX', 5) redis.call('rpush', 'sig', 1)`, other},
		{`if redis.call('exists', 'k', 'sig') == 0 then redis.call('lpush', 'sig', 1) end`, other},
		{`redis.call('lpush', 'sig', 1) redis.call('ttl', 'sig')`, other},
		{`redis.call('lpush', 'sig', 1) redis.pcall('type', 'sig')`, other},
		{`redis.call('lpush', 'sig', 1) redis.call('persist', 'sig')`, other},
		{`redis.call('lpush', 'sig', 1) redis.call('mget', 'k', 'sig')`, other},
		{`if redis.call('get', 'k') == 'tok' then redis.call('lpush', 'sig', 1) else redis.call('get', 'sig') end`, other},
		{`redis.call('lpush', KEYS[1], 1) return redis.call('del', KEYS[1]) .. redis.call('get', KEYS[1])`, `pushes to "k" and does more`},
		// replies that depend on what was there
		{`redis.call('del', 'k') return redis.call('lpush', 'sig', 1)`, "uses what LPUSH" + reply},
		{`redis.call('del', 'k') return {redis.call('rpush', 'sig', 1)}`, "uses what RPUSH" + reply},
		{`local n = redis.call('unlink', 'sig', 'k') redis.call('lpush', 'sig', 1) return n`, "uses what UNLINK" + reply},
		{`if redis.call('del', 'sig') == 1 then redis.call('del', 'k') end redis.call('lpush', 'sig', 1)`, "uses what DEL" + reply},
		{`if redis.call('get', 'k') == 'tok' then redis.call('del', 'k') return redis.call('lpush', 'sig', 1) end`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') local n = redis.call('pexpire', 'sig', 5) redis.call('lpush', 'sig', 1) return n + 1`, "uses what PEXPIRE" + reply},
		{`redis.call('get', 'k') local n = redis.call('lpush', 'sig', 1) return tostring(n)`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') local n = redis.call('lpush', 'sig', 1) for i = 1, n do end`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') local n = redis.call('lpush', 'sig', 1) if n > 1 then return 1 end`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') local n = redis.call('lpush', 'sig', 1) redis.call('set', 'k', n, 'PX', 5)`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') local n = redis.call('lpush', 'sig', 1) local t = {} t[n] = 1`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') redis.call('lpush', 'sig', 1) error(redis.call('lpush', 'sig', 1))`, "uses what LPUSH" + reply},
		{`redis.call('get', 'k') redis.call('del', 'sig') redis.call('lpush', 'sig', 1) return redis.call('pexpire', 'sig', 5, 'GT')`, "uses what PEXPIRE" + reply},
		// other commands of lists
		{`redis.call('get', 'k') redis.call('lpush', 'sig', 1) redis.call('lpop', 'sig')`, "calls 'LPOP'"},
		{`redis.call('get', 'k') redis.call('blpop', 'sig', 0)`, "calls 'BLPOP'"},
		{`redis.call('get', 'k') redis.call('lrange', 'sig', 0, -1)`, "calls 'LRANGE'"},
		{`redis.call('get', 'k') redis.call('llen', 'sig')`, "calls 'LLEN'"},
		{`redis.call('get', 'k') redis.call('lpushx', 'sig', 1)`, "calls 'LPUSHX'"},
		{`for _, k in ipairs(redis.call('keys', 'lock:*')) do redis.call('lpush', k, 1) end`, "calls 'KEYS'"},
		// bounds
		{`redis.call('lpush', 'sig', 1)`, `pushes to "sig" and touches no lock; lists are not kept here`},
		{`redis.call('get', 'k') redis.call('lpush', 'redlock:x', 1)`, "touches a key that begins with 'redlock:'"},
		{`for i = 1, 8 do redis.call('lpush', 'sig' .. i, i) redis.call('expire', 'sig' .. i, 5) end return redis.call('del', 'k')`, ""},
		{`redis.call('lpush', 'sig', 1) return redis.call('del', 'k')`, `pushes to "sig" and gives it no expiry`},
		{`redis.call('lpush', 'sig', 1) redis.call('expire', 'sig', 5, 'XX') return redis.call('del', 'k')`, `pushes to "sig" and gives it no expiry`},
		{`redis.call('lpush', 'sig', 1) redis.call('expire', 'sig', 5) redis.call('lpush', 'sig', 2) return redis.call('del', 'k')`, ""},
		{`if redis.call('get', 'k') == 'tok' then redis.call('lpush', 'sig', 1) end`, `pushes to "sig" and gives it no expiry`},
		{`for i = 1, 9 do redis.call('lpush', 'sig' .. i, i) end return redis.call('del', 'k')`, "pushes to more than 8 lists"},
	} {
		var l Lock
		errText := e.Recognise(&l, words([]string{"EVAL", tt.text, "1", "k"}), 0)
		if tt.want == "" && errText == "" {
			continue
		}
		if want := "ERR redlock-proxy: this script " + tt.want; tt.want == "" || !strings.HasPrefix(errText, want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.text, errText, want)
		}
	}
}

func TestReadOnlyScriptsMayNotPush(t *testing.T) {
	m := free()
	got := m.run(t, testEnv(), 2, "EVAL_RO", `redis.call('get', 'k') redis.call('lpush', 'sig', 1)`, "0")
	if !strings.HasPrefix(got, "-ERR Write commands are not allowed from read-only scripts.") {
		t.Errorf("%q", got)
	}
}

func TestListsAreFoundWhenTheLockIsKnown(t *testing.T) {
	const byPrefix = `redis.call('del', KEYS[2]) local v = redis.call('get', KEYS[1])
		if v and string.sub(v, 1, 3) == ARGV[1] then redis.call('lpush', KEYS[2], 1) redis.call('expire', KEYS[2], 1) %s end return 0`
	for end, want := range map[string]string{
		`return redis.call('del', KEYS[1])`:                                   ":1\r\n",
		`redis.call('del', KEYS[1]) return redis.call('lpush', 'sig2', 1)`:    "-ERR redlock-proxy: this script uses what LPUSH returns for a list",
		`redis.call('del', KEYS[1]) redis.call('set', KEYS[2], 'x', 'PX', 5)`: `-ERR redlock-proxy: this script pushes to "sig" and does more`,
	} {
		m := held(redlock.Text, "tok:1", 500)
		got := m.run(t, testEnv(), 2, "EVAL", fmt.Sprintf(byPrefix, end), "2", "k", "sig", "tok")
		_, isHeld := m.keys["k"]
		if !strings.HasPrefix(got, want) || isHeld != (want[0] == '-') {
			t.Errorf("%s: %q, want %q; held %v", end, got, want, isHeld)
		}
	}
}

func TestListsInTransactions(t *testing.T) {
	e := testEnv()
	for _, name := range []string{"LPUSH", "rpush"} {
		if errText, known := e.QueueFault(words([]string{name, "sig", "1"})); known || errText != "" {
			t.Errorf("%s is queued: %q", name, errText)
		}
		if IsLock([]byte(name)) {
			t.Errorf("%s is a command for locks", name)
		}
	}
	eval := words([]string{"EVAL", signalRelease, "2", "k", "sig", "tok"})
	for _, tt := range []struct {
		watch string
		more  []string
		want  string
	}{
		{"k", []string{"EXISTS", "other"}, "*2\r\n:1\r\n:0\r\n"},
		{"", []string{"GET", "k"}, "*2\r\n:1\r\n$-1\r\n"},
		{"", []string{"GET", "sig"}, `-EXECABORT Transaction discarded because of: redlock-proxy: this transaction pushes to "sig" and does more with it`},
		{"", []string{"EXISTS", "k", "sig"}, `-EXECABORT Transaction discarded because of: redlock-proxy: this transaction pushes to "sig" and does more with it`},
		{"sig", []string{"EXISTS", "k"}, `-EXECABORT Transaction discarded because of: redlock-proxy: this transaction watches "sig" and pushes to it`},
	} {
		m := held(redlock.Text, "tok", 5000)
		var watched []Watched
		if tt.watch != "" {
			watched = watchAll(m, tt.watch)
		}
		got, _ := m.execQueue(t, e, 2, watched, [][][]byte{eval, words(tt.more)})
		if !strings.HasPrefix(got, tt.want) || len(m.keys) != strings.Count(tt.want[:1], "-") {
			t.Errorf("watching %q, then %q: %q, want %q; left %v", tt.watch, tt.more, got, tt.want, m.keys)
		}
	}
}

// TestListsCostBoundedTime: each list that is found begins the run again.
func TestListsCostBoundedTime(t *testing.T) {
	begin := time.Now()
	var l Lock
	text := `for i = 1, 8 do for j = 1, 2300 do end redis.call('lpush', 'sig' .. i, 1) redis.call('expire', 'sig' .. i, 1) end return redis.call('del', 'k')`
	if errText := testEnv().Recognise(&l, words([]string{"EVAL", text, strconv.Itoa(0)}), 0); errText != "" {
		t.Error(errText)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("takes %v", took)
	}
}
