package resp

import (
	"math"
	"strings"
	"testing"
)

// replyRow is one row of the tables below: what was appended, what it should be.
type replyRow struct {
	name string
	got  []byte
	want string
}

func checkReplies(t *testing.T, table []replyRow) {
	t.Helper()
	for _, r := range table {
		if string(r.got) != r.want {
			t.Errorf("%s: got %q, want %q", r.name, r.got, r.want)
		}
	}
}

func TestRepliesThatAreTheSameInBothProtocols(t *testing.T) {
	checkReplies(t, []replyRow{
		{"status", AppendStatus(nil, "OK"), "+OK\r\n"},
		{"error", AppendError(nil, "ERR syntax error"), "-ERR syntax error\r\n"},
		{"int", AppendInt(nil, 42), ":42\r\n"},
		{"zero", AppendInt(nil, 0), ":0\r\n"},
		{"smallest int", AppendInt(nil, math.MinInt64), ":-9223372036854775808\r\n"},
		{"largest int", AppendInt(nil, math.MaxInt64), ":9223372036854775807\r\n"},
		{"bulk", AppendBulk(nil, []byte("a\r\n\x00\xff")), "$5\r\na\r\n\x00\xff\r\n"},
		{"empty bulk", AppendBulk(nil, []byte{}), "$0\r\n\r\n"},
		{"nil bulk is an empty string, not a null", AppendBulk(nil, nil), "$0\r\n\r\n"},
		{"bulk string", AppendBulkString(nil, "token"), "$5\r\ntoken\r\n"},
		{"empty bulk string", AppendBulkString(nil, ""), "$0\r\n\r\n"},
		{"array", AppendArray(nil, 3), "*3\r\n"},
		{"empty array", AppendArray(nil, 0), "*0\r\n"},
	})
}

func TestRepliesThatDifferBetweenTheProtocols(t *testing.T) {
	for _, c := range []struct {
		name         string
		reply        func(dst []byte, proto int) []byte
		resp2, resp3 string
	}{
		{"null", AppendNull, "$-1\r\n", "_\r\n"},
		{"null array", AppendNullArray, "*-1\r\n", "_\r\n"},
		{"map", func(d []byte, p int) []byte { return AppendMap(d, p, 2) }, "*4\r\n", "%2\r\n"},
		{"set", func(d []byte, p int) []byte { return AppendSet(d, p, 2) }, "*2\r\n", "~2\r\n"},
		{"push", func(d []byte, p int) []byte { return AppendPush(d, p, 3) }, "*3\r\n", ">3\r\n"},
		{"true", func(d []byte, p int) []byte { return AppendBool(d, p, true) }, ":1\r\n", "#t\r\n"},
		{"false", func(d []byte, p int) []byte { return AppendBool(d, p, false) }, ":0\r\n", "#f\r\n"},
		{"verbatim", func(d []byte, p int) []byte { return AppendVerbatim(d, p, "txt", "a\r\nb") },
			"$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"},
	} {
		checkReplies(t, []replyRow{
			{c.name + ", RESP2", c.reply(nil, 2), c.resp2},
			{c.name + ", RESP3", c.reply(nil, 3), c.resp3},
			{c.name + ", after other bytes", c.reply([]byte("+OK\r\n"), 3), "+OK\r\n" + c.resp3},
		})
	}
}

func TestDoubles(t *testing.T) {
	for _, c := range []struct {
		f    float64
		text string
	}{
		{0, "0"}, {1, "1"}, {-1.5, "-1.5"}, {0.1, "0.1"}, {1e6, "1000000"},
		{1 << 53, "9007199254740992"}, {1e17, "1e+17"}, {1e-7, "1e-07"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"},
	} {
		resp2 := string(AppendBulkString(nil, c.text))
		checkReplies(t, []replyRow{
			{c.text + ", RESP2", AppendDouble(nil, 2, c.f), resp2},
			{c.text + ", RESP3", AppendDouble(nil, 3, c.f), "," + c.text + "\r\n"},
		})
	}
}

func TestLinesNeverContainLineBreaks(t *testing.T) {
	text := "ERR unknown command 'a\r\n+OK\nb\rc\r'"
	const want = "ERR unknown command 'a  +OK b c '\r\n"
	checkReplies(t, []replyRow{
		{"error", AppendError(nil, text), "-" + want},
		{"status", AppendStatus(nil, text), "+" + want},
		{"what stood before is left alone", AppendError([]byte(":1\r\n"), "a\nb"), ":1\r\n-a b\r\n"},
	})
}

func TestRepliesAllocateNothing(t *testing.T) {
	dst := make([]byte, 0, 4096)
	long := strings.Repeat("x", 100)
	raw := []byte(long)
	allocs := testing.AllocsPerRun(100, func() {
		d := dst
		d = AppendStatus(d, "OK")
		d = AppendError(d, long)
		d = AppendInt(d, math.MinInt64)
		d = AppendBulk(d, raw)
		d = AppendBulkString(d, long)
		d = AppendMap(AppendSet(AppendPush(AppendArray(d, 1), 3, 2), 3, 3), 3, 4)
		d = AppendNull(AppendNullArray(d, 2), 2)
		d = AppendVerbatim(d, 3, "txt", long)
		d = AppendBool(AppendDouble(d, 3, math.Pi), 3, true)
		_ = AppendDouble(d, 2, math.MaxFloat64)
	})
	if allocs != 0 {
		t.Errorf("got %v allocations per run, want 0", allocs)
	}
}
