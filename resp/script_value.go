package resp

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// luaKind is the type of a [luaValue].
type luaKind uint8

const (
	luaNil luaKind = iota
	luaBoolean
	luaNumber
	luaString
	luaTableKind
	luaFunction

	// What a script read from its key before the real content is known. Such a
	// value has a Lua type and is true in a condition; a string is equal to
	// itself and to no other, which is remembered (see luaMachine.equal). Any
	// other use of its content ends the run with errLearn. A number that nobody
	// can learn, because it depends on a list, has its command in str, and such
	// a use of it refuses the script (see luaMachine.needs).
	luaUnknownString
	luaUnknownNumber

	// Something that Redis offers to scripts and we do not; its name is in
	// str. Using it refuses the script.
	luaOutside
)

// luaValue is a Lua value. Strings are never modified in place, so they share
// memory with arguments, literals and each other.
type luaValue struct {
	kind luaKind
	num  float64 // a number; 1 for true, 0 for false
	str  []byte
	tab  *luaTable
	fn   *luaFunc
}

func luaBool(b bool) luaValue {
	if b {
		return luaValue{kind: luaBoolean, num: 1}
	}
	return luaValue{kind: luaBoolean}
}

func luaNum(f float64) luaValue { return luaValue{kind: luaNumber, num: f} }

func luaStr(b []byte) luaValue { return luaValue{kind: luaString, str: b} }

func luaTab(t *luaTable) luaValue { return luaValue{kind: luaTableKind, tab: t} }

// truthy is what a condition makes of v: all but nil and false is true.
func (v *luaValue) truthy() bool {
	return v.kind != luaNil && (v.kind != luaBoolean || v.num != 0)
}

// unknown says that v stands for content that is not known in this run.
func (v *luaValue) unknown() bool {
	return v.kind == luaUnknownString || v.kind == luaUnknownNumber
}

// typeName is what Lua's type returns.
func (v *luaValue) typeName() string {
	switch v.kind {
	case luaNil:
		return "nil"
	case luaBoolean:
		return "boolean"
	case luaNumber, luaUnknownNumber:
		return "number"
	case luaString, luaUnknownString:
		return "string"
	case luaTableKind:
		return "table"
	}
	return "function"
}

// rawEqual compares two values that are both known.
func rawEqual(a, b *luaValue) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case luaBoolean, luaNumber:
		return a.num == b.num
	case luaString:
		return bytes.Equal(a.str, b.str)
	case luaTableKind:
		return a.tab == b.tab
	case luaFunction:
		return a.fn == b.fn
	}
	return true
}

// number converts as arithmetic does: strings that spell a number are one.
func (v *luaValue) number() (float64, bool) {
	switch v.kind {
	case luaNumber:
		return v.num, true
	case luaString:
		return parseLuaNumber(v.str)
	}
	return 0, false
}

// text converts as concatenation does: numbers have a text too.
func (v *luaValue) text() ([]byte, bool) {
	switch v.kind {
	case luaString:
		return v.str, true
	case luaNumber:
		return appendLuaNumber(nil, v.num, 14), true
	}
	return nil, false
}

// maxNumeral bounds the texts taken for a number.
const maxNumeral = 256

// parseLuaNumber reads a number as Lua 5.1's tonumber does with C's strtod:
// spaces around it, hexadecimal, "inf" and "nan" are accepted.
func parseLuaNumber(b []byte) (float64, bool) {
	if len(b) == 1 && '0' <= b[0] && b[0] <= '9' {
		return float64(b[0] - '0'), true
	}
	s := strings.Trim(string(b[:min(len(b), maxNumeral+1)]), " \t\n\v\f\r")
	if s == "" || len(s) > maxNumeral || strings.ContainsAny(s, "_") {
		return 0, false
	}
	digits, negative := strings.CutPrefix(s, "-")
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' && !strings.ContainsAny(digits, "pP.") {
		n, err := strconv.ParseUint(digits[2:], 16, 64)
		if negative {
			return -float64(n), err == nil
		}
		return float64(n), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// appendLuaNumber formats like C's "%.<digits>g": 14 digits where Lua makes a
// string of a number, 17 where Redis makes an argument of it.
func appendLuaNumber(dst []byte, f float64, digits int) []byte {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1e14:
		if f == 0 && math.Signbit(f) {
			return append(dst, "-0"...)
		}
		return strconv.AppendInt(dst, int64(f), 10)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(f):
		if math.Signbit(f) {
			return append(dst, "-nan"...)
		}
		return append(dst, "nan"...)
	}
	return strconv.AppendFloat(dst, f, 'g', digits, 64)
}
