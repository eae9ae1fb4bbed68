package resp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

// publications are what a lock says it publishes, as "channel=payload".
func publications(l *Lock) string {
	var list []string
	for _, p := range l.Publications() {
		list = append(list, fmt.Sprintf("%s=%s", p.Channel, p.Payload))
	}
	return strings.Join(list, " ")
}

// recognised is the lock of an EVAL with one key, "k".
func recognised(t *testing.T, e *Env, text string, args ...string) *Lock {
	t.Helper()
	l := new(Lock)
	if fault := e.Recognise(l, words(append([]string{"EVAL", text, "1", "k"}, args...)), 0); fault != "" {
		t.Fatal(fault)
	}
	return l
}

// Scripts with messages, written after what the libraries do.
const (
	// Spring Integration's release in pub/sub mode.
	releaseAndTell = `if redis.call('GET', KEYS[1]) == ARGV[1] then
		if redis.call('UNLINK', KEYS[1]) == 1 then redis.call('PUBLISH', ARGV[2], KEYS[1]) return 1 end
	end return nil`
	// simple-redis-mutex's.
	releaseTellAndReturnNothing = `if redis.call('get', KEYS[1]) == ARGV[1] then
		redis.call('del', KEYS[1]) redis.call('publish', ARGV[2], ARGV[1]) end`
)

func TestScriptsPublishInTheCaseThatIsDecided(t *testing.T) {
	text := func(value string) redlock.State {
		return redlock.State{Kind: redlock.Text, Value: []byte(value), TTL: 500}
	}
	tests := []struct {
		name, script string
		out          redlock.Outcome
		reply, want  string
	}{
		{"Spring, mine", releaseAndTell, redlock.Outcome{Case: redlock.CaseMine, Applied: true}, ":1\r\n", "ch=k"},
		{"Spring, absent", releaseAndTell, redlock.Outcome{Case: redlock.CaseAbsent}, "$-1\r\n", ""},
		{"Spring, other", releaseAndTell, redlock.Outcome{Case: redlock.CaseOther, State: text("other")}, "$-1\r\n", ""},
		{"simple-redis-mutex, mine", releaseTellAndReturnNothing, redlock.Outcome{Case: redlock.CaseMine, Applied: true}, "$-1\r\n", "ch=tok"},
		{"simple-redis-mutex, other", releaseTellAndReturnNothing, redlock.Outcome{Case: redlock.CaseOther, State: text("other")}, "$-1\r\n", ""},
		{"no quorum", releaseAndTell, redlock.Outcome{Err: errors.New("nobody")}, "-NOQUORUM nobody\r\n", ""},
		{"several, numbers too", `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('publish', 'a', 1) redis.call('publish', 'b', 2.5) end`,
			redlock.Outcome{Case: redlock.CaseMine}, "$-1\r\n", "a=1 b=2.5"},
		{"before an error", `redis.call('set', KEYS[1], 'x') redis.call('publish', 'a', 'b') error('no')`,
			redlock.Outcome{Case: redlock.CaseAbsent, Applied: true}, "-ERR user_script:1: no script: …\r\n", "a=b"},
	}
	for _, tt := range tests {
		l := recognised(t, testEnv(), tt.script, "tok", "ch")
		if l.MayLearn {
			t.Errorf("%s: takes two rounds", tt.name)
		}
		if got := publications(l); got != "" {
			t.Errorf("%s: publishes %q before the vote", tt.name, got)
		}
		reply, _ := l.Reply(nil, 2, []redlock.Outcome{tt.out}, nil)
		head, _, _ := strings.Cut(tt.reply, "…")
		if got := publications(l); !strings.HasPrefix(string(reply), head) || got != tt.want {
			t.Errorf("%s: %q and %q published, want %q and %q", tt.name, reply, got, tt.reply, tt.want)
		}
	}
}

func TestWhatIsPublishedIsOfTheLastReply(t *testing.T) {
	l := recognised(t, testEnv(), releaseAndTell, "tok", "ch")
	l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseMine, Applied: true}}, nil)
	if got := publications(l); got != "ch=k" {
		t.Errorf("%q", got)
	}
	l.Reply(nil, 2, []redlock.Outcome{{Err: errors.New("too late")}}, nil)
	if got := publications(l); got != "" {
		t.Errorf("after an error: %q", got)
	}
	l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseMine, Applied: true}}, nil)
	if testEnv().Recognise(l, words([]string{"GET", "k"}), 0); publications(l) != "" {
		t.Errorf("by another command: %q", publications(l))
	}
}

func TestMessagesWithTheValueAreLearned(t *testing.T) {
	const script = `local v = redis.call('get', KEYS[1]) redis.call('publish', 'c', v) redis.call('del', KEYS[1])`
	l := recognised(t, testEnv(), script)
	if !l.MayLearn {
		t.Error("the value is known without asking")
	}
	state := redlock.State{Kind: redlock.Text, Value: []byte("other"), TTL: 500}
	var again redlock.Swap
	reply, more := l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseOther, State: state}}, &again)
	if !more || len(reply) > 0 || again.Mine.Effect != redlock.Delete {
		t.Fatalf("%q, more %v: %+v", reply, more, again)
	}
	reply, more = l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseMine, Applied: true}}, &again)
	if got := publications(l); more || string(reply) != "$-1\r\n" || got != "c=other" {
		t.Errorf("%q, more %v, %q published", reply, more, got)
	}
}

func TestRefusedRunsPublishNothing(t *testing.T) {
	const script = `local v = redis.call('get', KEYS[1]) if #v == 3 then redis.call('publish', 'c', 'x') redis.call('hset', 'l', 'f', 'x') end`
	l := recognised(t, testEnv(), script)
	state := redlock.State{Kind: redlock.Text, Value: []byte("tok"), TTL: 500}
	reply, _ := l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseOther, State: state}}, new(redlock.Swap))
	if got := publications(l); !strings.Contains(string(reply), "calls 'HSET'") || got != "" {
		t.Errorf("%q and %q published", reply, got)
	}
}

func TestAScriptMayPublishWithoutAKey(t *testing.T) {
	l := recognised(t, testEnv(), `return redis.call('publish', KEYS[1], 'x')`)
	if len(l.Swaps) != 0 {
		t.Fatalf("%d swaps", len(l.Swaps))
	}
	reply, _ := l.Reply(nil, 2, nil, nil)
	if got := publications(l); string(reply) != ":0\r\n" || got != "k=x" {
		t.Errorf("%q and %q published", reply, got)
	}
}

func TestAllRunsOfAScriptSeeTheSameReceivers(t *testing.T) {
	e := testEnv()
	asked := 0
	e.Receivers = func([]byte) int64 { asked++; return int64(asked) }
	l := recognised(t, e, `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return redis.call('publish', 'c', 'x') + redis.call('publish', 'c', 'y')`, "tok")
	reply, _ := l.Reply(nil, 2, []redlock.Outcome{{Case: redlock.CaseMine}}, nil)
	if string(reply) != ":2\r\n" || asked != 1 {
		t.Errorf("%q after %d questions", reply, asked)
	}
	l = recognised(t, e, `return redis.call('publish', 'c', 'x')`)
	if reply, _ := l.Reply(nil, 2, nil, nil); string(reply) != ":2\r\n" {
		t.Errorf("another run: %q", reply)
	}
}

func TestPublishingIsBounded(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{`for i = 1, 256 do redis.call('publish', 'c', i) end`, "$-1\r\n"},
		{`for i = 1, 257 do redis.call('publish', 'c', i) end`, "publishes more than 256 messages"},
		{`local s = ('x'):rep(10000) for i = 1, 200 do redis.call('publish', 'c', s) end`, "needs more than 1024 KiB"},
	} {
		e := testEnv()
		got := free().run(t, e, 2, "EVAL", tt.script, "1", "k")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.script, got, tt.want)
		}
	}
}

// What arrives is compared with what a lock says it publishes, the reply byte
// for byte.
func TestPublishingScriptsAreLikeRealRedis(t *testing.T) {
	addr := startRedis(t)
	conn, ear := dialRealRedis(t, addr, 2), dialRealRedis(t, addr, 2)
	ear.do([][]string{{"PSUBSCRIBE", "*"}})
	e := testEnv()
	e.Receivers = func([]byte) int64 { return 1 }
	for _, script := range []string{
		releaseAndTell, releaseTellAndReturnNothing,
		`return redis.call('publish', 'a', '\0\r\n\255')`,
		`return {redis.call('PUBLISH', KEYS[1], ARGV[1]), redis.pcall('publish', 1, 1e15), redis.call('publish', 0.1, -0.5)}`,
		`redis.call('publish', 'a')`,
		`return redis.pcall('publish', 'a', 'b', 'c')`,
		`redis.call('publish', 'a', true)`,
		`redis.call('publish', 'a', 'b') redis.call('nope')`,
		`redis.call('set', KEYS[1], 'x', 'PX', 500) redis.call('publish', 'a', redis.call('get', KEYS[1])) return redis.call('pttl', KEYS[1])`,
	} {
		for _, start := range []string{"tok", "other"} {
			command := []string{"EVAL", script, "1", "k", "tok", "ch"}
			real := conn.do([][]string{{"SET", "k", start, "PX", "5000"}, command, {"PUBLISH", "end", ""}})[1]
			var heard []string
			for {
				message, err := rawReply(ear.r)
				if err != nil {
					t.Fatal(err)
				}
				parts := strings.SplitAfterN(message, "\r\n", 6) // *4, $8, pmessage, $1, *, …
				if strings.HasPrefix(parts[5], "$3\r\nend\r\n") {
					break
				}
				heard = append(heard, parts[5])
			}
			m := held(redlock.Text, start, 5000)
			var l Lock
			ours, said := m.runLock(t, e, &l, 2, command...), []string(nil)
			for _, p := range l.Publications() {
				said = append(said, string(AppendBulk(AppendBulk(nil, p.Channel), p.Payload)))
			}
			if refused := strings.Contains(ours, "redlock-proxy"); refused && strings.Contains(script, "nope") {
				continue
			}
			if ours != real || !slices.Equal(said, heard) {
				t.Errorf("%s on %s:\nreal %q and %q\nours %q and %q", script, start, real, heard, ours, said)
			}
		}
	}
}
