package resp

import (
	"bytes"
	"slices"
)

// inlineCommand reads the line of an inline command, without its LF, by the
// rules of redis-cli and Redis: arguments are separated by blanks; between
// double quotes \n, \r, \t, \b, \a and \x41 stand for bytes and a backslash
// makes any other byte plain; between single quotes only \' does. A closing
// quote must be followed by a blank or the end. The result is empty for a line
// of blanks.
//
// The arguments are in one buffer, whatever their number: a line of 64 KB may
// have half as many.
func inlineCommand(text []byte) (args [][]byte, err error) {
	text = bytes.TrimSuffix(text, []byte{'\r'})
	buf := make([]byte, 0, len(text)) // no argument is longer than what it was made of
	for {
		text = bytes.TrimLeft(text, " \t\n\v\f\r")
		if len(text) == 0 {
			break
		}
		rest, ok := []byte(nil), false
		start := len(buf)
		buf, rest, ok = inlineArgument(buf, text)
		if !ok {
			return nil, errInlineQuotes
		}
		args, text = append(args, buf[start:len(buf):len(buf)]), rest
	}
	if isHTTP(args) {
		return nil, errHTTP
	}
	return args, nil
}

// inlineArgument appends to buf the argument text begins with. Quotes may begin
// in the middle of it, but end it. ok is false if they are not closed, or closed
// in the middle.
func inlineArgument(buf, text []byte) (_, rest []byte, ok bool) {
	for i, c := range text {
		switch c {
		case ' ', '\t', '\n', '\r':
			return append(buf, text[:i]...), text[i:], true
		case '"', '\'':
			return inlineQuoted(append(buf, text[:i]...), text[i+1:], c)
		}
	}
	return append(buf, text...), nil, true
}

// inlineQuoted appends to buf what stands before the closing quote.
func inlineQuoted(buf, text []byte, quote byte) (_, rest []byte, ok bool) {
	for len(text) > 0 {
		c, n := text[0], 1
		switch {
		case c == quote:
			return buf, text[1:], len(text) == 1 || isInlineBlank(text[1])
		case c == '\\' && quote == '"':
			c, n = inlineEscape(text)
		case c == '\\' && len(text) > 1 && text[1] == quote:
			c, n = quote, 2
		}
		buf, text = append(buf, c), text[n:]
	}
	return nil, nil, false
}

// inlineEscape returns the byte that the escape sequence at the beginning of text
// stands for, and how long the sequence is.
func inlineEscape(text []byte) (c byte, n int) {
	if len(text) == 1 {
		return '\\', 1
	}
	switch text[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'a':
		return '\a', 2
	case 'x':
		if len(text) >= 4 && isHexDigit(text[2]) && isHexDigit(text[3]) {
			return hexDigit(text[2])<<4 | hexDigit(text[3]), 4
		}
	}
	return text[1], 2
}

func isInlineBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isHexDigit(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

// hexDigit returns the value of a hexadecimal digit.
func hexDigit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// isHTTP reports whether an inline command is the request line of an HTTP
// request, or the header that must follow one.
func isHTTP(args [][]byte) bool {
	if len(args) == 0 {
		return false
	}
	if bytes.EqualFold(args[0], []byte("post")) || bytes.EqualFold(args[0], []byte("host:")) {
		return true
	}
	if len(args) != 3 || !bytes.HasPrefix(args[2], []byte("HTTP/")) {
		return false
	}
	return bytes.HasPrefix(args[1], []byte("/")) || bytes.HasPrefix(args[1], []byte("*")) ||
		slices.Contains(httpMethods, string(args[0]))
}

// httpMethods are those of requests to a proxy, whose second word is an address.
// No command of Redis of that name takes two arguments.
var httpMethods = []string{"GET", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
