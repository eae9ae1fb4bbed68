package resp

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

func stringLibrary() *luaTable {
	return library(map[string]luaValue{
		"byte":    luaMany(luaStringByte),
		"char":    luaOne(luaStringChar),
		"find":    luaMany(luaStringFind),
		"format":  luaOne(luaStringFormat),
		"len":     luaOne(luaStringLen),
		"lower":   stringFunc("lower", asciiLower),
		"upper":   stringFunc("upper", asciiUpper),
		"rep":     luaOne(luaStringRep),
		"reverse": stringFunc("reverse", reversed),
		"sub":     luaOne(luaStringSub),
	}, map[string]string{"string.": "dump gfind gmatch gsub match"})
}

// stringFunc is a builtin that makes a string of the same length, byte by byte.
func stringFunc(name string, f func(dst, src []byte)) luaValue {
	return luaOne(func(m *luaMachine, args []luaValue) (luaValue, error) {
		s, err := m.stringArg(args, 0, name)
		if err != nil {
			return luaValue{}, err
		}
		if err := m.make(len(s)); err != nil {
			return luaValue{}, err
		}
		dst := make([]byte, len(s))
		f(dst, s)
		return luaStr(dst), nil
	})
}

func asciiLower(dst, src []byte) {
	for i, c := range src {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst[i] = c
	}
}

func asciiUpper(dst, src []byte) {
	for i, c := range src {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst[i] = c
	}
}

func reversed(dst, src []byte) {
	for i, c := range src {
		dst[len(src)-1-i] = c
	}
}

func luaStringLen(m *luaMachine, args []luaValue) (luaValue, error) {
	s, err := m.stringArg(args, 0, "len")
	return luaNum(float64(len(s))), err
}

// luaSpan turns Lua's positions, from 1 and negative from the end, into a
// slice's. An empty span has from >= to.
func luaSpan(length, i, j int) (from, to int) {
	if i < 0 {
		i = max(length+i+1, 1)
	}
	if j < 0 {
		j = length + j + 1
	}
	return max(i, 1) - 1, min(j, length)
}

// span reads the positions in arguments at and at+1.
func (m *luaMachine) span(args []luaValue, at, length, first, last int, fn string) (from, to int, err error) {
	i, err := m.intArg(args, at, fn, first)
	if err != nil {
		return 0, 0, err
	}
	j, err := m.intArg(args, at+1, fn, last)
	if err != nil {
		return 0, 0, err
	}
	from, to = luaSpan(length, i, j)
	return from, to, nil
}

func luaStringSub(m *luaMachine, args []luaValue) (luaValue, error) {
	s, err := m.stringArg(args, 0, "sub")
	if err != nil {
		return luaValue{}, err
	}
	if _, err := m.numberArg(args, 1, "sub"); err != nil {
		return luaValue{}, err
	}
	from, to, err := m.span(args, 1, len(s), 1, -1, "sub")
	if err != nil || from >= to {
		return luaStr(nil), err
	}
	return luaStr(s[from:to:to]), nil
}

func luaStringByte(m *luaMachine, args []luaValue) error {
	s, err := m.stringArg(args, 0, "byte")
	if err != nil {
		return err
	}
	i, err := m.intArg(args, 1, "byte", 1)
	if err != nil {
		return err
	}
	from, to, err := m.span(args, 1, len(s), i, i, "byte")
	if err != nil {
		return err
	}
	m.ret = m.ret[:0]
	if to-from >= maxStack {
		return m.throwf("string slice too long")
	}
	for ; from < to; from++ {
		m.ret = append(m.ret, luaNum(float64(s[from])))
	}
	return m.step(len(m.ret) / 16)
}

func luaStringChar(m *luaMachine, args []luaValue) (luaValue, error) {
	if err := m.make(len(args)); err != nil {
		return luaValue{}, err
	}
	b := make([]byte, len(args))
	for i := range args {
		n, err := m.numberArg(args, i, "char")
		if err != nil {
			return luaValue{}, err
		}
		if b[i] = byte(toInt(n)); int(b[i]) != toInt(n) {
			return luaValue{}, m.argError(i+1, "char", "invalid value")
		}
	}
	return luaStr(b), nil
}

func luaStringRep(m *luaMachine, args []luaValue) (luaValue, error) {
	s, err := m.stringArg(args, 0, "rep")
	if err != nil {
		return luaValue{}, err
	}
	n, err := m.numberArg(args, 1, "rep")
	if err != nil {
		return luaValue{}, err
	}
	count := max(toInt(n), 0)
	if len(s) > 0 && count > maxMemory/len(s) {
		count = maxMemory/len(s) + 1 // more than there is; charge will say so
	}
	if err := m.make(count * len(s)); err != nil {
		return luaValue{}, err
	}
	return luaStr(bytes.Repeat(s, count)), nil
}

// luaStringFind finds plain text. Patterns are outside the model.
func luaStringFind(m *luaMachine, args []luaValue) error {
	s, err := m.stringArg(args, 0, "find")
	if err != nil {
		return err
	}
	what, err := m.stringArg(args, 1, "find")
	if err != nil {
		return err
	}
	init, err := m.intArg(args, 2, "find", 1)
	if err != nil {
		return err
	}
	if plain := len(args) > 3 && args[3].truthy(); !plain && bytes.ContainsAny(what, "^$*+?.([%-") {
		return m.refuse("uses a pattern in string.find")
	}
	// The search itself may compare each byte more than once.
	if err := m.step(1 + (len(s)+len(what))/64); err != nil {
		return err
	}
	from, _ := luaSpan(len(s), init, -1)
	from = min(from, len(s))
	at := bytes.Index(s[from:], what)
	if at < 0 {
		m.ret = append(m.ret[:0], luaValue{})
		return nil
	}
	first := float64(from + at + 1)
	m.ret = append(m.ret[:0], luaNum(first), luaNum(first+float64(len(what)-1)))
	return nil
}

// luaStringFormat is C's printf for what Lua allows in it.
func luaStringFormat(m *luaMachine, args []luaValue) (luaValue, error) {
	format, err := m.stringArg(args, 0, "format")
	if err != nil {
		return luaValue{}, err
	}
	var out []byte
	next := 0
	for i := 0; i < len(format); i++ {
		if err := m.step(1); err != nil {
			return luaValue{}, err
		}
		if format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			out = append(out, '%')
			continue
		}
		flags := i
		for i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0 {
			i++
		}
		next++
		before := len(out)
		if out, err = m.formatOne(out, format[flags:min(i+1, len(format))], args, next); err != nil {
			return luaValue{}, err
		}
		if err := m.make(len(out) - before); err != nil {
			return luaValue{}, err
		}
	}
	return luaStr(out), m.charge(len(out))
}

// maxFormat is the length of the longest directive: two digits of width and of
// precision, as in Lua, and a few flags.
const maxFormat = 12

// formatOne appends one argument as a directive without its % says.
func (m *luaMachine) formatOne(out, directive []byte, args []luaValue, i int) ([]byte, error) {
	if len(directive) == 0 || len(directive) > maxFormat || !shortDigits(directive) {
		return out, m.throwf("invalid format (width or precision too long)")
	}
	verb := directive[len(directive)-1]
	if i >= len(args) && strings.IndexByte("cdiouxXeEfgGqs", verb) >= 0 {
		return out, m.argError(i+1, "format", "no value")
	}
	spec := "%" + string(directive[:len(directive)-1])
	switch verb {
	case 's', 'q':
		s, err := m.stringArg(args, i, "format")
		if err != nil || verb == 'q' {
			return appendQuoted(out, s), err
		}
		if err := m.step(len(s) / bytesAStep); err != nil {
			return out, err
		}
		return fmt.Appendf(out, spec+"s", s), nil
	case 'c', 'd', 'i', 'o', 'u', 'x', 'X', 'e', 'E', 'f', 'g', 'G':
		n, err := m.numberArg(args, i, "format")
		if err != nil {
			return out, err
		}
		return appendFormatted(out, spec, verb, n), nil
	}
	return out, m.throwf("invalid option '%%%c' to 'format'", verb)
}

// shortDigits says that no number in b has more than two digits.
func shortDigits(b []byte) bool {
	digits := 0
	for _, c := range b {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 2 {
			return false
		}
	}
	return true
}

func appendFormatted(out []byte, spec string, verb byte, n float64) []byte {
	switch verb {
	case 'c':
		return append(out, byte(toInt64(n)))
	case 'd', 'i':
		return fmt.Appendf(out, spec+"d", toInt64(n))
	case 'u':
		return fmt.Appendf(out, spec+"d", uint64(toInt64(n)))
	case 'o', 'x', 'X':
		return fmt.Appendf(out, spec+string(verb), uint64(toInt64(n)))
	}
	if math.IsInf(n, 0) || math.IsNaN(n) {
		return append(out, appendLuaNumber(nil, n, 14)...)
	}
	if (verb == 'g' || verb == 'G') && !strings.Contains(spec, ".") {
		spec += ".6" // C's default; Go's is the shortest
	}
	return fmt.Appendf(out, spec+string(verb), n)
}

// toInt64 cuts a number as C does on the machines that Redis runs on: what does
// not fit, and what is no number, becomes the smallest integer.
func toInt64(f float64) int64 {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f)
	}
	return math.MinInt64
}

// appendQuoted appends s as Lua source.
func appendQuoted(out, s []byte) []byte {
	out = append(out, '"')
	for _, c := range s {
		switch c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, "\\r"...)
		case 0:
			out = append(out, "\\000"...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
