package resp

import (
	"errors"
	"strings"
	"testing"
)

// checkFound runs a framer over in and wants it to find, at the beginning, what
// it should, whether the bytes come at once or one by one.
func checkFound(t *testing.T, in string, l *bounds, n int, what piece, fault error) {
	t.Helper()
	var atOnce, byByte framer
	gotN, got, err := atOnce.next([]byte(in), l)
	if gotN != n || got != what || !sameFault(err, fault) {
		t.Errorf("%.80q: got %d, %d, %v, want %d, %d, %v", in, gotN, got, err, n, what, fault)
	}
	for i := 1; i <= len(in); i++ {
		gotN, got, err = byByte.next([]byte(in[:i]), l)
		if got != incomplete || err != nil {
			break
		}
	}
	if gotN != n || got != what || !sameFault(err, fault) {
		t.Errorf("%.80q byte by byte: got %d, %d, %v, want %d, %d, %v", in, gotN, got, err, n, what, fault)
	}
}

func sameFault(got, want error) bool {
	if got == nil || want == nil {
		return got == want
	}
	return got.Error() == want.Error()
}

func TestFramerFindsTheEnd(t *testing.T) {
	after := &Limits{}.policy().after
	for _, c := range []struct {
		in   string
		n    int
		what piece
	}{
		{"*1\r\n$4\r\nPING\r\n", 14, wholeArray},
		{"*1\r\n$4\r\nPING\r\n*1\r\n", 14, wholeArray},
		{"*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", 18, wholeArray},
		{"*1\r\n$4\r\nPING\r", 0, incomplete},
		{"*1\r\n$4\r\nPING", 0, incomplete},
		{"*1\r\n$4\r", 0, incomplete},
		{"*1\r\n$", 0, incomplete},
		{"*1\r\n", 0, incomplete},
		{"*1\r", 0, incomplete},
		{"*", 0, incomplete},
		{"*0\r\n*1", 4, emptyArray},
		{"*-1\r\n", 5, emptyArray},
		{"*-9223372036854775808\r\n", 23, emptyArray},
		{"\r\n\r\n", 2, wholeLine},
		{"\n", 1, wholeLine},
		{"PING\r\nPING\r\n", 6, wholeLine},
		{"PING\r", 0, incomplete},
	} {
		checkFound(t, c.in, after, c.n, c.what, nil)
	}
}

func TestFramerAppliesTheLimits(t *testing.T) {
	p := Limits{MaxArgs: 20, MaxBulk: 1000, MaxCommand: 2000, MaxInline: 100, UnauthArgs: 3, UnauthBulk: 10}.policy()
	bulk := func(n int) string { return array(strings.Repeat("x", n)) }
	two := func(n int) string { s := strings.Repeat("x", n); return array(s, s) }
	for _, c := range []struct {
		name          string
		in            string
		before, after error // faults, before login and after it
	}{
		{"arguments before login", array("a", "b", "c"), nil, nil},
		{"one more", array("a", "b", "c", "d"), errUnauthArrayLength, nil},
		{"arguments after login", array(make([]string, 20)...), errUnauthArrayLength, nil},
		{"one more", array(make([]string, 21)...), errUnauthArrayLength, errArrayLength},
		{"length before login", bulk(10), nil, nil},
		{"one more", bulk(11), errUnauthBulkLength, nil},
		{"length after login", bulk(1000), errUnauthBulkLength, nil},
		{"one more", bulk(1001), errUnauthBulkLength, errBulkLength},
		{"command", two(990), errUnauthBulkLength, nil},
		{"one more", two(991), errUnauthBulkLength, errBulkLength},
		{"line", strings.Repeat("x", 100) + "\n", nil, nil},
		{"one more", strings.Repeat("x", 101) + "\n", errInlineLength, errInlineLength},
		{"array header", "*" + strings.Repeat("1", 100), errArrayHeader, errArrayHeader},
		{"bulk header", "*1\r\n$" + strings.Repeat("1", 100), errBulkHeader, errBulkHeader},
	} {
		for bounds, fault := range map[*bounds]error{&p.before: c.before, &p.after: c.after} {
			n, what := len(c.in), wholeArray
			if fault != nil {
				n, what = 0, incomplete
			} else if c.in[0] != '*' {
				what = wholeLine
			}
			t.Run(c.name, func(t *testing.T) { checkFound(t, c.in, bounds, n, what, fault) })
		}
	}
}

// Redis would skip whatever is where CRLF should be.
func TestFramerWantsLineEndsWhereRedisDoesNotLook(t *testing.T) {
	after := &Limits{}.policy().after
	for in, fault := range map[string]error{
		"*1\rX$4\r\nPING\r\n":                      errArrayLength,
		"*1\r\n$4\rXPING\r\n":                      errBulkLength,
		"*1\r\n$4\r\nPINGab":                       errBulkLength,
		"*1\r\n$3\r\nPING\r\n":                     errBulkLength,
		"*2\r\n$4\r\nECHO\r\n$3\r\nk\u00e9y\r\n":   errBulkLength,
		"*2\r\n$4\r\nECHO\r\n$4\r\nkey\r\n$3\r\n":  errBulkLength,
		"*2\r\n$4\r\nECHO\r\n$2\r\nkey\r\n$3\r\n1": errBulkLength,
	} {
		checkFound(t, in, after, 0, incomplete, fault)
	}
}

func TestFramerKnowsForeigners(t *testing.T) {
	after := &Limits{}.policy().after
	checkFound(t, "\x16\x03\x01\x0a\x00\x01\x00\x01\xfc\x03\x03", after, 0, incomplete, errTLS)
	checkFound(t, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", after, 0, incomplete, errTLS)
	checkFound(t, "PI\x00NG\r\n", after, 0, incomplete, errBinary)
	for _, err := range []error{errHTTP, errTLS, errBinary} {
		if !errors.Is(err, ErrNotRedis) {
			t.Errorf("%v: is not ErrNotRedis", err)
		}
	}
}
