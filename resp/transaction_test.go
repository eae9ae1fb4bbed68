package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// watchAll is WATCH of keys on m.
func watchAll(m *oneMaster, keys ...string) []Watched {
	var list []Watched
	for _, key := range keys {
		list = append(list, Watched{Key: []byte(key), State: m.state([]byte(key))})
	}
	return list
}

// exec runs a transaction on m, and returns the reply to EXEC and the number of
// rounds.
func (m *oneMaster) exec(t testing.TB, e *Env, proto int, watched []Watched, commands ...string) (string, int) {
	t.Helper()
	var queue [][][]byte
	for _, c := range commands {
		args := words(strings.Fields(c))
		if errText, known := e.QueueFault(args); errText != "" || !known {
			t.Fatalf("%s is not queued: %q, %v", c, errText, known)
		}
		queue = append(queue, args)
	}
	return m.execQueue(t, e, proto, watched, queue)
}

func (m *oneMaster) execQueue(t testing.TB, e *Env, proto int, watched []Watched, queue [][][]byte) (string, int) {
	t.Helper()
	var l Lock
	if errText := e.Transaction(&l, queue, watched, 0); errText != "" {
		return string(AppendError(nil, errText)), 0
	}
	if l.Kind != KindTransaction {
		t.Errorf("kind %v", l.Kind)
	}
	if len(l.Swaps) == 0 {
		reply, _ := l.Reply(nil, proto, nil, new(redlock.Swap))
		return string(reply), 0
	}
	m.round = 0
	for swap := l.Swaps[0]; ; {
		outs := []redlock.Outcome{m.apply(&swap)}
		reply, more := l.Reply(nil, proto, outs, &swap)
		if !more {
			return string(reply), m.round
		}
		if !l.MayLearn && m.round == 1 {
			t.Errorf("a second round, though it was not announced: %+v", swap)
		}
		if m.round > 2*maxRounds+2 {
			t.Fatal("no reply")
		}
	}
}

func TestTransactionTakesAsFewRoundsAsItCan(t *testing.T) {
	for _, test := range []struct {
		name     string
		key      heldKey
		watched  []string
		commands []string
		reply    string
		rounds   int
	}{
		{"acquire", heldKey{}, nil, []string{"SET k v NX PX 1000", "EXISTS other"}, "*2\r\n+OK\r\n:0\r\n", 1},
		{"nothing", heldKey{}, nil, nil, "*0\r\n", 0},
		{"no key", heldKey{}, nil, []string{"PING", "UNWATCH"}, "*2\r\n+PONG\r\n+OK\r\n", 0},
		{"set and expire", heldKey{}, nil, []string{"SETNX k v", "PEXPIRE k 1000"}, "*2\r\n:1\r\n:1\r\n", 1},
		{"release of what is watched", text("v"), []string{"k"}, []string{"DEL k"}, "*1\r\n:1\r\n", 1},
		{"extend of what is watched", text("v"), []string{"k"}, []string{"PEXPIRE k 1000"}, "*1\r\n:1\r\n", 1},
		{"read of what is watched", text("v"), []string{"k"}, []string{"GET k"}, "*1\r\n$1\r\nv\r\n", 1},
		{"watched only", text("v"), []string{"k", "other"}, nil, "*0\r\n", 1},
		{"set of what is watched and absent", heldKey{}, []string{"k"}, []string{"SET k v PX 1000"}, "*1\r\n+OK\r\n", 1},
		{"two keys, both watched", text("v"), []string{"k", "other"}, []string{"GET k", "SET other x PX 1000"}, "*2\r\n$1\r\nv\r\n+OK\r\n", 1},
		{"two keys, one watched", text("v"), []string{"k"}, []string{"DEL k", "SET other x PX 1000"}, "*2\r\n:1\r\n+OK\r\n", 2},
		{"TTL of what is watched", text("v"), []string{"k"}, []string{"PTTL k"}, "*1\r\n:5000\r\n", 2},
		{"value of what is not watched", text("v"), nil, []string{"GET k", "DEL k"}, "*2\r\n$1\r\nv\r\n:1\r\n", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := free()
			if test.key != (heldKey{}) {
				test.key.expiry = m.now() + 5000
				m.keys["k"] = test.key
			}
			reply, rounds := m.exec(t, testEnv(), 2, watchAll(m, test.watched...), test.commands...)
			if reply != test.reply || rounds != test.rounds {
				t.Errorf("%q after %d rounds, want %q after %d", reply, rounds, test.reply, test.rounds)
			}
		})
	}
}

func text(value string) heldKey { return heldKey{kind: redlock.Text, value: value} }

func TestTransactionIsRunOnlyOnWhatWasWatched(t *testing.T) {
	const watchedTTL = 5000
	later := func(m *oneMaster, value string, ttl int64) {
		m.keys["k"] = heldKey{redlock.Text, value, m.now() + ttl}
	}
	for _, test := range []struct {
		name   string
		absent bool // when watched
		change func(m *oneMaster)
		want   string
	}{
		{"unchanged", false, func(*oneMaster) {}, "*1\r\n:1\r\n"},
		{"unchanged and absent", true, func(*oneMaster) {}, "*1\r\n:0\r\n"},
		{"another value", false, func(m *oneMaster) { later(m, "w", watchedTTL) }, "*-1\r\n"},
		{"gone", false, func(m *oneMaster) { delete(m.keys, "k") }, "*-1\r\n"},
		{"created", true, func(m *oneMaster) { later(m, "v", watchedTTL) }, "*-1\r\n"},
		{"a list", false, func(m *oneMaster) { m.keys["k"] = heldKey{kind: redlock.WrongType} }, "*-1\r\n"},
		{"the same value with a longer TTL", false, func(m *oneMaster) { later(m, "v", watchedTTL+100) }, "*-1\r\n"},
		{"the same value without a TTL", false, func(m *oneMaster) { m.keys["k"] = text("v") }, "*-1\r\n"},
		{"the same value with a shorter TTL", false, func(m *oneMaster) { later(m, "v", watchedTTL/2) }, "*1\r\n:1\r\n"},
	} {
		for _, commands := range [][]string{{"DEL k"}, {"DEL k", "GET other"}, {"TTL k", "DEL k"}, {"DEL k", "DEL other"}} {
			t.Run(test.name+"/"+strings.Join(commands, ","), func(t *testing.T) {
				m := free()
				if !test.absent {
					later(m, "v", watchedTTL)
				}
				watched := watchAll(m, "k")
				test.change(m)
				before := m.value("k")
				got, _ := m.exec(t, testEnv(), 2, watched, commands...)
				if nilReply := got == "*-1\r\n"; nilReply != (test.want == "*-1\r\n") || len(commands) == 1 && got != test.want {
					t.Errorf("%q, want %q", got, test.want)
				}
				if _, left := m.keys["k"]; !left != (test.want != "*-1\r\n" || before == "" && test.name == "gone") || left && m.value("k") != before {
					t.Errorf("left %+v", m.keys["k"])
				}
			})
		}
	}
}

func TestTransactionLooksAgainWhereWhatIsNotWatchedChanges(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(m *oneMaster, round int)
		want   string
	}{
		{"the other key, once", func(m *oneMaster, round int) {
			if round == 2 {
				m.keys["other"] = text("new")
			}
		}, "*2\r\n$3\r\nnew\r\n:1\r\n"},
		{"the watched key", func(m *oneMaster, round int) { m.keys["k"] = text("w") }, "*-1\r\n"},
		{"the TTL of the watched key", func(m *oneMaster, round int) { m.keys["k"] = heldKey{redlock.Text, "v", m.now() + 90000} }, "*-1\r\n"},
		{"the other key, always", func(m *oneMaster, round int) { m.keys["other"] = text(fmt.Sprint(round)) }, "-" + tooManyRounds + "\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := free()
			m.keys["k"] = heldKey{redlock.Text, "v", m.now() + 5000}
			m.keys["other"] = text("old")
			m.between = func(round int) { test.change(m, round) }
			if got, _ := m.exec(t, testEnv(), 2, watchAll(m, "k"), "GET other", "DEL k"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestTTLOfWhatIsWatchedGoesOn(t *testing.T) {
	for _, test := range []struct {
		longest int64
		age     time.Duration
		want    int64
	}{
		{0, time.Hour, 0}, // no expiry
		{1000, 0, 1002},
		{1000, 100 * time.Millisecond, 912},
		{1000, 10 * time.Second, 1},
	} {
		w := Watched{State: redlock.State{Longest: test.longest}, Age: test.age}
		if got := w.ttlAtMost(); got != test.want {
			t.Errorf("%d after %v: %d, want %d", test.longest, test.age, got, test.want)
		}
	}
}

func TestTransactionsThatCannotBeRunSayWhy(t *testing.T) {
	e, long := testEnv(), strings.Repeat("x", 1<<20)
	e.Reserved, e.MaxTTL = "own:", 60_000
	for _, test := range []struct {
		name  string
		queue []string
		want  string
	}{
		{"long replies", []string{"ECHO " + long, "ECHO " + long, "ECHO " + long, "ECHO " + long, "ECHO " + long}, "returns more than 4 MiB"},
		{"many commands", strings.Split(strings.Repeat("PING,", maxSteps)+"PING", ","), "needs more than 1024 KiB of memory"},
		{"an endless script", []string{"PING", "EVAL while(1)do--[[]]end 0"}, "takes more than 20000 steps"},
		{"a script outside the model", []string{"EVAL redis.call('INCR','k') 0"}, "calls 'INCR'"},
		{"a long script", []string{"EVAL --" + long + " 0"}, "this script is longer than 16 KiB"},
		{"RESP3 in a script", []string{"EVAL redis.setresp(3) 0"}, "calls redis.setresp(3)"},
		{"the proxy's own keys", []string{"SET own:x v PX 1"}, "own:"},
		{"a long TTL", []string{"SET k v PX 60001"}, "--max-ttl"},
		{"a script in another database", []string{"GET k", "EVAL redis.call('SELECT',1);redis.call('GET','k') 0"}, "more than one database"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := free()
			got, _ := m.exec(t, e, 2, nil, test.queue...)
			ok := strings.HasPrefix(got, "-EXECABORT Transaction discarded because of: ") || test.name == "a long TTL"
			if !ok || !strings.Contains(got, test.want) || len(m.keys) > 0 {
				t.Errorf("%.200q, stored %v; want it to say %q", got, m.keys, test.want)
			}
		})
	}
	watched := []Watched{{DB: 1, Key: []byte("k")}}
	var l Lock
	if got := e.Transaction(&l, nil, watched, 0); !strings.Contains(got, "watches a key in database 1 and runs in 0") {
		t.Errorf("another database: %q", got)
	}
}

func TestWhatCannotBeQueued(t *testing.T) {
	e := testEnv()
	for _, test := range []struct {
		command, errText string
		known            bool
	}{
		{"GET k", "", true},
		{"evalsha x 0", "", true},
		{"UNWATCH", "", true},
		{"MSETNX a b", "", true},
		{"GET", "ERR wrong number of arguments for 'get' command", true},
		{"Eval x", "ERR wrong number of arguments for 'eval' command", true},
		{"MSET a", "ERR wrong number of arguments for 'mset' command", true},
		{"SELECT 1", "", false},
		{"HSET k f v", "", false},
		{"NONSENSE", "", false},
		{strings.Repeat("x", 1000), "", false},
	} {
		if errText, known := e.QueueFault(words(strings.Fields(test.command))); errText != test.errText || known != test.known {
			t.Errorf("%.20s: %q, %v; want %q, %v", test.command, errText, known, test.errText, test.known)
		}
	}
}

// randomTransaction is one conversation: two keys in some state, some of them
// watched, something that somebody else does, and a transaction.
type randomTransaction struct {
	setup, watch, interference []string
	queue                      []string
}

func newRandomTransaction(r *rand.Rand) randomTransaction {
	keys := []string{"a", "b"}
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var x randomTransaction
	for _, key := range keys {
		if r.IntN(3) > 0 {
			x.setup = append(x.setup, "SET "+key+" "+pick("v", "w")+" PX 100000")
		}
		if r.IntN(2) > 0 {
			x.watch = append(x.watch, key)
		}
	}
	if r.IntN(2) > 0 {
		x.interference = append(x.interference, fmt.Sprintf(pick("SET %s other PX 100000", "DEL %s", "PEXPIRE %s 300000", "GET %s"), pick(keys...)))
	}
	for range r.IntN(6) {
		x.queue = append(x.queue, strings.ReplaceAll(pick("GET @", "SET @ v PX 100000", "SET @ w NX PX 100000", "SET @ x XX PX 100000 GET", "SET @ y KEEPTTL XX",
			"DEL @", "UNLINK @", "DEL a b", "MGET a b", "EXPIRE @ 200", "PEXPIRE @ 200000", "EXPIRE @ 150 GT", "EXPIRE @ 0", "TTL @", "EXISTS a b @", "GETDEL @", "GETEX @ EX 400",
			"STRLEN @", "TYPE @", "GETRANGE @ 0 0", "PING", "ECHO x", "SET @ v PX x", "EXPIRE @ 1 2", "UNWATCH",
			"EVAL if(redis.call('get',KEYS[1])==ARGV[1])then--[[]]return(redis.call('del',KEYS[1]))else--[[]]return(0)end 1 @ v",
			"EVAL return({redis.call('exists',KEYS[1]),redis.call('pttl',KEYS[2])>0}) 2 a b"), "@", pick(keys...)))
	}
	return x
}

func TestRandomTransactionsAreLikeRealRedis(t *testing.T) {
	const runs = 1500
	conn := dialRealRedis(t, startRedis(t), 2)
	other := dialRealRedis(t, conn.conn.RemoteAddr().String(), 2)
	r := rand.New(rand.NewPCG(1, 2))
	failed, executed := 0, 0
	for range runs {
		x := newRandomTransaction(r)
		want := x.onRedis(conn, other)
		got := x.onModel(t)
		if !strings.HasPrefix(want, "*-1") {
			executed++
		}
		if got != want {
			if failed++; failed <= 5 {
				t.Errorf("%+v\nredis %q\nproxy %q", x, want, got)
			}
		}
	}
	t.Logf("%d of %d were executed, %d differ", executed, runs, failed)
}

// onRedis returns the reply to EXEC and what is stored then.
func (x *randomTransaction) onRedis(conn, other *realRedis) string {
	conn.do(fieldsOf(append([]string{"DEL a b"}, x.setup...)))
	if len(x.watch) > 0 {
		conn.do(fieldsOf([]string{"WATCH " + strings.Join(x.watch, " ")}))
	}
	other.do(fieldsOf(x.interference))
	replies := conn.do(fieldsOf(append(append([]string{"MULTI"}, x.queue...), "EXEC", "MGET a b", "TTL a", "TTL b")))
	return strings.Join(replies[len(x.queue)+1:], "")
}

func (x *randomTransaction) onModel(t *testing.T) string {
	e, m := testEnv(), free()
	run := func(line string) string { return m.run(t, e, 2, strings.Fields(line)...) }
	for _, line := range x.setup {
		run(line)
	}
	watched := watchAll(m, x.watch...)
	for _, line := range x.interference {
		run(line)
	}
	reply, _ := m.exec(t, e, 2, watched, x.queue...)
	return reply + run("MGET a b") + run("TTL a") + run("TTL b")
}

func fieldsOf(lines []string) [][]string {
	var list [][]string
	for _, line := range lines {
		list = append(list, strings.Fields(line))
	}
	return list
}

func BenchmarkTransaction(b *testing.B) {
	e := testEnv()
	queue := [][][]byte{words([]string{"DEL", "k"})}
	watched := []Watched{{Key: []byte("k"), State: redlock.State{Kind: redlock.Text, Value: []byte("token"), TTL: 1000, Longest: 1100}}}
	out := []redlock.Outcome{{Case: redlock.CaseMine, Applied: true}}
	var l Lock
	var reply []byte
	for b.Loop() {
		e.Transaction(&l, queue, watched, 0)
		reply, _ = l.Reply(reply[:0], 2, out, nil)
	}
	if !bytes.Equal(reply, []byte("*1\r\n:1\r\n")) {
		b.Fatalf("%q", reply)
	}
}
