package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// padded is the TTL that masters are to store for a client's: drift of 500 ppm
// + 2 ms, and TTL/10 of slack, at least 10 ms and at most the op-timeout
// (design §4.1). All in milliseconds.
func padded(ttl int64) int64 {
	drift := ttl*500/1_000_000 + 2
	slack := min(max(ttl/10, 10), opTimeout.Milliseconds())
	return ttl + drift + slack
}

func TestStoredTTLIsTheClientsPlusItsPadding(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	for _, ttl := range []int64{200, 1000, 30_000, 86_400_000, 31_557_600_000_000} {
		key := fmt.Sprint("ttl:", ttl)
		for _, args := range [][]string{
			acquire(key, "t", fmt.Sprint(ttl)),
			extend(key, "t", fmt.Sprint(ttl)),
			{"PEXPIRE", key, fmt.Sprint(ttl)},
			{"SET", key, "t", "PX", fmt.Sprint(ttl)},
		} {
			start := time.Now()
			if got := on(t, c, args...); got != "+OK" && got != ":1" {
				t.Fatalf("%.30q: got %s", args, got)
			}
			shown := number(t, on(t, c, "PTTL", key))
			eventually(t, soon, func() error { return checkStored(t, m, key, ttl, start) })
			if shown > ttl || shown < ttl-time.Since(start).Milliseconds()-1 {
				t.Errorf("%s %d: PTTL through the proxy is %d", args[0], ttl, shown)
			}
		}
	}
}

// checkStored compares the TTL on all masters; a straggler may not have it yet.
func checkStored(t *testing.T, m masters, key string, ttl int64, start time.Time) error {
	for _, r := range m {
		got := pttl(t, r, 0, key)
		// A millisecond of rounding; the drift may be rounded up.
		high, low := padded(ttl)+1, padded(ttl)-time.Since(start).Milliseconds()-1
		if got > high || got < low {
			return fmt.Errorf("master %s stores a TTL of %d ms for one of %d, want %d to %d", r.Addr(), got, ttl, low, high)
		}
	}
	return nil
}

// number is the value of an integer reply.
func number(t *testing.T, reply string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
	if err != nil {
		t.Fatalf("got %s, want an integer", reply)
	}
	return n
}

// TestNoKeyWithoutATTL: every way of leaving it out stores the default
// (pitfall 18). That nothing is left without an expiry on the masters is
// checked at the end of every test.
func TestNoKeyWithoutATTL(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m, "--default-ttl", "1h")
	c := dial(t, p.Addr)
	const hour = 3_600_000
	for i, args := range [][]string{
		{"SET", "0", "t", "NX"},
		{"SETNX", "1", "t"},
		{"SET", "2", "t"},
		{"EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", "3", "t"},
		{"EVAL", "return redis.call('SETNX', KEYS[1], ARGV[1])", "1", "4", "t"},
	} {
		if got := on(t, c, args...); got != "+OK" && got != ":1" {
			t.Errorf("%q: got %s", args, got)
			continue
		}
		if got := number(t, on(t, c, "PTTL", strconv.Itoa(i))); got > hour || got < hour-10_000 {
			t.Errorf("%q: PTTL is %d, want the default of an hour", args, got)
		}
	}
	if n := strings.Count(p.Log(), "default-ttl") + strings.Count(p.Log(), "default TTL"); n == 0 {
		t.Errorf("the log does not say that the default TTL was used")
	}
}

func TestMaxTTL(t *testing.T) {
	c := dial(t, startProxy(t, startMasters(t, 3), "--max-ttl", "1m", "--default-ttl", "1m").Addr)
	expect(t, c, "+OK", acquire("k", "t", "60000")...)
	if got := on(t, c, acquire("long", "t", "60001")...); !strings.HasPrefix(got, "-ERR ") {
		t.Errorf("a TTL above --max-ttl: got %s, want an error", got)
	}
	expect(t, c, "$-1", "GET", "long")
}

// TestALockLapses on the proxy when its TTL is over, and not earlier.
func TestALockLapses(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		c := dial(t, addr)
		const ttl = 300 * time.Millisecond
		expect(t, c, "+OK", acquire("k", "a", strconv.FormatInt(ttl.Milliseconds(), 10))...)
		held := time.Now()
		eventually(t, soon, func() error {
			if got := on(t, c, acquire("k", "b", lockTTL)...); got != "+OK" {
				return fmt.Errorf("acquire: %s", got)
			}
			return nil
		})
		// The reply was written before it was read, so the lock may lapse a
		// little earlier than the TTL after that.
		if took := time.Since(held); took < ttl-5*time.Millisecond || took > ttl+200*time.Millisecond {
			t.Errorf("the lock lapsed after %v, want %v", took, ttl)
		}
		expect(t, c, ":0", release("k", "a")...)
		expect(t, c, ":1", release("k", "b")...)
	})
}
