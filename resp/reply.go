package resp

import (
	"math"
	"strconv"
)

// The writers of replies append to dst and return it, like append; nothing else
// is allocated. Where RESP2 and RESP3 differ they take the version of the
// connection, proto: 3 is RESP3, anything else RESP2. A RESP2 client gets what
// Redis sends for the same reply: maps as flat arrays, booleans as 0 or 1,
// doubles and verbatim strings as bulk strings.
//
// The headers of arrays, sets, maps and pushes say how many elements follow;
// the caller appends those next.

// AppendStatus appends a simple string, such as +OK. Line breaks in s become
// spaces.
func AppendStatus(dst []byte, s string) []byte {
	return appendLine(append(dst, '+'), s)
}

// AppendError appends an error reply. s is the text without the leading '-',
// starting with its code, such as "ERR syntax error". Line breaks in it become
// spaces: errors quote what clients sent, and must not let them forge a reply.
func AppendError(dst []byte, s string) []byte {
	return appendLine(append(dst, '-'), s)
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	return appendHeader(dst, ':', n)
}

// AppendBulk appends b as a bulk string, also if it is nil: see [AppendNull].
func AppendBulk(dst, b []byte) []byte {
	dst = appendHeader(dst, '$', int64(len(b)))
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

// AppendBulkString appends s as a bulk string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = appendHeader(dst, '$', int64(len(s)))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendNull appends the null that stands for a missing string.
func AppendNull(dst []byte, proto int) []byte {
	if proto == 3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendNullArray appends the null that stands for a missing array, such as
// the reply of an EXEC that was not executed.
func AppendNullArray(dst []byte, proto int) []byte {
	if proto == 3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "*-1\r\n"...)
}

// AppendArray appends the header of an array of n elements.
func AppendArray(dst []byte, n int) []byte {
	return appendHeader(dst, '*', int64(n))
}

// AppendMap appends the header of a map of n pairs: 2n elements follow.
func AppendMap(dst []byte, proto, n int) []byte {
	if proto == 3 {
		return appendHeader(dst, '%', int64(n))
	}
	return appendHeader(dst, '*', 2*int64(n))
}

// AppendSet appends the header of a set of n elements.
func AppendSet(dst []byte, proto, n int) []byte {
	if proto == 3 {
		return appendHeader(dst, '~', int64(n))
	}
	return AppendArray(dst, n)
}

// AppendPush appends the header of an out-of-band message of n elements.
func AppendPush(dst []byte, proto, n int) []byte {
	if proto == 3 {
		return appendHeader(dst, '>', int64(n))
	}
	return AppendArray(dst, n)
}

// AppendVerbatim appends a text meant for people, such as the reply of INFO.
// format is its kind, three letters: "txt" or "mkd".
func AppendVerbatim(dst []byte, proto int, format, s string) []byte {
	if proto != 3 {
		return AppendBulkString(dst, s)
	}
	dst = appendHeader(dst, '=', int64(len(format)+1+len(s)))
	dst = append(dst, format...)
	dst = append(dst, ':')
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendDouble appends f, as short as reads back the same.
func AppendDouble(dst []byte, proto int, f float64) []byte {
	var room [32]byte
	text := appendFloat(room[:0], f)
	if proto != 3 {
		return AppendBulk(dst, text)
	}
	dst = append(dst, ',')
	dst = append(dst, text...)
	return append(dst, '\r', '\n')
}

// AppendBool appends a boolean.
func AppendBool(dst []byte, proto int, b bool) []byte {
	switch {
	case proto == 3 && b:
		return append(dst, "#t\r\n"...)
	case proto == 3:
		return append(dst, "#f\r\n"...)
	case b:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// appendHeader appends a type byte, a number and the end of the line.
func appendHeader(dst []byte, kind byte, n int64) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, '\r', '\n')
}

// appendLine appends s, each CR and LF in it replaced by a space, and the end
// of the line.
func appendLine(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	for i := start; i < len(dst); i++ {
		if dst[i] == '\r' || dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}

// appendFloat writes f as RESP3 wants it: inf, -inf and nan in lower case,
// whole numbers without an exponent as far as they are exact.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case f != 0 && (math.Abs(f) < 1e-5 || math.Abs(f) >= 1e17):
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}
