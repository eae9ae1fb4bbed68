package resp

import (
	"bytes"
	"math"
	"strconv"
)

// What Redis itself bounds, whatever the limits: numbers above are invalid,
// also where a smaller limit would have its own text.
const (
	redisMaxArgs = math.MaxInt32
	redisMaxBulk = 512 << 20
)

// piece is what a framer found at the beginning of its bytes.
type piece uint8

const (
	incomplete piece = iota // the beginning of something: more bytes are needed
	wholeArray              // a command, as an array of bulk strings
	emptyArray              // nothing to be done
	wholeLine               // an inline command, or an empty line
)

// framer finds the end of a command whose bytes arrive in pieces. It remembers
// how far it has looked, so a command costs the same whether it comes at once
// or byte by byte. The zero framer is at the beginning of a command.
//
// Redis does not look at the two bytes after an argument. The framer wants
// CRLF there, as redcon does: a client that counts characters instead of bytes
// would otherwise have its last argument, a token perhaps, silently cut short.
type framer struct {
	pos  int // where the next header or argument begins, from the start of the command
	args int // arguments still to come; 0 if the header of the command is
	need int // bytes of the argument at pos, with its CRLF; 0 if its header is still to come
	seen int // the line being read does not end before here
}

// next looks at b, the bytes from the start of the command on; it is never
// empty, and in the next call has the same bytes and more after them. If the
// command is whole, n is its length, and the framer is at the next one. A
// fault is returned again by each further call, unless l has changed.
func (f *framer) next(b []byte, l *bounds) (n int, what piece, err error) {
	if f.args == 0 {
		if b[0] != '*' {
			return f.line(b, l)
		}
		what, err := f.arrayHeader(b, l)
		if err != nil || what == incomplete {
			return 0, incomplete, err
		}
		if what == emptyArray {
			return f.done(f.pos), emptyArray, nil
		}
	}
	for ; f.args > 0; f.args-- {
		if ok, err := f.argument(b, l); !ok {
			return 0, incomplete, err
		}
	}
	return f.done(f.pos), wholeArray, nil
}

// done makes the framer ready for the next command and returns n.
func (f *framer) done(n int) int {
	*f = framer{}
	return n
}

// arrayHeader reads "*3\r\n".
func (f *framer) arrayHeader(b []byte, l *bounds) (piece, error) {
	n, end := f.number(b, l)
	switch {
	case n == tooLong:
		return incomplete, errArrayHeader
	case end == 0:
		return incomplete, nil
	case n == malformed || n > redisMaxArgs:
		return incomplete, errArrayLength
	case n > int64(l.args):
		return incomplete, l.tooManyArgs
	}
	f.pos = end
	if n <= 0 {
		return emptyArray, nil
	}
	f.args = int(n)
	return wholeArray, nil
}

// argument reads "$5\r\ntoken\r\n" and reports whether it was all there.
func (f *framer) argument(b []byte, l *bounds) (ok bool, err error) {
	if f.need == 0 {
		if ok, err := f.bulkHeader(b, l); !ok {
			return false, err
		}
	}
	end := f.pos + f.need
	if len(b) < end {
		return false, nil
	}
	if b[end-2] != '\r' || b[end-1] != '\n' {
		return false, errBulkLength
	}
	f.pos, f.need = end, 0
	return true, nil
}

// bulkHeader reads "$5\r\n" and reports whether it was all there.
func (f *framer) bulkHeader(b []byte, l *bounds) (ok bool, err error) {
	if f.pos == len(b) {
		return false, nil
	}
	if b[f.pos] != '$' {
		return false, errNoBulk(b[f.pos])
	}
	n, end := f.number(b, l)
	switch {
	case n == tooLong:
		return false, errBulkHeader
	case end == 0:
		return false, nil
	case n < 0 || n > redisMaxBulk:
		return false, errBulkLength
	case n > int64(l.bulk):
		return false, l.tooLongBulk
	case int64(end)+n+2 > int64(l.command):
		return false, errBulkLength
	}
	f.pos, f.need = end, int(n)+2
	return true, nil
}

// Results of number that are not the number.
const (
	negative  = -1 // some number below zero
	malformed = -2 // no number, or one of more than 64 bits
	tooLong   = -3 // the line is, or will be, too long
)

// number reads the number after the type byte at pos. end is where its line
// ends, 0 if it does not end yet.
func (f *framer) number(b []byte, l *bounds) (n int64, end int) {
	first := f.pos + 1
	i := first
	for ; i < len(b) && b[i]-'0' <= 9 && i-first < 10; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' && i > first && (b[first] != '0' || i == first+1) {
		return n, i + 2
	}
	return f.oddNumber(b, l)
}

// oddNumber is number for lines that are incomplete, or hold something else
// than a number of up to ten digits. Like Redis it takes all up to the first CR
// for the number, and wants it in its shortest form: no "+1", no "01".
func (f *framer) oddNumber(b []byte, l *bounds) (n int64, end int) {
	first := f.pos + 1
	f.seen = max(f.seen, first)
	cr := bytes.IndexByte(b[f.seen:], '\r')
	if cr < 0 {
		f.seen = len(b)
	} else {
		f.seen += cr
	}
	switch {
	case f.seen-f.pos > l.line:
		return tooLong, 0
	case f.seen+1 >= len(b):
		return 0, 0
	case b[f.seen+1] == '\n' && isNegative(b[first:f.seen]):
		return negative, f.seen + 2
	}
	return malformed, f.seen + 2
}

// isNegative reports whether s is a number below zero in its shortest form.
func isNegative(s []byte) bool {
	if len(s) < 2 || len(s) > len("-9223372036854775808") || s[0] != '-' || s[1] == '0' {
		return false
	}
	_, err := strconv.ParseInt(string(s), 10, 64)
	return err == nil
}

// line reads a line that ends with LF. A zero byte ends the attempt: Redis
// would wait for more, and what sends one is not a client.
func (f *framer) line(b []byte, l *bounds) (n int, what piece, err error) {
	end := bytes.IndexByte(b[f.seen:], '\n')
	text := b[f.seen:]
	if end >= 0 {
		text = text[:end]
	}
	switch {
	case isTLS(b):
		return 0, incomplete, errTLS
	case bytes.IndexByte(text[:min(len(text), l.line+1-f.seen)], 0) >= 0:
		return 0, incomplete, errBinary
	case f.seen+len(text) > l.line:
		return 0, incomplete, errInlineLength
	case end < 0:
		f.seen = len(b)
		return 0, incomplete, nil
	}
	return f.done(f.seen + end + 1), wholeLine, nil
}

// isTLS reports whether b begins like a TLS connection.
func isTLS(b []byte) bool {
	const handshake, major = 0x16, 3 // type and version of the first record
	return len(b) > 1 && b[0] == handshake && b[1] == major
}
