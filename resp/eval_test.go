package resp

import (
	"slices"
	"strings"
	"testing"

	"redlock-proxy/redlock"
)

const (
	releaseScript = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
	ttlScript     = "return redis.call('pttl', KEYS[1])"
)

// The script language is compared with a real server elsewhere; here it is how
// EVAL and its like take their arguments.
func TestArgumentsOfEvalAreLikeRealRedis(t *testing.T) {
	conn := dialRealRedis(t, startRedis(t), 2)
	unknown := strings.Repeat("0", shaLength)
	var commands [][]string
	for _, head := range [][]string{
		{"EVAL", "return 1"}, {"eval_ro", "return 1"}, {"EVAL", "return {#KEYS, #ARGV, KEYS[1], ARGV[1]}"},
		{"EVALSHA", unknown}, {"EVALSHA_RO", unknown}, {"evalsha", "short"}, {"EVALSHA", unknown + "0"}, {"EVALSHA", ""},
	} {
		for _, n := range []string{"0", "1", "2", "3", "-1", "abc", "", "1.5", "01", "9223372036854775807", "9223372036854775808"} {
			for _, rest := range [][]string{nil, {"a"}, {"a", "b"}} {
				commands = append(commands, slices.Concat(head, []string{n}, rest))
			}
		}
	}
	e := testEnv()
	for i, want := range conn.do(commands) {
		if got := free().run(t, e, 2, commands[i]...); got != want {
			t.Errorf("%q: %q, a real server says %q", commands[i], got, want)
		}
	}
}

func TestUnknownScriptIsAnsweredWithTheExactText(t *testing.T) {
	got := free().run(t, testEnv(), 2, "EVALSHA", strings.Repeat("0", shaLength), "1", "k")
	if got != "-NOSCRIPT No matching script. Please use EVAL.\r\n" {
		t.Errorf("%q", got)
	}
}

func TestEvalMakesTheScriptKnownToEverybody(t *testing.T) {
	e, m := testEnv(), held(redlock.Text, "mine", 500)
	if got := m.run(t, e, 2, "EVAL", releaseScript, "1", "k", "other"); got != ":0\r\n" {
		t.Fatalf("EVAL: %q", got)
	}
	sha, err := e.Scripts.Load([]byte(releaseScript))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sha, strings.ToUpper(sha)} {
		m := held(redlock.Text, "mine", 500)
		if got := m.run(t, e, 2, "EVALSHA", name, "1", "k", "mine"); got != ":1\r\n" || len(m.keys) != 0 {
			t.Errorf("EVALSHA %s: %q, %v", name, got, m.keys)
		}
	}
}

func TestFaultyEvalDoesNotMakeTheScriptKnown(t *testing.T) {
	e := testEnv()
	free().run(t, e, 2, "EVAL", "return 42", "nonsense")
	if e.Scripts.Exists([]byte("1fa00e76656cc152ad327c13fe365858fd7be306")) { // sha1 of the text
		t.Error("the script is known")
	}
}

func TestScriptTellsWhetherItMayLearnAndWhichDatabaseItAsks(t *testing.T) {
	tests := []struct {
		script string
		learns bool
		db     int
	}{
		{releaseScript, false, 2},
		{ttlScript, true, 2},
		{"redis.call('select', 5) return redis.call('del', KEYS[1])", false, 5},
	}
	for _, tt := range tests {
		var l Lock
		args := words([]string{"EVAL", tt.script, "1", "k", "token"})
		if errText := testEnv().Recognise(&l, args, 2); errText != "" {
			t.Fatalf("%s: %s", tt.script, errText)
		}
		if l.MayLearn != tt.learns || l.DB != tt.db || len(l.Swaps) != 1 {
			t.Errorf("%s: %+v", tt.script, &l)
		}
	}
}

func TestKindOfAScriptIsWhatItDoes(t *testing.T) {
	tests := []struct{ script, want string }{
		{releaseScript, "release"},
		{"return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 5)", "acquire"},
		{"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], 5) end return 0", "extend"},
		{"if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1], 5) return 1 end return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 5)", "renew"},
		{"return redis.call('del', KEYS[1])", "delete"},
		{"return redis.call('set', KEYS[1], ARGV[1], 'PX', 5)", "set"},
		{"return redis.call('exists', KEYS[1])", "read"},
		{ttlScript, "script"},
		{"return 1", "script"},
	}
	for _, tt := range tests {
		var l Lock
		if errText := testEnv().Recognise(&l, words([]string{"EVAL", tt.script, "1", "k", "token"}), 0); errText != "" {
			t.Fatalf("%s: %s", tt.script, errText)
		}
		if got := l.Kind.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.script, got, tt.want)
		}
	}
}

func TestScriptWithoutKeysAsksNobody(t *testing.T) {
	var l Lock
	if errText := testEnv().Recognise(&l, words([]string{"EVAL", "return ARGV[1]", "0", "hello"}), 0); errText != "" {
		t.Fatal(errText)
	}
	if len(l.Swaps) != 0 {
		t.Fatalf("%d swaps", len(l.Swaps))
	}
	for range 2 {
		if got, more := l.Reply(nil, 2, nil, nil); string(got) != "$5\r\nhello\r\n" || more {
			t.Errorf("%q, %v", got, more)
		}
	}
}

func TestScriptOnTheProxysOwnKeysIsRefused(t *testing.T) {
	e := testEnv()
	e.Reserved = "own:"
	if got := free().run(t, e, 2, "EVAL", releaseScript, "1", "own:record", "x"); !strings.Contains(got, "begins with 'own:'") {
		t.Errorf("%q", got)
	}
}

// BenchmarkRecogniseScript is the cached compare-and-delete script: the release
// of most lock clients.
func BenchmarkRecogniseScript(b *testing.B) {
	e := testEnv()
	sha, err := e.Scripts.Load([]byte(releaseScript))
	if err != nil {
		b.Fatal(err)
	}
	token := "0123456789abcdef0123456789abcdef"
	b.Run("EVALSHA", func(b *testing.B) {
		benchmarkCommand(b, e, words([]string{"EVALSHA", sha, "1", "lock:orders:4711", token}))
	})
	b.Run("EVAL", func(b *testing.B) {
		benchmarkCommand(b, e, words([]string{"EVAL", releaseScript, "1", "lock:orders:4711", token}))
	})
}

func TestCachedScriptDoesNotAllocate(t *testing.T) {
	e := testEnv()
	sha, err := e.Scripts.Load([]byte(releaseScript))
	if err != nil {
		t.Fatal(err)
	}
	args := words([]string{"EVALSHA", sha, "1", "k", "token"})
	var l Lock
	var again redlock.Swap
	outs, dst := make([]redlock.Outcome, 1), make([]byte, 0, 256)
	allocs := testing.AllocsPerRun(100, func() {
		dst = recogniseAndReply(e, &l, args, dst[:0], outs, &again)
	})
	if allocs != 0 && !raceDetector || string(dst) != ":1\r\n" {
		t.Errorf("%v allocations, reply %q", allocs, dst)
	}
}
