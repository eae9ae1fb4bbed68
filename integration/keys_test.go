package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// recordPrefix begins the names of the proxy's own keys on a master.
const recordPrefix = "redlock-proxy:"

// dialDB connects to a master's database.
func dialDB(t *testing.T, r *harness.Redis, db int) *harness.Conn {
	t.Helper()
	c, err := r.Dial()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c, "+OK", "SELECT", strconv.Itoa(db))
	return c
}

// keysOf are the keys of database db on a master, without the proxy's own.
func keysOf(t *testing.T, r *harness.Redis, db int) []string {
	t.Helper()
	c := dialDB(t, r, db)
	defer c.Close()
	var keys []string
	list := on(t, c, "KEYS", "*")
	for rest := strings.Trim(list, "[]"); rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			t.Fatalf("KEYS: %s: %v", list, err)
		}
		rest = rest[len(quoted):]
		if key, _ := strconv.Unquote(quoted); !strings.HasPrefix(key, recordPrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// checkEveryKeyExpires reports keys without an expiry on masters that run.
func (m masters) checkEveryKeyExpires(t *testing.T) {
	for _, r := range m {
		if !r.Alive() {
			continue
		}
		r.Thaw()
		for db := range 16 {
			for _, key := range keysOf(t, r, db) {
				if ttl := pttl(t, r, db, key); ttl == -1 {
					t.Errorf("master %s holds %q in database %d without an expiry", r.Addr(), key, db)
				}
			}
		}
	}
}

// pttl is PTTL of a key on a master.
func pttl(t *testing.T, r *harness.Redis, db int, key string) int64 {
	t.Helper()
	c := dialDB(t, r, db)
	defer c.Close()
	n, err := strconv.ParseInt(strings.TrimPrefix(on(t, c, "PTTL", key), ":"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// holding counts the masters that hold key with this value. Only masters that
// answer may be asked.
func (m masters) holding(t *testing.T, key, value string) int {
	t.Helper()
	n := 0
	for _, r := range m {
		if do(t, r.Addr(), "GET", key) == strconv.Quote(value) {
			n++
		}
	}
	return n
}

// waitCounted waits until no more keys are left than the proxy counts as left to
// their TTL: a copy that was made again with another TTL is not known as the one
// that a release has missed.
func (m masters) waitCounted(t *testing.T, p *harness.Proxy) {
	t.Helper()
	eventually(t, soon, func() error {
		left := 0
		for _, r := range m {
			left += len(keysOf(t, r, 0))
		}
		if counted := series(t, p, `undo_total{result="left_to_ttl"}`); float64(left) > counted {
			return fmt.Errorf("%d keys are left, %v are counted", left, counted)
		}
		return nil
	})
}

// waitEmpty waits until no master holds a key any more, but not as long as
// their expiry would take.
func (m masters) waitEmpty(t *testing.T, timeout time.Duration) {
	t.Helper()
	eventually(t, timeout, func() error {
		for _, r := range m {
			if keys := keysOf(t, r, 0); len(keys) > 0 {
				return fmt.Errorf("master %s holds %d keys, among them %q", r.Addr(), len(keys), keys[:min(5, len(keys))])
			}
		}
		return nil
	})
}
