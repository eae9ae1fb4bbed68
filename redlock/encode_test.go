package redlock

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// dialects are the ways to talk to the server at hand: as it is, and as if it
// were older.
func dialects(t *testing.T, c rueidis.Client) map[string]*dialect {
	t.Helper()
	sha, err := do(t, c, "SCRIPT", "LOAD", swapScript).ToString()
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := do(t, c, "SCRIPT", "LOAD", canonicalScript).ToString()
	if err != nil {
		t.Fatal(err)
	}
	many, err := do(t, c, "SCRIPT", "LOAD", canonicalManyScript).ToString()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*dialect{
		"Redis 7": {sha: sha, canonical: canonical, canonicalMany: many, setNXGet: true, expiryAt: true},
		"Redis 5": {sha: sha},
	}
}

func exchange(t *testing.T, c rueidis.Client, d *dialect, call *Call) (Answer, int64) {
	t.Helper()
	e := encoder{builder: c.B()}
	r := c.Do(context.Background(), e.encode(call, d))
	return decode(call, d, &r)
}

// TestServerAndStoreAgreeOnRandomTables applies the same tables to a real
// server and to the store.
func TestServerAndStoreAgreeOnRandomTables(t *testing.T) {
	c := startServer(t).client()
	for name, d := range dialects(t, c) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range 4000 {
				call := randomCall(rnd)
				s := newStore()
				prepareKey(t, c, s, rnd, string(call.Table.Key))
				want := s.apply(0, call.Table, call.Window)
				shiftWindow(t, c, call)
				got, ttl := exchange(t, c, d, call)
				if diff := differ(call, d, got, ttl, want); diff != "" {
					t.Fatalf("call %d %+v window %v: %s\n got %+v\nwant %+v", i, call.Table, call.Window, diff, got, want)
				}
				compareKey(t, c, s, string(call.Table.Key))
			}
		})
	}
}

var testValues = [][]byte{{}, []byte("1"), []byte("token"), []byte("a\r\nb\x00\xff"), bytes.Repeat([]byte("x"), 5000)}

func randomCall(rnd *rand.Rand) *Call {
	value := func() []byte { return testValues[rnd.IntN(len(testValues))] }
	leaf := func() Leaf {
		l := Leaf{Effect: Effect(rnd.IntN(5)), Value: value(), TTL: []int64{50_000, 900_000, math.MaxInt64}[rnd.IntN(3)]}
		if l.Effect == Set && rnd.IntN(3) == 0 {
			l.TTL = KeepTTL
		}
		return l
	}
	t := &Swap{Key: []byte("key\x00\r\n"), Token: value(), HasToken: rnd.IntN(4) > 0,
		Absent: leaf(), Mine: leaf(), Other: leaf(), Wrong: leaf()}
	if rnd.IntN(3) == 0 {
		t.Mine, t.Other, t.Wrong = Leaf{}, Leaf{}, Leaf{}
	}
	if rnd.IntN(3) == 0 {
		t.TTLAtMost = []int64{30_000, 90_000, 500_000}[rnd.IntN(3)]
	}
	c := &Call{Table: t}
	if rnd.IntN(3) == 0 {
		from := int64(rnd.IntN(3)) * 100_000
		c.Window = Window{from + 1, from + 100_000}
	}
	return c
}

// prepareKey brings the key into the same random state on both sides. The
// store's time is 0, so an expiry is a TTL.
func prepareKey(t *testing.T, c rueidis.Client, s *store, rnd *rand.Rand, key string) {
	do(t, c, "DEL", key)
	if rnd.IntN(4) == 0 {
		return
	}
	e := entry{kind: Text, value: testValues[rnd.IntN(len(testValues))]}
	if rnd.IntN(5) == 0 {
		e = entry{kind: WrongType}
		do(t, c, "RPUSH", key, "x")
	} else {
		do(t, c, "SET", key, string(e.value))
	}
	if rnd.IntN(4) > 0 {
		e.expiry = int64(rnd.IntN(2))*100_000 + 60_000
		do(t, c, "PEXPIRE", key, fmt.Sprint(e.expiry))
	}
	s.entries[key] = e
}

// shiftWindow puts the window, relative until now, on the server's clock.
func shiftWindow(t *testing.T, c rueidis.Client, call *Call) {
	if call.Window != (Window{}) {
		now, err := do(t, c, "TIME").AsIntSlice()
		if err != nil {
			t.Fatal(err)
		}
		call.Window.From += now[0]*1000 + now[1]/1000
		call.Window.To += now[0]*1000 + now[1]/1000
	}
}

func differ(call *Call, d *dialect, got Answer, ttl int64, want verdict) string {
	plain := d.setNXGet && isPlainAcquire(call) || d.canonical != "" && isCanonical(call) && !want.mine
	switch {
	case got.Status != Answered:
		return "status"
	case got.Before.Kind != want.before.Kind:
		return "kind"
	case !bytes.Equal(got.Before.Value, want.before.Value):
		return "value"
	case got.Mine != want.mine:
		return "mine"
	case got.Applied != want.applied:
		return "applied"
	case !plain && !near(got.Before.TTL, want.before.TTL):
		return "TTL"
	case !near(ttl, min(want.expiry, maxTTL)):
		return fmt.Sprintf("given TTL %d", ttl)
	}
	return ""
}

// near allows for the time between two commands. Replies of scripts go through
// Lua numbers, which round large TTLs.
func near(a, b int64) bool {
	if a < 0 || b < 0 {
		return a == b
	}
	return max(a, b)-min(a, b) < 2000
}

func compareKey(t *testing.T, c rueidis.Client, s *store, key string) {
	t.Helper()
	e, exists := s.find(0, []byte(key))
	ttl, _ := do(t, c, "PTTL", key).AsInt64()
	if !exists {
		e.expiry = -2
	} else if e.expiry == 0 {
		e.expiry = -1
	}
	if !near(ttl, min(e.expiry, maxTTL)) {
		t.Fatalf("afterwards the server has TTL %d, the store %d", ttl, e.expiry)
	}
	if e.kind == Text {
		if v, err := do(t, c, "GET", key).ToString(); err != nil || v != string(e.value) {
			t.Fatalf("afterwards the server has %.20q %v, the store %.20q", v, err, e.value)
		}
	}
}

func TestEncodeIsExactToTheByte(t *testing.T) {
	c := startServer(t).client()
	big := bytes.Repeat([]byte("\x00\r\n$"), 1<<18)
	for name, d := range dialects(t, c) {
		for _, key := range [][]byte{{}, []byte("k"), []byte("\x00\r\n*3"), big[:1<<20]} {
			for _, value := range [][]byte{{}, []byte("\xff\x00\r\n"), big} {
				do(t, c, "FLUSHALL")
				set := &Call{Table: &Swap{Key: key, Absent: Leaf{Effect: Set, Value: value, TTL: 60_000}}}
				if a, ttl := exchange(t, c, d, set); !a.Applied || a.Before.Kind != Absent || ttl != 60_000 {
					t.Fatalf("%s: key %.9q value %.9q: not created: %+v", name, key, value, a)
				}
				if a, _ := exchange(t, c, d, set); a.Applied || a.Before.Kind != Text || !bytes.Equal(a.Before.Value, value) {
					t.Fatalf("%s: key %.9q value %.9q: second attempt: %+v", name, key, value, a.Status)
				}
				release := &Call{Table: &Swap{Key: key, Token: value, HasToken: true, Mine: Leaf{Effect: Delete}}}
				if a, _ := exchange(t, c, d, release); !a.Applied || !a.Mine {
					t.Fatalf("%s: key %.9q value %.9q: not released", name, key, value)
				}
			}
		}
	}
}

func TestWhatChangesAKeyIsNotExecutedAfterItsDeadline(t *testing.T) {
	c := startServer(t).client()
	for name, d := range dialects(t, c) {
		do(t, c, "SET", "k", "a", "PX", "60000")
		now := time.Duration(time.Now().UnixMicro()) * time.Microsecond
		e := encoder{offset: clockOffset{known: true, lo: now, hi: now}}
		run := func(s Swap, deadline time.Duration) Answer {
			e.builder = c.B()
			call := &Call{Table: &s, Deadline: deadline}
			r := c.Do(context.Background(), e.encode(call, d))
			a, _ := decode(call, d, &r)
			return a
		}
		for _, s := range []Swap{extendOf("a"), releaseOf("a"), {Key: []byte("k"), Other: Leaf{Effect: Set, TTL: 1}}} {
			if a := run(s, -time.Second); a.Status != Failed || a.Reason != ReasonTooLate || a.Applied {
				t.Errorf("%s: late: %+v", name, a)
			}
		}
		if a := run(releaseOf("a"), time.Minute); !a.Applied {
			t.Errorf("%s: in time: %+v", name, a)
		}
	}
}

func TestEncodeSaturatesTTLs(t *testing.T) {
	c := startServer(t).client()
	for name, d := range dialects(t, c) {
		for _, ttl := range []int64{1000, 31557600000000, 9e15, 1 << 62, math.MaxInt64} {
			do(t, c, "FLUSHALL")
			set := &Call{Table: &Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, TTL: ttl}}}
			if a, given := exchange(t, c, d, set); !a.Applied || given != min(ttl, maxTTL) {
				t.Errorf("%s: SET with TTL %d: %+v, TTL %d", name, ttl, a, given)
			}
			extend := &Call{Table: &Swap{Key: []byte("k"), HasToken: true, Mine: Leaf{Effect: Expire, TTL: ttl}}}
			if a, _ := exchange(t, c, d, extend); !a.Applied {
				t.Errorf("%s: extend by TTL %d: %+v", name, ttl, a)
			}
			if got, _ := do(t, c, "PTTL", "k").AsInt64(); !near(got, min(ttl, maxTTL)) {
				t.Errorf("%s: TTL %d became %d", name, ttl, got)
			}
		}
	}
}

func TestRefusedCommandsAreFailedByTheirCode(t *testing.T) {
	s := startServer(t)
	c := s.client()
	set := &Call{Table: &Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, Value: []byte("v"), TTL: 9000}}}
	release := &Call{Table: &Swap{Key: []byte("k"), HasToken: true, Mine: Leaf{Effect: Delete}, Other: Leaf{Effect: Delete}}}
	tests := []struct {
		want      string
		call      *Call
		set, undo []string
	}{
		{"OOM", set, []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"NOREPLICAS", set, []string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{"READONLY", release, []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
		{"MASTERDOWN", release, []string{"CONFIG", "SET", "replica-serve-stale-data", "no"}, []string{"REPLICAOF", "NO", "ONE"}},
		{"NOSCRIPT", release, []string{"SCRIPT", "FLUSH"}, []string{"PING"}},
		{"NOPERM", release, []string{"ACL", "SETUSER", "default", "-evalsha"}, []string{"ACL", "SETUSER", "default", "+evalsha"}},
	}
	for _, tt := range tests {
		for name, d := range dialects(t, c) {
			do(t, c, "SET", "k", "x")
			if tt.want == "OOM" || tt.want == "NOREPLICAS" {
				do(t, c, "DEL", "k")
			}
			if tt.want == "MASTERDOWN" {
				do(t, c, "REPLICAOF", "127.0.0.1", "1")
			}
			do(t, c, tt.set...)
			a, _ := exchange(t, c, d, tt.call)
			do(t, c, tt.undo...)
			if a.Status != Failed || a.Reason != tt.want {
				t.Errorf("%s: got %+v, want %s", name, a, tt.want)
			}
		}
	}
}

func TestErrorCode(t *testing.T) {
	for text, want := range map[string]string{
		"READONLY You can't write against a read only replica.": "READONLY",
		"LOADING Redis is loading the dataset in memory":        "LOADING",
		"unknown command 'X'":                                   "ERR",
		"":                                                      "ERR",
		"Error running script (call to f_12): @user_script:46: @user_script: 46: -OOM command not allowed when used memory": "OOM",
		"Error running script (call to f_12): @user_script:46: strange: -x":                                                 "ERR",
	} {
		if got := errorCode(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestScriptSendsOnlyWhatTheTableNeeds(t *testing.T) {
	c := startServer(t).client()
	e := encoder{builder: c.B()}
	release := &Call{Table: &Swap{Key: []byte("k"), Token: []byte("t"), HasToken: true, Mine: Leaf{Effect: Delete}}}
	cmd := e.encode(release, &dialect{sha: "sha"})
	if got, want := strings.Join(cmd.Commands(), " "), "EVALSHA sha 1 k kdkk=-- t"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
