package resp

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// scribe writes replies as a program says, one operation a byte, and notes what
// a reader has to find.
type scribe struct {
	program []byte
	text    string
	number  int64
	float   float64
	proto   int
	reply   []byte
	want    strings.Builder
}

// value writes one value.
func (s *scribe) value(depth int) {
	op := byte(0)
	if len(s.program) > 0 {
		op, s.program = s.program[0], s.program[1:]
	}
	length := int(op >> 4)
	note := func(format string, args ...any) { fmt.Fprintf(&s.want, format, args...) }
	line := strings.NewReplacer("\r", " ", "\n", " ").Replace(s.text)
	switch p := s.proto; op % 14 {
	case 0:
		s.reply = AppendStatus(s.reply, s.text)
		note("+%q ", line)
	case 1:
		s.reply = AppendError(s.reply, s.text)
		note("-%q ", line)
	case 2:
		s.reply = AppendInt(s.reply, s.number)
		note(":%d ", s.number)
	case 3:
		s.reply = AppendBulk(s.reply, []byte(s.text))
		note("%q ", s.text)
	case 4:
		s.reply = AppendBulkString(s.reply, s.text)
		note("%q ", s.text)
	case 5:
		s.reply = AppendNull(s.reply, p)
		note("null ")
	case 6:
		s.reply = AppendNullArray(s.reply, p)
		note("null ")
	case 7:
		s.reply = AppendVerbatim(s.reply, p, "txt", s.text)
		note("%q ", s.text)
	case 8:
		s.reply = AppendDouble(s.reply, p, s.float)
		if p == 3 {
			note("%v ", s.float)
		} else {
			note("%q ", appendFloat(nil, s.float))
		}
	case 9:
		s.reply = AppendBool(s.reply, p, length > 7)
		note("%s ", map[bool]string{true: ":1", false: ":0"}[length > 7])
	case 10:
		s.list(depth, length, AppendArray(s.reply, length))
	case 11:
		s.list(depth, 2*length, AppendMap(s.reply, p, length))
	case 12:
		s.list(depth, length, AppendSet(s.reply, p, length))
	case 13:
		s.list(depth, length, AppendPush(s.reply, p, length))
	}
}

// list writes the elements after a header, or, where it is deep enough or the
// program at its end, a number in the header's place.
func (s *scribe) list(depth, length int, header []byte) {
	if depth > 4 || len(s.program) == 0 {
		s.reply = AppendInt(s.reply, int64(length))
		fmt.Fprintf(&s.want, ":%d ", length)
		return
	}
	s.reply = header
	s.want.WriteString("[ ")
	for range length {
		s.value(depth + 1)
	}
	s.want.WriteString("] ")
}

// read shows the first value in b the way a scribe notes it, by the letter of
// the protocol, and returns what follows.
func read(t *testing.T, b string, proto int) (shown, rest string) {
	line, rest, ok := strings.Cut(b, "\r\n")
	if !ok || line == "" || strings.ContainsAny(line, "\r\n") {
		t.Fatalf("no line: %q", b)
	}
	if proto == 2 && !strings.ContainsRune("+-:$*", rune(line[0])) {
		t.Fatalf("no RESP2: %q", b)
	}
	switch kind, text := line[0], line[1:]; kind {
	case '+', '-':
		return fmt.Sprintf("%c%q ", kind, text), rest
	case ':':
		return ":" + text + " ", rest
	case '_':
		return "null ", rest
	case '#':
		return map[string]string{"t": ":1 ", "f": ":0 "}[text], rest
	case ',':
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%v ", f), rest
	case '$', '=', '*', '~', '>', '%':
		return readSized(t, kind, text, rest, proto)
	}
	t.Fatalf("no such type: %q", b)
	return "", ""
}

func readSized(t *testing.T, kind byte, length, rest string, proto int) (shown, after string) {
	n, err := strconv.Atoi(length)
	if err != nil || n < -1 || n == -1 && proto == 3 {
		t.Fatalf("length %q", length)
	}
	switch {
	case n == -1:
		return "null ", rest
	case kind == '$', kind == '=':
		body := rest[:n]
		if rest[n:n+2] != "\r\n" {
			t.Fatalf("no end: %q", rest)
		}
		if kind == '=' {
			body = body[len("txt:"):]
		}
		return fmt.Sprintf("%q ", body), rest[n+2:]
	case kind == '%':
		n *= 2
	}
	shown = "[ "
	for range n {
		var one string
		one, rest = read(t, rest, proto)
		shown += one
	}
	return shown + "] ", rest
}

// FuzzReply: whatever is put into a reply, a client reads exactly that, and
// nothing that a client has sent and is quoted can be taken for another reply.
func FuzzReply(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "a\r\n+OK\r\n", int64(-1), 1e17)
	f.Add([]byte{10 + 14*5, 11 + 14*4, 12, 13, 255, 254, 253, 1, 1}, "\x00\xff", int64(1)<<62, -0.1)
	f.Fuzz(func(t *testing.T, program []byte, text string, number int64, float float64) {
		if len(program) > 100 || len(text) > 200 {
			return
		}
		for proto := 2; proto <= 3; proto++ {
			s := &scribe{program: program, text: text, number: number, float: float, proto: proto, reply: []byte("+before\r\n")}
			s.value(0)
			got, rest := read(t, strings.TrimPrefix(string(s.reply), "+before\r\n"), proto)
			want := s.want.String()
			if got != want || rest != "" {
				t.Errorf("RESP%d %q:\n got %s, and %q behind\nwant %s", proto, s.reply, got, rest, want)
			}
		}
	})
}
