package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// setOptions are SET's options, of which Redis takes some together and some
// not, with values that it takes and that it does not.
func setOptions() (all [][]string) {
	expiries := [][]string{nil, {"KEEPTTL"}, {"EX", "60", "PX", "60000"}, {"PX", "60000", "KEEPTTL"}, {"EX"}, {"PERSIST"}}
	now := time.Now().Unix()
	for _, n := range []string{
		"60000", "123.45", "0", "-1", "", "abc", "1e3", " 10", "9223372036854775807", "9223372036854775808",
		"31557600000000", "9223372036854776", "9223372036854775",
	} {
		expiries = append(expiries, []string{"EX", n}, []string{"PX", n}, []string{"EXAT", n}, []string{"PXAT", n})
	}
	for _, offset := range []int64{-100, 100} {
		expiries = append(expiries,
			[]string{"EXAT", strconv.FormatInt(now+offset, 10)}, []string{"PXAT", strconv.FormatInt((now+offset)*1000, 10)})
	}
	for _, condition := range [][]string{nil, {"NX"}, {"XX"}, {"NX", "XX"}} {
		for _, get := range [][]string{nil, {"GET"}} {
			for _, expiry := range expiries {
				all = append(all, join(condition, get, expiry), join(expiry, get, condition), join(get, expiry, condition))
			}
		}
	}
	return all
}

func join(lists ...[]string) (joined []string) {
	for _, l := range lists {
		joined = append(joined, l...)
	}
	return joined
}

// mixedCase spells each option in its own way.
func mixedCase(rnd *rand.Rand, options []string) []string {
	mixed := make([]string, len(options))
	for i, o := range options {
		switch rnd.IntN(3) {
		case 0:
			o = strings.ToLower(o)
		case 1:
			o = o[:len(o)/2] + strings.ToLower(o[len(o)/2:])
		}
		mixed[i] = o
	}
	return mixed
}

// setStates are what may be at the key before, as commands.
var setStates = map[string][]string{
	"free":  nil,
	"held":  {"SET", "", "value", "PX", "500000"},
	"other": {"SET", "", "other", "PX", "500000"},
}

// TestOptionsOfSetAreLikeRedis: in every order and case, on every state; the
// reply, or the text of the error, is the one of a real server, and so is what
// is stored, but for TTLs that it has not (pitfalls 28, 29 and 32).
func TestOptionsOfSetAreLikeRedis(t *testing.T) {
	plain := dial(t, startRedis(t).Addr())
	proxy := dial(t, startProxy(t, startMasters(t, 3)).Addr)
	rnd := rand.New(rand.NewPCG(1, 2))
	checked, wrong := 0, 0
	for state, setup := range setStates {
		for i, options := range setOptions() {
			key := fmt.Sprint(state, i)
			commands := [][]string{append([]string{"set", key, "value"}, mixedCase(rnd, options)...), {"GET", key}, {"PTTL", key}}
			if setup != nil {
				before := append([]string{}, setup...)
				before[1] = key
				commands = append([][]string{before}, commands...)
			}
			want, got := all(t, plain, commands), all(t, proxy, commands)
			last := len(commands) - 1
			sameTTL := sameTTL(got[last], want[last])
			got[last], want[last] = "", ""
			checked++
			if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w || !sameTTL {
				if wrong++; wrong <= 10 {
					t.Errorf("%q, %s: got %s, want %s, same TTL %v", options, state, g, w, sameTTL)
				}
			}
		}
	}
	t.Logf("%d commands, %d wrong", checked, wrong)
}

// all sends commands in one write and reads their replies.
func all(t *testing.T, c *harness.Conn, commands [][]string) []string {
	t.Helper()
	for _, args := range commands {
		c.Queue(args...)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	replies := make([]string, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = c.Read(); err != nil {
			t.Fatalf("%q: %v", commands[i], err)
		}
	}
	return replies
}

// sameTTL compares PTTL through the proxy with that of a plain server, some
// time apart. What a plain server keeps for ever gets the default TTL of a day;
// what ends with the last millisecond that a server can count cannot be kept
// any longer there than that, so a client is shown a little less.
func sameTTL(got, want string) bool {
	g, err1 := strconv.ParseInt(got[1:], 10, 64)
	w, err2 := strconv.ParseInt(want[1:], 10, 64)
	if w == -1 {
		w = 24 * 3600 * 1000
	}
	return err1 == nil && err2 == nil && (g == w || g > 0 && w > 0 && max(g-w, w-g) < max(10_000, w/1000))
}

// TestTokensAndKeysAreByteExact, whatever is in them and however long they are
// (pitfall 31).
func TestTokensAndKeysAreByteExact(t *testing.T) {
	odd := []string{"", "\x00", "a\x00b", "\r\n", "$5\r\nhello\r\n", "\xff\xfe\x80", " ", "%s%n", "{tag}", `"quoted"`, strings.Repeat("long ", 1000)}
	values := append(slices.Clone(odd), strings.Repeat("\x00\r\n\xff", 1<<18)) // 1 MB
	m := startMasters(t, 3)
	for name, addr := range map[string]string{"plain": startRedis(t).Addr(), "proxy": startProxy(t, m, "--op-timeout", "2s").Addr} {
		c := dial(t, addr)
		for i, value := range values {
			for j, key := range odd {
				if i > 2 && j > 2 && i != j {
					continue // not each with each
				}
				expect(t, c, "+OK", acquire(key, value, lockTTL)...)
				expect(t, c, "$-1", acquire(key, value+"x", lockTTL)...)
				if got := on(t, c, "GET", key); got != strconv.Quote(value) {
					t.Errorf("%s: key %.20q: GET shows %.40s…, want %.40q…", name, key, got, value)
				}
				if name == "proxy" {
					eventually(t, soon, func() error {
						if n := m.holding(t, key, value); n != len(m) {
							return fmt.Errorf("%d masters hold %.20q byte for byte", n, key)
						}
						return nil
					})
				}
				expect(t, c, ":0", release(key, value+"x")...)
				expect(t, c, ":1", extend(key, value, lockTTL)...)
				expect(t, c, ":1", release(key, value)...)
			}
		}
	}
	m.waitEmpty(t, soon)
}

// TestNoGrantThatIsOverAlready: a TTL of some milliseconds over masters that
// are further away than that. Who is told that it has the lock has it for that
// long; it is an error otherwise (pitfall 30).
func TestNoGrantThatIsOverAlready(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	c := dial(t, startProxyOn(t, addrs).Addr)
	for _, r := range relays {
		r.Delay(20 * time.Millisecond)
	}
	for _, ttl := range []string{"1", "2", "3", "5"} {
		if got := on(t, c, acquire("far:"+ttl, "mine", ttl)...); !orNoQuorum(got) {
			t.Errorf("TTL %s ms over masters that are 40 ms away: got %s, want -NOQUORUM …", ttl, got)
		}
		if got := on(t, c, "EXISTS", "far:"+ttl); got != ":0" {
			t.Errorf("TTL %s ms: the lock that was refused is there: %s", ttl, got)
		}
	}
	expect(t, c, "+OK", acquire("far", "mine", "1000")...)
}

// TestAShortLockIsTheHoldersForItsTTL: the next one gets it no sooner, whoever
// asks as fast as it can, through another proxy (pitfall 30).
func TestAShortLockIsTheHoldersForItsTTL(t *testing.T) {
	m := startMasters(t, 3)
	one, two := dial(t, startProxy(t, m).Addr), dial(t, startProxy(t, m).Addr)
	for _, ttl := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		ms := strconv.FormatInt(ttl.Milliseconds(), 10)
		granted := 0
		for i := range 20 {
			key := fmt.Sprintf("short:%s:%d", ms, i)
			if got := on(t, one, acquire(key, "mine", ms)...); got != "+OK" {
				continue // the machine was too slow for such a lock
			}
			granted++
			// The holder's time runs from when its reply was sent, which is
			// before it has read it.
			read := time.Now()
			eventually(t, soon, func() error {
				if got := on(t, two, acquire(key, "rival", lockTTL)...); got != "+OK" {
					return fmt.Errorf("acquire: %s", got)
				}
				return nil
			})
			if early := ttl - time.Since(read); early > 500*time.Microsecond {
				t.Errorf("a lock of %v was somebody else's %v before its end", ttl, early)
			}
		}
		if granted == 0 {
			t.Errorf("no lock of %v was granted", ttl)
		}
	}
}

// TestScriptsInPipelines: SCRIPT LOAD and EXISTS are answered, an unknown script
// has its place in line, and what comes behind it is done (pitfalls 33 and 34).
func TestScriptsInPipelines(t *testing.T) {
	const unknown = "ffffffffffffffffffffffffffffffffffffffff"
	forEachTarget(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		expect(t, c, "-NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", unknown, "1", "k", "mine")
		sha, err := strconv.Unquote(on(t, c, "SCRIPT", "LOAD", releaseScript))
		if err != nil || len(sha) != 40 {
			t.Fatalf("SCRIPT LOAD: %q, error %v", sha, err)
		}
		expect(t, dial(t, addr), "[:1 :0 :1]", "SCRIPT", "EXISTS", sha, unknown, strings.ToUpper(sha))
		var commands [][]string
		var want []string
		for i := range 100 {
			key := fmt.Sprint("k", i)
			commands = append(commands, acquire(key, "mine", lockTTL), []string{"EVALSHA", unknown, "1", key, "mine"},
				[]string{"EVALSHA", sha, "1", key, "rival"}, []string{"EVALSHA", sha, "1", key, "mine"})
			want = append(want, "+OK", "-NOSCRIPT No matching script. Please use EVAL.", ":0", ":1")
		}
		if got := all(t, c, commands); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %.400s…, want %.400s…", fmt.Sprint(got), fmt.Sprint(want))
		}
	})
}

// TestEveryFailureIsCountedByItsReason: what a library reports as "false" can
// be told apart in the metrics (pitfall 27).
func TestEveryFailureIsCountedByItsReason(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	operations := func(kind, result string) string {
		return fmt.Sprintf("redlock_proxy_operations_total{kind=%q,result=%q}", kind, result)
	}
	counted := func(series string, args ...string) {
		t.Helper()
		before := stateOf(t, p, series)
		on(t, c, args...)
		eventually(t, soon, func() error {
			if got := stateOf(t, p, series); got != before+1 {
				return fmt.Errorf("%.40q: %s went from %v to %v", args, series, before, got)
			}
			return nil
		})
	}
	counted(operations("acquire", "applied"), acquire("k", "mine", lockTTL)...)
	counted(operations("acquire", "held"), acquire("k", "rival", lockTTL)...)
	counted(operations("acquire", "invalid"), acquire("k", "mine", "0")...)
	counted(operations("extend", "applied"), extend("k", "mine", lockTTL)...)
	counted(operations("extend", "held"), extend("k", "rival", lockTTL)...)
	counted(operations("extend", "absent"), extend("gone", "mine", lockTTL)...)
	counted(operations("release", "held"), release("k", "rival")...)
	counted(operations("release", "absent"), release("gone", "mine")...)
	m[0].Freeze()
	m[1].Freeze()
	counted(operations("acquire", "no_quorum"), acquire("other", "mine", lockTTL)...)
	counted(operations("extend", "no_quorum"), extend("k", "mine", lockTTL)...)
	m[0].Thaw()
	m[1].Thaw()
}
