package resp

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// oneMaster is a quorum of one, without the engine: it applies a swap to what
// it holds.
type oneMaster struct {
	now  func() int64 // milliseconds
	keys map[string]heldKey
	// between, if set, runs in front of every swap but the first: somebody
	// else's command.
	between func(round int)
	round   int
}

type heldKey struct {
	kind   redlock.Kind
	value  string
	expiry int64 // absolute milliseconds, 0 for none
}

func (m *oneMaster) state(key []byte) redlock.State {
	k, ok := m.keys[string(key)]
	if !ok || k.expiry != 0 && m.now() > k.expiry {
		delete(m.keys, string(key))
		return redlock.State{}
	}
	st := redlock.State{Kind: k.kind, TTL: redlock.NoTTL}
	if k.kind == redlock.Text {
		st.Value = []byte(k.value)
	}
	if k.expiry != 0 {
		st.TTL = max(k.expiry-m.now(), 1)
		st.Longest = st.TTL
	}
	return st
}

func (m *oneMaster) apply(s *redlock.Swap) redlock.Outcome {
	if m.round++; m.round > 1 && m.between != nil {
		m.between(m.round)
	}
	if len(s.And) > 0 {
		return m.applySeveral(s)
	}
	st := m.state(s.Key)
	out := redlock.Outcome{Case: s.Case(&st), State: st}
	if out.Case == redlock.CaseMine {
		out.State.Value = nil // the engine may leave out what the table implies
	}
	out.Applied = m.change(string(s.Key), s.Leaf(out.Case))
	return out
}

// change does what a leaf says, and reports whether that is anything.
func (m *oneMaster) change(key string, leaf *redlock.Leaf) bool {
	held := m.keys[key]
	switch leaf.Effect {
	case redlock.Set:
		held.kind, held.value = redlock.Text, string(leaf.Value)
		if leaf.TTL != redlock.KeepTTL {
			held.expiry = m.after(leaf.TTL)
		}
		m.keys[key] = held
	case redlock.Expire:
		held.expiry = m.after(leaf.TTL)
		m.keys[key] = held
	case redlock.Delete:
		delete(m.keys, key)
	default:
		return false
	}
	return true
}

func (m *oneMaster) after(ttl int64) int64 {
	if ttl > math.MaxInt64-m.now() {
		return math.MaxInt64
	}
	return m.now() + ttl
}

// run recognises one command, lets m apply it, and returns the raw reply.
func (m *oneMaster) run(t testing.TB, e *Env, proto int, args ...string) string {
	t.Helper()
	return m.runLock(t, e, new(Lock), proto, args...)
}

// runLock is run with a lock that can be looked at afterwards.
func (m *oneMaster) runLock(t testing.TB, e *Env, l *Lock, proto int, args ...string) string {
	t.Helper()
	if errText := e.Recognise(l, words(args), 0); errText != "" {
		return string(AppendError(nil, errText))
	}
	m.round = 0
	outs := make([]redlock.Outcome, len(l.Swaps))
	for i := range l.Swaps {
		checkSwap(t, args, l, &l.Swaps[i])
		outs[i] = m.apply(&l.Swaps[i])
	}
	for range 100 {
		var again redlock.Swap
		reply, more := l.Reply(nil, proto, outs, &again)
		if !more {
			return string(reply)
		}
		if !l.MayLearn {
			t.Errorf("%q: asks for a second round, but MayLearn is false", args)
		}
		checkSwap(t, args, l, &again)
		outs = []redlock.Outcome{m.apply(&again)}
	}
	t.Fatalf("%q: still no reply after 100 rounds", args)
	return ""
}

// checkSwap checks what must hold for every table: no key without an expiry is
// stored, and only a lock that says so needs to learn.
func checkSwap(t testing.TB, args []string, l *Lock, s *redlock.Swap) {
	t.Helper()
	for c := redlock.CaseAbsent; c <= redlock.CaseWrong; c++ {
		leaf := s.Leaf(c)
		switch {
		case leaf.Effect == redlock.Learn && !l.MayLearn:
			t.Errorf("%q: case %d is Learn, but MayLearn is false", args, c)
		case leaf.Effect == redlock.Set && leaf.TTL == redlock.KeepTTL && c != redlock.CaseAbsent:
		case (leaf.Effect == redlock.Set || leaf.Effect == redlock.Expire) && leaf.TTL <= 0:
			t.Errorf("%q: case %d stores with TTL %d", args, c, leaf.TTL)
		case c == redlock.CaseAbsent && (leaf.Effect == redlock.Expire || leaf.Effect == redlock.Delete):
			t.Errorf("%q: effect %d on an absent key", args, leaf.Effect)
		}
	}
}

func words(args []string) [][]byte {
	b := make([][]byte, len(args))
	for i, a := range args {
		b[i] = []byte(a)
	}
	return b
}

// testNow is when unit tests happen.
const testNow = 1_700_000_000_000

const testDefaultTTL = 86_400_000

func testEnv() *Env {
	return &Env{
		Wall:       func() time.Time { return time.UnixMilli(testNow) },
		DefaultTTL: testDefaultTTL,
		Scripts:    NewScripts(),
	}
}

// held is a master at testNow that holds key "k".
func held(kind redlock.Kind, value string, ttl int64) *oneMaster {
	m := &oneMaster{now: func() int64 { return testNow }, keys: map[string]heldKey{}}
	if kind == redlock.Absent {
		return m
	}
	k := heldKey{kind: kind, value: value}
	if ttl != redlock.NoTTL {
		k.expiry = testNow + ttl
	}
	m.keys["k"] = k
	return m
}

// free is a master that holds nothing.
func free() *oneMaster { return held(redlock.Absent, "", 0) }

func (m *oneMaster) ttl(key string) int64 { st := m.state([]byte(key)); return st.TTL }
func (m *oneMaster) value(key string) string {
	return m.keys[key].value
}

func TestAcquireStoresOnlyOnAFreeKey(t *testing.T) {
	e := testEnv()
	m := free()
	if got := m.run(t, e, 2, "SET", "k", "token", "NX", "PX", "30000"); got != "+OK\r\n" {
		t.Fatalf("free key: %q", got)
	}
	if m.value("k") != "token" || m.ttl("k") != 30000 {
		t.Fatalf("stored %+v", m.keys["k"])
	}
	for proto, want := range map[int]string{2: "$-1\r\n", 3: "_\r\n"} {
		if got := m.run(t, e, proto, "set", "k", "token", "px", "1", "nx"); got != want {
			t.Errorf("held, RESP%d: %q, want %q", proto, got, want)
		}
	}
	if m.ttl("k") != 30000 {
		t.Errorf("a refused SET changed the TTL to %d", m.ttl("k"))
	}
}

func TestKindSaysWhatACommandIsFor(t *testing.T) {
	tests := []struct {
		command string
		want    string
	}{
		{"SET k v NX PX 5", "acquire"},
		{"SETNX k v", "acquire"},
		{"SET k v PX 5", "set"},
		{"SET k v PX 5 XX", "set"},
		{"SET k v PX 5 IFEQ v", "extend"},
		{"SET k w PX 5 IFEQ v", "set"},
		{"GETSET k v", "set"},
		{"GET k", "read"},
		{"EXISTS k", "read"},
		{"GETEX k", "read"},
		{"GETEX k PX 5", "extend"},
		{"PEXPIRE k 5", "extend"},
		{"PERSIST k", "extend"},
		{"DEL k", "delete"},
		{"UNLINK k", "delete"},
		{"DELEX k", "delete"},
		{"DELEX k IFNE v", "delete"},
		{"DELEX k IFEQ v", "release"},
		{"DELIFEQ k v", "release"},
	}
	for _, tt := range tests {
		var l Lock
		if errText := testEnv().Recognise(&l, words(strings.Fields(tt.command)), 3); errText != "" {
			t.Errorf("%s: %s", tt.command, errText)
		}
		if got := l.Kind.String(); got != tt.want || l.DB != 3 {
			t.Errorf("%s: %s in db %d, want %s in db 3", tt.command, got, l.DB, tt.want)
		}
	}
}

func TestEveryKindHasItsOwnLabel(t *testing.T) {
	seen := map[string]Kind{}
	for k := range Kinds {
		if other, ok := seen[k.String()]; ok {
			t.Errorf("kinds %d and %d are both %q", other, k, k)
		}
		seen[k.String()] = k
	}
}

func TestUnknownOutcomeIsAnErrorForEveryCommand(t *testing.T) {
	unknown := errors.New("1 of 3 masters answered\r\n+OK")
	for _, command := range []string{
		"SET k v NX PX 5", "GET k", "DEL k", "DEL a b", "EXISTS a b a", "MGET a b", "PTTL k",
		"PEXPIRE k 5 GT", "DELEX k IFEQ v", "SET k v KEEPTTL",
	} {
		var l Lock
		if errText := testEnv().Recognise(&l, words(strings.Fields(command)), 0); errText != "" {
			t.Fatal(errText)
		}
		outs := make([]redlock.Outcome, len(l.Swaps))
		outs[len(outs)-1].Err = unknown
		var again redlock.Swap
		got, more := l.Reply(nil, 2, outs, &again)
		if want := "-NOQUORUM 1 of 3 masters answered  +OK\r\n"; string(got) != want || more {
			t.Errorf("%s: %q, %v, want %q", command, got, more, want)
		}
	}
}

func TestAReusedLockRemembersNothing(t *testing.T) {
	e, m := testEnv(), free()
	commands := []string{
		"SET k v KEEPTTL", "PEXPIRE k 50 NX", "TYPE k", "DEL a b c", "GET k", "SET k v NX", "MGET k j", "EXISTS k",
		"SET k v NX PX 5", "GETEX k PX nonsense", "PTTL k",
	}
	var reused Lock
	for _, command := range commands {
		args := words(strings.Fields(command))
		var fresh Lock
		if a, b := e.Recognise(&reused, args, 1), e.Recognise(&fresh, args, 1); a != b {
			t.Errorf("%s: %q reused, %q fresh", command, a, b)
		}
		outs := make([]redlock.Outcome, len(fresh.Swaps))
		for i := range fresh.Swaps {
			outs[i] = m.apply(&fresh.Swaps[i])
		}
		var againA, againB redlock.Swap
		a, moreA := reused.Reply(nil, 3, outs, &againA)
		b, moreB := fresh.Reply(nil, 3, outs, &againB)
		if !bytes.Equal(a, b) || moreA != moreB || reused.Kind != fresh.Kind ||
			reused.MayLearn != fresh.MayLearn || reused.DefaultTTL != fresh.DefaultTTL {
			t.Errorf("%s: reused %q %v %+v, fresh %q %v %+v", command, a, moreA, &reused, b, moreB, &fresh)
		}
	}
}

func TestIsLockKnowsItsCommandsInAnyCase(t *testing.T) {
	for _, name := range []string{"SET", "set", "sEt", "EVALSHA_RO", "pexpiretime", "DELIFEQ"} {
		if !IsLock([]byte(name)) {
			t.Errorf("IsLock(%q) is false", name)
		}
	}
	for _, name := range []string{"", "PING", "SETT", "se", "set ", "pexpiretimes", "set\x00", strings.Repeat("x", 1000)} {
		if IsLock([]byte(name)) {
			t.Errorf("IsLock(%q) is true", name)
		}
	}
}

func TestRecogniseDoesNotCopyArguments(t *testing.T) {
	args := words([]string{"SET", "k", "token", "NX", "PX", "1000"})
	var l Lock
	if errText := testEnv().Recognise(&l, args, 0); errText != "" {
		t.Fatal(errText)
	}
	s := &l.Swaps[0]
	if &s.Key[0] != &args[1][0] || &s.Absent.Value[0] != &args[2][0] {
		t.Error("key or value was copied")
	}
}

func TestKindIsKnownForRefusedCommandsToo(t *testing.T) {
	var l Lock
	for command, want := range map[string]Kind{
		"SET k": KindSet, "SET k v NX PX 0": KindAcquire, "GET": KindRead, "PEXPIRE k x": KindExtend, "EVAL x": KindScript, "DELEX k IFXX x": KindDelete,
	} {
		l.Kind = KindRenew
		if errText := testEnv().Recognise(&l, words(strings.Fields(command)), 0); errText == "" || l.Kind != want {
			t.Errorf("%s: %q, %s, want %s", command, errText, l.Kind, want)
		}
	}
}

func TestTheProxysOwnKeysAreRefused(t *testing.T) {
	e := testEnv()
	e.Reserved = "redlock-proxy:{"
	for _, command := range []string{"SET redlock-proxy:{q}:record v", "GET redlock-proxy:{", "DEL a redlock-proxy:{q}:record", "PERSIST redlock-proxy:{}"} {
		if got := free().run(t, e, 2, strings.Fields(command)...); !strings.HasPrefix(got, "-ERR keys that begin with 'redlock-proxy:{' belong to this proxy") {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := free().run(t, e, 2, "SET", "redlock-proxy:", "v"); got != "+OK\r\n" {
		t.Errorf("another key: %q", got)
	}
}

func TestForgetDropsTheArguments(t *testing.T) {
	var l Lock
	for _, command := range []string{"SET k v KEEPTTL", "DEL a b", "EVAL return(redis.call('get',KEYS[1])) 1 k v"} {
		if errText := testEnv().Recognise(&l, words(strings.Fields(command)), 0); errText != "" {
			t.Fatal(errText)
		}
		l.Forget()
		if l.Swaps != nil || l.first[0].Key != nil || l.value != nil || l.plan.keys != nil {
			t.Errorf("%s: %+v", command, &l)
		}
	}
}
