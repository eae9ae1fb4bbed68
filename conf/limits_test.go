package conf

import (
	"reflect"
	"strconv"
	"testing"
	"time"
)

func TestSizesAsInRedisConf(t *testing.T) {
	for s, want := range map[string]int{
		"2000000": 2000000, "2000000b": 2000000, "2m": 2000000, "2MB": 2 << 20, "3000k": 3000000, "3000kb": 3000 << 10, "1gb": 1 << 30, "1G": 1000000000,
	} {
		if got := parse(t, []string{"--client-query-buffer-limit", s}).QueryBuffer; got != want {
			t.Errorf("%s: got %d, want %d", s, got, want)
		}
	}
}

func TestFaultySizes(t *testing.T) {
	const unreadable = " is not a size; write bytes, or a number with its unit, like 64kb, 16mb or 1gb"
	for s, want := range map[string]string{
		"mb": unreadable, "1bk": unreadable, "1.5mb": unreadable, "-1mb": unreadable, "16 mb": unreadable, "16mib": unreadable,
		"1kb": " is out of range: 1mb to 512mb", "1gb": " is out of range: 1mb to 512mb",
		"9999999999999gb": " is out of range: 1mb to 512mb", "99999999999999999999": " is out of range: 1mb to 512mb",
	} {
		if want == unreadable {
			want = strconv.Quote(s) + want
		} else {
			want = s + want
		}
		if got := faultsOf(t, []string{"--proto-max-bulk-len", s}); !reflect.DeepEqual(got, []string{"--proto-max-bulk-len: " + want}) {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}

func TestSecondsWithoutUnit(t *testing.T) {
	for s, want := range map[string]time.Duration{"0": 0, "300": 300 * time.Second, "250ms": 250 * time.Millisecond, "2m": 2 * time.Minute} {
		if got := parse(t, []string{"--timeout", s}).IdleTimeout; got != want {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
}

func TestLongestArgumentAndCommandFitEachOther(t *testing.T) {
	for _, test := range []struct {
		args        []string
		bulk, query int
	}{
		{[]string{"--proto-max-bulk-len=64mb"}, 64 << 20, 128 << 20},
		{[]string{"--client-query-buffer-limit=4mb"}, 2 << 20, 4 << 20},
		{[]string{"--proto-max-bulk-len=4mb", "--client-query-buffer-limit=5mb"}, 4 << 20, 5 << 20},
	} {
		if c := parse(t, test.args); c.MaxBulk != test.bulk || c.QueryBuffer != test.query {
			t.Errorf("%q: got %d and %d, want %d and %d", test.args, c.MaxBulk, c.QueryBuffer, test.bulk, test.query)
		}
	}
	got := faultsOf(t, []string{"--proto-max-bulk-len=4mb"}, "REDLOCK_CLIENT_QUERY_BUFFER_LIMIT=2mb")
	if want := []string{"REDLOCK_CLIENT_QUERY_BUFFER_LIMIT: 2mb has no room for an argument of 4mb (--proto-max-bulk-len)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
