package proxy

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// table is what a REDLOCK command shows in RESP2: its lines.
func table(t *testing.T, s *Server, c *client, line string) []string {
	t.Helper()
	reply, do := say(t, s, c, line)
	if do == actionLocks {
		reply = string(s.appendLocks(nil, c.proto, c.db, words(t, line)))
	}
	if !strings.HasPrefix(reply, "*") {
		return []string{strings.TrimSuffix(reply, "\r\n")}
	}
	_, rest, _ := strings.Cut(reply, "\r\n")
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll("\r\n"+rest, "\r\n+", "\n")[1:], "\r\n"), "\n")
}

// wantTable compares lines, spaces between columns counting as one.
func wantTable(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !like(got[i], want[i]) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestRedlockLocks(t *testing.T) {
	s, c := newTestServer(t)
	mine := s.see.marks.mark([]byte("secret-token"))
	s.see.grants.note(hashKey(s.seed, 0, []byte("lock:a")), mine, time.Since(s.started))
	s.cfg.Locks.(*testLocks).survey = func(db int, f redlock.KeyFilter, limit int) (redlock.Survey, error) {
		if want := "lock:*"; db != 0 || string(f.Pattern) != want || limit != 7 {
			t.Errorf("asked for %q, %d of database %d", f.Pattern, limit, db)
		}
		return redlock.Survey{Masters: 3, Need: 2, Answered: 2, Voting: true, More: true, Missing: []string{"c:1: connection refused"}, Locks: []redlock.SurveyedLock{
			{Key: "lock:a", Token: mine, Values: 1, Copies: 2, TTL: 29876 * time.Millisecond},
			{Key: "lock b\n", Token: 5, Values: 2, Copies: 1, Agreed: redlock.Minority, TTL: 5 * time.Millisecond},
			{Key: strings.Repeat("k", 200), Token: 5, Values: 1, Copies: 1, Agreed: redlock.Undecided, TTL: 90 * time.Minute},
			{Key: "list", NoString: true, Values: 1, Copies: 2, TTL: -1},
		}}, nil
	}
	got := table(t, s, c, "REDLOCK LOCKS lock:* COUNT 7")
	if all := strings.Join(got, "\n"); strings.Contains(all, "secret") {
		t.Errorf("a token is shown:\n%s", all)
	}
	mask := s.see.marks.mask
	wantTable(t, got, "2 of 3 masters read, keys: 4, there are more; not read: c:1: connection refused",
		"KEY TOKEN TTL MASTERS STATE AGE",
		"lock:a "+mask(mine)+" 29.8s 2/3 held 0s",
		`"lock b\n" `+mask(5)+" 5ms 1/3 no majority, 2 tokens unknown",
		strings.Repeat("k", 100)+"… "+mask(5)+" 1h30m 1/3 undecided unknown",
		"list - none 2/3 held, no string unknown")
	say(t, s, c, "HELLO 3")
	if got := string(s.appendLocks(nil, c.proto, 0, words(t, "REDLOCK LOCKS lock:* COUNT 7"))); !like(got, "=…\r\ntxt:2 of 3 …\nKEY …\nlist …\n\r\n") {
		t.Errorf("RESP3: %q", got)
	}
}

func TestRedlockLocksFaults(t *testing.T) {
	s, c := newTestServer(t)
	s.cfg.Locks.(*testLocks).survey = func(int, redlock.KeyFilter, int) (redlock.Survey, error) {
		return redlock.Survey{}, errors.New("none of 3 masters could be read; a:1: down\r\n")
	}
	for line, want := range map[string]string{
		"REDLOCK LOCKS":               "-NOQUORUM none of 3 masters could be read; a:1: down",
		"REDLOCK LOCKS COUNT":         "-NOQUORUM …",
		"REDLOCK LOCKS COUNT 5":       "-NOQUORUM …",
		"REDLOCK LOCKS * COUNT":       "-ERR syntax error",
		"REDLOCK LOCKS * LIMIT 5":     "-ERR syntax error",
		"REDLOCK LOCKS * COUNT 5 6 7": "-ERR syntax error",
		"REDLOCK LOCKS * COUNT x":     "-ERR value is not an integer or out of range",
		"REDLOCK LOCKS * COUNT 0":     "-ERR value is out of range, value must between 1 and 10000",
		"REDLOCK FAILURES COUNT 129":  "-ERR value is out of range, value must between 1 and 128",
		"REDLOCK FAILURES 5":          "-ERR syntax error",
		"REDLOCK CONTENDED COUNT -1":  "-ERR value is out of range, value must between 1 and 512",
	} {
		if got := table(t, s, c, line); len(got) != 1 || !like(strings.TrimRight(got[0], " "), want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// failing is a quorum in which every operation fails.
func failing(err error) *fakeQuorum {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) {
		op.Outcome = redlock.Outcome{Err: err}
		op.Done(op)
	}
	return q
}

func TestFailuresAreRememberedWithoutTokens(t *testing.T) {
	none := &redlock.NoQuorumError{Masters: 3, Need: 2, Missing: []string{"a:1: down"}}
	s, addr := serve(t, Config{}, failing(none))
	c := dial(t, addr)
	c.send("SET lock:a secret-token NX PX 1000", "SET lock:a secret-token NX PX 1000", "SET lock:b secret-token NX PX secret-token",
		`EVAL "return redis.call(ARGV[1], KEYS[1])" 1 lock:c secret-token`, `EVAL "x = = 'secret-token'" 0`, "SECRETIVE secret-token", "HSET lock:d secret-token 1")
	for range 7 {
		if reply, err := c.r.ReadString('\n'); err != nil || reply[0] != '-' {
			t.Fatalf("%q, %v", reply, err)
		}
	}
	eventually(t, "all failures are noted", func() bool { return len(s.see.failures.latest(100)) == 6 })
	reasons := map[string]string{}
	for _, f := range s.see.failures.latest(100) {
		reasons[f.kind+" "+f.key] = fmt.Sprint(f.reason, " ", f.times)
		if strings.Contains(fmt.Sprint(f), "secret-token") {
			t.Errorf("a token is remembered: %+v", f)
		}
		if f.client != c.LocalAddr().String() || f.text == "" || time.Since(f.at) > patience {
			t.Errorf("%+v", f)
		}
	}
	for what, want := range map[string]string{
		"acquire lock:a": "no_quorum 2", "script lock:c": "invalid 1", "script ": "invalid 1", "secretive ": "not_served 1", "hset ": "not_served 1",
	} {
		if reasons[what] != want {
			t.Errorf("%s: %q, want %q", what, reasons[what], want)
		}
	}
	got := table(t, s, connect(s), "REDLOCK FAILURES")
	if len(got) != 8 || !like(got[0], "failures and refusals, the latest first: 6") || !strings.Contains(strings.Join(got, "\n"), "0 of 3 masters answered and 0 agreed, 2 needed; the outcome is unknown; a:1: down") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	wantTable(t, table(t, s, connect(s), "REDLOCK FAILURES COUNT 1"), "failures and refusals, the latest first: 1", "TIME TIMES REASON COMMAND KEY CLIENT TEXT", "20…Z 1 … hset - 127.0.0.1:… only strings that are locks are kept; …")
}

func TestWhatAUserMayNotDoIsAFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(path, []byte("user default on nopass ~billing:* resetchannels +@all -del\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(Config{Logger: slog.New(slog.DiscardHandler)}, func(int) (quorum, error) { return newFakeQuorum(), nil })
	var err error
	if s.users, err = usersOf(path, &s.env); err != nil {
		t.Fatal(err)
	}
	_, addr := serveOn(t, s)
	c := dial(t, addr)
	c.send("SET lock:a secret-token NX PX 1000", "DEL billing:a", "DEL billing:a", "PUBLISH jobs secret-token")
	for i := range 4 {
		if reply, err := c.r.ReadString('\n'); err != nil || !strings.HasPrefix(reply, "-NOPERM ") {
			t.Fatalf("reply %d: %q, %v", i, reply, err)
		}
	}
	var got []string
	for _, f := range s.see.failures.latest(9) {
		got = append(got, fmt.Sprint(f.kind, " ", f.reason, " ", f.key, " ", f.times, " ", f.text))
	}
	slices.Sort(got)
	want := []string{
		`del no_permission billing:a 2 user "default": this user has no permissions to run the 'del' command`,
		`publish no_permission  1 user "default": this user has no permissions to access one of the channels used as arguments`,
		`set no_permission lock:a 1 user "default": this user has no permissions to access one of the keys used as arguments`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestWhatEndsATransactionIsAFailure(t *testing.T) {
	s, addr := serve(t, Config{}, newFakeQuorum())
	c := dial(t, addr)
	c.send("MULTI", "SECRETIVE secret-token", "INFO secret-token")
	c.want("+OK")
	eventually(t, "both are noted", func() bool { return len(s.see.failures.latest(9)) == 2 })
	for _, f := range s.see.failures.latest(9) {
		if got := f.kind + " " + f.reason; got != "secretive not_served" && got != "transaction invalid" || strings.Contains(f.text, "secret-token") {
			t.Errorf("%+v", f)
		}
	}
}

func TestOperationsWhoseClientLeftAreFailures(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("SET lock:a x NX PX 1000")
	op := q.take(1)[0]
	c.SetLinger(0)
	c.Close()
	eventually(t, "the session is over", func() bool { return len(s.see.failures.latest(1)) == 1 })
	done(op)
	if f := s.see.failures.latest(1)[0]; f.reason != "abandoned" || f.kind != "acquire" || f.key != "lock:a" {
		t.Errorf("%+v", f)
	}
}

func TestFailuresAreBoundedAndLikeOnesCounted(t *testing.T) {
	var f failures
	for i := range 3 * failuresKept {
		f.note(failure{at: time.Unix(int64(i), 0), kind: "acquire", reason: "no_quorum", key: fmt.Sprint(i), text: strings.Repeat("x", 2*maxFailureText)})
	}
	for i := range 1000 {
		f.note(failure{at: time.Unix(int64(10_000+i), 0), kind: "hget", reason: reasonNotServed})
	}
	all := f.latest(1000)
	if len(all) != failuresKept || all[0].times != 1000 || all[0].kind != "hget" || all[1].key != fmt.Sprint(3*failuresKept-1) || len(all[1].text) > maxFailureText+3 {
		t.Errorf("%d remembered, %+v, %+v", len(all), all[0], all[1])
	}
}

func TestContendedKeysAreFoundAmongMany(t *testing.T) {
	var c contended
	now := time.Unix(1000, 0)
	long, seed := strings.Repeat("long", 100), maphash.MakeSeed()
	hash := func(key string) uint64 { return hashKey(seed, 0, []byte(key)) }
	for i := range 20_000 {
		rare := fmt.Sprint("rare", i)
		c.deny(hash(rare), 0, []byte(rare), now)
		if i%10 == 0 {
			c.deny(hash(long), 0, []byte(long), now)
		}
		if i%20 == 0 {
			c.deny(hash("often"), 0, []byte("often"), now)
		}
	}
	top := c.top(2, now)
	if len(top) != 2 || top[0].key != long[:contendedKey]+"…" || top[1].key != "often" {
		t.Fatalf("%+v", top)
	}
	for i, real := range []uint64{2000, 1000} {
		if got := top[i]; got.count < real || got.count-got.surplus > real {
			t.Errorf("%s: %s denials, it was %d", got.key, got.denials(), real)
		}
	}
	if n := len(c.top(10_000, now.Add(90*time.Second))); n == 0 {
		t.Error("all is forgotten after a minute and a half")
	}
	if left := c.top(10_000, now.Add(3*time.Minute)); len(left) > 0 {
		t.Errorf("after three minutes: %+v", left)
	}
}

func TestDeniedAcquiresAreContention(t *testing.T) {
	q := newFakeQuorum()
	q.start = func(op *redlock.Op) {
		op.Outcome = redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text, Value: []byte("other"), TTL: 100}}
		op.Done(op)
	}
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("SET lock:a x NX PX 1000", "SET lock:a y NX PX 1000", "SELECT 3", "SET lock:a y NX PX 1000", "DELEX lock:a IFEQ z", "GET lock:b")
	c.want("$-1", "$-1", "+OK", "$-1", ":0")
	c.wantBulk("other")
	eventually(t, "three denials", func() bool { return len(table(t, s, connect(s), "REDLOCK CONTENDED")) == 4 })
	wantTable(t, table(t, s, connect(s), "REDLOCK CONTENDED"), "keys that were denied most in the last one to two minutes: 2", "DENIED DB KEY", "2 0 lock:a", "1 3 lock:a")
}

// A lock's age is that of its grant: an extension does not change it, another
// token does.
func TestAgeOfLocksGrantedHere(t *testing.T) {
	q := newFakeQuorum()
	q.start = done
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("SET lock:a token NX PX 1000", "EVAL \"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 1000)\" 1 lock:b token")
	c.want("+OK", "+OK")
	known := func(db int, key, token string) bool {
		age, known := s.see.grants.age(hashKey(s.seed, db, []byte(key)), s.see.marks.mark([]byte(token)), time.Since(s.started))
		return known && age < time.Minute
	}
	eventually(t, "the grants are noted", func() bool { return known(0, "lock:a", "token") && known(0, "lock:b", "token") })
	if known(0, "lock:a", "other") || known(1, "lock:a", "token") || known(0, "lock:c", "token") {
		t.Error("the age of locks is known that were not granted here")
	}
	var g grants
	g.note(1, 2, 10*time.Second)
	if age, known := g.age(1, 2, 75*time.Second); !known || age != 65*time.Second {
		t.Errorf("age %v, %v", age, known)
	}
}

func TestMasksHideValues(t *testing.T) {
	m, other := newMarker(), newMarker()
	a, b := m.mask(m.mark([]byte("a"))), m.mask(m.mark([]byte("b")))
	if a == b || a != m.mask(m.mark([]byte("a"))) || len(a) != 8 {
		t.Errorf("masks %q and %q", a, b)
	}
	other.seed = m.seed
	if other.mask(m.mark([]byte("a"))) == a {
		t.Error("the mask does not depend on the key")
	}
}

// What is noted of operations that succeed, or are denied, must not cost memory.
func TestNotingDoesNotAllocate(t *testing.T) {
	s, _ := newTestServer(t)
	sl := newSlot().(*slot)
	sl.s = &session{srv: s}
	sl.lock.Swaps = []redlock.Swap{lockSwapOf("lock:a", "token")}
	sl.prepare(nil)
	now := time.Now()
	granted := redlock.Outcome{Applied: true, Case: redlock.CaseAbsent}
	denied := redlock.Outcome{Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text}}
	for _, test := range []struct {
		out redlock.Outcome
		r   result
	}{{granted, resultApplied}, {denied, resultHeld}} {
		sl.outs[0] = test.out
		if n := testing.AllocsPerRun(100, func() { sl.answered(test.r, now) }); n != 0 {
			t.Errorf("%v: %v allocations, want none", test.r, n)
		}
	}
	if len(s.see.contended.top(1, now)) != 1 {
		t.Error("nothing was noted")
	}
}

func BenchmarkNoting(b *testing.B) {
	locks := threeMasters()
	s, err := NewServer(Config{Locks: locks})
	if err != nil {
		b.Fatal(err)
	}
	sl := newSlot().(*slot)
	sl.s = &session{srv: s}
	sl.lock.Swaps = []redlock.Swap{lockSwapOf("lock:a", "0123456789abcdef")}
	sl.prepare(nil)
	now := time.Now()
	for r, out := range map[result]redlock.Outcome{
		resultApplied: {Applied: true, Case: redlock.CaseAbsent},
		resultHeld:    {Case: redlock.CaseOther, State: redlock.State{Kind: redlock.Text}},
	} {
		b.Run(r.String(), func(b *testing.B) {
			sl.outs[0] = out
			b.ReportAllocs()
			for b.Loop() {
				sl.answered(r, now)
			}
		})
	}
}

func lockSwapOf(key, token string) redlock.Swap {
	return redlock.Swap{Key: []byte(key), Absent: redlock.Leaf{Effect: redlock.Set, Value: []byte(token), TTL: 30_000}}
}
