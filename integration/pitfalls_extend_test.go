package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// TestNoIsTheScriptsOwnNo: who extends or releases what is not his gets the
// reply of his own script, in its own type, and is told apart from who does it
// to nothing if the script tells them apart (pitfalls 19 and 20).
func TestNoIsTheScriptsOwnNo(t *testing.T) {
	scripts := map[string]string{
		"an integer": `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
		"a negative": `local v = redis.call('GET', KEYS[1]) if v == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1 end if v then return -1 end return -2`,
		"nil":        `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return false`,
		"a status":   `local v = redis.call('GET', KEYS[1]) if not v then return redis.status_reply('GONE') end if v ~= ARGV[1] then return redis.status_reply('OTHER') end redis.call('DEL', KEYS[1]) return redis.status_reply('OK')`,
		"a string":   `local v = redis.call('GET', KEYS[1]) if not v then return 'gone' end if v ~= ARGV[1] then return 'other' end redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 'extended'`,
		"an error":   `local v = redis.call('GET', KEYS[1]) if not v then return redis.error_reply('GONE it is') end if v ~= ARGV[1] then return redis.error_reply('OTHER holder') end return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
		"a list":     `local v = redis.call('GET', KEYS[1]) if v == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return {1, v} end return {0, v or 'none'}`,
		"a boolean":  `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 1`,
	}
	plain := dial(t, startRedis(t).Addr())
	proxy := dial(t, startProxy(t, startMasters(t, 3)).Addr)
	for name, script := range scripts {
		for _, holder := range []string{"", "mine", "rival"} {
			var replies [2]string
			for i, c := range []*harness.Conn{plain, proxy} {
				on(t, c, "DEL", "k")
				if holder != "" {
					expect(t, c, "+OK", acquire("k", holder, lockTTL)...)
				}
				replies[i] = on(t, c, "EVAL", script, "1", "k", "mine", lockTTL)
			}
			if replies[0] != replies[1] {
				t.Errorf("%s, held by %q: got %s, want %s", name, holder, replies[1], replies[0])
			}
		}
	}
}

// TestAnExtendGivesTheLockBack to a master that has lost it and votes, so that
// the next one may fail (pitfall 21).
func TestAnExtendGivesTheLockBack(t *testing.T) {
	m := startMasters(t, 3)
	c := dial(t, startProxy(t, m).Addr)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	waitHeld(t, m, "held", "mine")
	do(t, m[2].Addr(), "DEL", "held")
	expect(t, c, ":1", extend("held", "mine", lockTTL)...)
	waitHeld(t, m, "held", "mine")
	m[0].Kill()
	for range 3 {
		expect(t, c, ":1", extend("held", "mine", lockTTL)...)
		expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	}
	expect(t, c, ":1", release("held", "mine")...)
}

// TestALockThatSomebodyHadInBetweenIsNotExtended: its token is still on one
// master, and that is no reason to give it to the others again (pitfall 23).
func TestALockThatSomebodyHadInBetweenIsNotExtended(t *testing.T) {
	m := startMasters(t, 3)
	c := dial(t, startProxy(t, m).Addr)
	for _, test := range []struct{ name, others, reply string }{
		{"the others have nothing", "", ":0"},
		{"the others have a rival's token", "rival", ":0"},
	} {
		for i := range 3 { // which master has the old token
			key := fmt.Sprintf("%s:%d", test.name, i)
			expect(t, c, "+OK", acquire(key, "mine", lockTTL)...)
			waitHeld(t, m, key, "mine")
			for j, r := range m {
				if j != i {
					do(t, r.Addr(), "DEL", key)
				}
				if j != i && test.others != "" {
					do(t, r.Addr(), acquire(key, test.others, lockTTL)...)
				}
			}
			expect(t, c, test.reply, extend(key, "mine", "600000")...)
			time.Sleep(50 * time.Millisecond) // a repair would be there
			if n := m.holding(t, key, "mine"); n > 1 {
				t.Errorf("%s: %d masters hold the old token after it was refused", test.name, n)
			}
			if got, want := m.holding(t, key, "rival"), 2; test.others != "" && got != want {
				t.Errorf("%s: %d masters hold the rival's token, want %d", test.name, got, want)
			}
		}
	}
}

// TestAFailedExtendLeavesTheLock as it is, with its old TTL: two of three do
// not answer (pitfall 25).
func TestAFailedExtendLeavesTheLock(t *testing.T) {
	m := startMasters(t, 3)
	c := dial(t, startProxy(t, m).Addr)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	waitHeld(t, m, "held", "mine")
	m[0].Freeze()
	m[1].Freeze()
	if got := on(t, c, extend("held", "mine", "600000")...); !orNoQuorum(got) {
		t.Errorf("extend: got %s, want -NOQUORUM …", got)
	}
	m[0].Thaw()
	m[1].Thaw()
	eventually(t, soon, func() error {
		if got := on(t, c, "GET", "held"); got != `"mine"` {
			return fmt.Errorf("GET: %s", got)
		}
		return nil
	})
	for _, r := range m[:2] {
		if got := pttl(t, r, 0, "held"); got > padded(60_000)+1 || got < 30_000 {
			t.Errorf("master %s holds it for %d ms, want what is left of %s", r.Addr(), got, lockTTL)
		}
	}
	if got := number(t, on(t, c, "PTTL", "held")); got > 60_000 || got < 30_000 {
		t.Errorf("PTTL is %d, want what is left of %s", got, lockTTL)
	}
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", extend("held", "mine", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}

// additive is the kind of extend that adds to what is left, in words of our own.
const additive = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], left + ARGV[2])
return 1`

// TestAThousandAdditiveExtends neither run away nor apart: each computes one TTL
// and every master gets that (pitfall 24).
func TestAThousandAdditiveExtends(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	const times, added = 1000, 1000
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	start := time.Now()
	for range times {
		expect(t, c, ":1", "EVAL", additive, "1", "held", "mine", strconv.Itoa(added))
	}
	checkTogether(t, m, c, "held", 60_000+times*added, start)
}

// TestAThousandExtendsByRedisPy is the same by the script and the client of
// redis-py itself, whose extend is additive.
func TestAThousandExtendsByRedisPy(t *testing.T) {
	python := redisPy(t)
	m := startMasters(t, 3)
	p := startProxy(t, m)
	const times, added = 1000, 1000
	host, port, _ := strings.Cut(p.Addr, ":")
	program := `
import sys, redis
lock = redis.Redis(sys.argv[1], int(sys.argv[2])).lock("held", timeout=60)
assert lock.acquire(blocking=False)
for _ in range(int(sys.argv[3])):
    assert lock.extend(float(sys.argv[4]) / 1000)
print("done")
`
	start := time.Now()
	out, err := exec.Command(python, "-c", program, host, port, strconv.Itoa(times), strconv.Itoa(added)).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Fatalf("redis-py: %v\n%s", err, out)
	}
	checkTogether(t, m, dial(t, p.Addr), "held", 60_000+times*added, start)
}

// checkTogether wants a key to end at the same time on all masters, a TTL in
// milliseconds after start and not much later.
func checkTogether(t *testing.T, m masters, c *harness.Conn, key string, ttl int64, start time.Time) {
	t.Helper()
	shown := number(t, on(t, c, "PTTL", key))
	// Each look at what is left rounds down and takes a little while; each
	// extend may be seen a little later than it was counted.
	if since := time.Since(start).Milliseconds(); shown > ttl || shown < ttl-2*since-2000 {
		t.Errorf("PTTL is %d, want %d less the %d ms since the start", shown, ttl, since)
	}
	eventually(t, soon, func() error {
		var ends []time.Duration
		for _, r := range m {
			looked := time.Since(start)
			ends = append(ends, looked+time.Duration(pttl(t, r, 0, key))*time.Millisecond)
		}
		for _, end := range ends {
			if apart := (end - ends[0]).Abs(); apart > 100*time.Millisecond {
				return fmt.Errorf("the masters end the lock at %v", ends)
			}
		}
		return nil
	})
	t.Logf("PTTL is %d of %d after %v", shown, ttl, time.Since(start))
}

// redisPy is a Python that has redis-py: the one of the suite in
// clients/python, or one that is made for this test from its requirements.
func redisPy(t *testing.T) string {
	t.Helper()
	suite, err := filepath.Abs("clients/python")
	if err != nil {
		t.Fatal(err)
	}
	if python := filepath.Join(suite, ".venv-redis8", "bin", "python"); exec.Command(python, "-c", "import redis").Run() == nil {
		return python
	}
	if _, err := exec.LookPath("python3"); err != nil {
		missing(t, "python3")
	}
	venv := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("Python's venv: %s", out))
	}
	python := filepath.Join(venv, "bin", "python")
	requirements := filepath.Join(suite, "requirements", "redis5.txt")
	if _, err := os.Stat(requirements); err != nil {
		t.Fatal(err)
	}
	pip := exec.Command(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--requirement", requirements)
	if out, err := pip.CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("redis-py: %s", out))
	}
	return python
}

// TestReadsAreOfAMajority: what one master says means nothing. GET, EXISTS and
// PTTL show what a majority holds, and of different TTLs one that a majority
// reaches: the third-largest of five, or less if the masters with the largest
// answered later than the others (pitfall 50).
func TestReadsAreOfAMajority(t *testing.T) {
	m := startMasters(t, 5)
	c := dial(t, startProxy(t, m).Addr)
	store := func(key string, values ...string) {
		t.Helper()
		for i, value := range values {
			if value != "" {
				do(t, m[i].Addr(), "SET", key, value, "PX", strconv.Itoa((i+1)*100_000))
			}
		}
	}
	for _, test := range []struct {
		values []string // by master, with TTLs of 100 s, 200 s, …
		want   string
		ttl    int64 // the third-largest of the value, before its padding
		least  int64 // the smallest of the value
	}{
		{[]string{"a", "", "", "", ""}, "", 0, 0},
		{[]string{"a", "a", "", "", ""}, "", 0, 0},
		{[]string{"a", "a", "a", "", ""}, "a", 100_000, 100_000},
		{[]string{"a", "a", "a", "a", "a"}, "a", 300_000, 100_000},
		{[]string{"", "a", "a", "", "a"}, "a", 200_000, 200_000},
		{[]string{"a", "b", "a", "b", "a"}, "a", 100_000, 100_000},
		{[]string{"a", "a", "b", "b", "c"}, "", 0, 0},
	} {
		key := strings.Join(test.values, ",")
		store(key, test.values...)
		wants := []string{"$-1", ":0", ":-2"}
		if test.want != "" {
			wants = []string{strconv.Quote(test.want), ":1", ""}
		}
		for i, command := range []string{"GET", "EXISTS"} {
			if got := on(t, c, command, key); got != wants[i] {
				t.Errorf("%s with %q on the masters: got %s, want %s", command, test.values, got, wants[i])
			}
		}
		got := on(t, c, "PTTL", key)
		if test.want == "" {
			if got != wants[2] {
				t.Errorf("PTTL with %q on the masters: got %s, want %s", test.values, got, wants[2])
			}
		} else if n := number(t, got); padded(n) > test.ttl || padded(n) < test.least-5000 {
			t.Errorf("PTTL with %q on the masters: got %d, want what fits into %d", test.values, n, test.ttl)
		}
	}
}
