package resp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The globals that scripts see. They are never modified; a script that tries
// gets Redis's error.
var (
	luaGlobals   = library(baseLibrary(), map[string]string{"": "_G getmetatable setmetatable load loadstring xpcall coroutine collectgarbage gcinfo newproxy getfenv setfenv cjson cmsgpack struct bit"})
	luaStringLib = luaGlobals.getName("string").tab
)

// library makes a table that scripts cannot modify. outside lists what Redis
// has besides, by the prefix of its full name.
func library(fields map[string]luaValue, outside map[string]string) *luaTable {
	t := &luaTable{fixed: true}
	for name, v := range fields {
		t.addField(luaStr([]byte(name)), v)
	}
	for prefix, names := range outside {
		for name := range strings.FieldsSeq(names) {
			t.addField(luaStr([]byte(name)), luaValue{kind: luaOutside, str: []byte(prefix + name)})
		}
	}
	return t
}

// luaOne and luaMany make a value of a builtin with one result or with many.
func luaOne(f func(m *luaMachine, args []luaValue) (luaValue, error)) luaValue {
	return luaValue{kind: luaFunction, fn: &luaFunc{one: f}}
}

func luaMany(f func(m *luaMachine, args []luaValue) error) luaValue {
	return luaValue{kind: luaFunction, fn: &luaFunc{many: f}}
}

func baseLibrary() map[string]luaValue {
	redis := luaTab(redisLibrary())
	return map[string]luaValue{
		"assert":   luaMany(luaAssert),
		"error":    luaMany(luaError),
		"ipairs":   luaMany(luaIpairs),
		"next":     luaMany(luaNext),
		"pairs":    luaMany(luaPairs),
		"pcall":    luaMany(luaPcall),
		"rawequal": luaOne(luaRawEqual),
		"rawget":   luaOne(luaRawGet),
		"rawset":   luaOne(luaRawSet),
		"select":   luaMany(luaSelect),
		"tonumber": luaOne(luaToNumber),
		"tostring": luaOne(luaToString),
		"type":     luaOne(luaType),
		"unpack":   luaMany(luaUnpack),
		"_VERSION": luaStr([]byte("Lua 5.1")),
		"string":   luaTab(stringLibrary()),
		"table":    luaTab(tableLibrary()),
		"math":     luaTab(mathLibrary()),
		"redis":    redis,
		"server":   redis, // Valkey's name for it
	}
}

// argError is Lua's error about argument n, counted from 1.
func (m *luaMachine) argError(n int, fn, format string, args ...any) error {
	if m.method {
		if n--; n == 0 {
			return m.throwf("calling '%s' on bad self", fn)
		}
	}
	return m.throwf("bad argument #%d to '%s' (%s)", n, fn, fmt.Sprintf(format, args...))
}

// wantedError is argError about the type of argument i, counted from 0.
func (m *luaMachine) wantedError(args []luaValue, i int, fn, wanted string) error {
	got := "no value"
	if i < len(args) {
		if args[i].unknown() {
			return m.needs(&args[i])
		}
		got = args[i].typeName()
	}
	return m.argError(i+1, fn, "%s expected, got %s", wanted, got)
}

// numberOf is v as a number, if it is one; it ends the run if that is not known.
func (m *luaMachine) numberOf(v *luaValue) (n float64, ok bool, err error) {
	if v.unknown() {
		return 0, false, m.needs(v)
	}
	n, ok = v.number()
	return n, ok, nil
}

func (m *luaMachine) numberArg(args []luaValue, i int, fn string) (float64, error) {
	if i < len(args) {
		if n, ok := args[i].number(); ok {
			return n, nil
		}
	}
	return 0, m.wantedError(args, i, fn, "number")
}

// intArg is numberArg cut to an integer, or the default if there is none.
func (m *luaMachine) intArg(args []luaValue, i int, fn string, otherwise int) (int, error) {
	if i >= len(args) || args[i].kind == luaNil {
		return otherwise, nil
	}
	n, err := m.numberArg(args, i, fn)
	return toInt(n), err
}

// toInt cuts a number to an integer, within 32 bits: all that a length or a
// position can be.
func toInt(f float64) int {
	if f != f {
		return 0
	}
	return int(max(math.MinInt32, min(math.MaxInt32, f)))
}

func (m *luaMachine) stringArg(args []luaValue, i int, fn string) ([]byte, error) {
	if i < len(args) {
		if b, ok := args[i].text(); ok {
			return b, nil
		}
	}
	return nil, m.wantedError(args, i, fn, "string")
}

func (m *luaMachine) tableArg(args []luaValue, i int, fn string) (*luaTable, error) {
	if i < len(args) && args[i].kind == luaTableKind {
		return args[i].tab, nil
	}
	return nil, m.wantedError(args, i, fn, "table")
}

// anyArg is an argument that may be nil but not missing.
func (m *luaMachine) anyArg(args []luaValue, i int, fn string) (luaValue, error) {
	if i < len(args) {
		return args[i], nil
	}
	return luaValue{}, m.argError(i+1, fn, "value expected")
}

func luaType(m *luaMachine, args []luaValue) (luaValue, error) {
	v, err := m.anyArg(args, 0, "type")
	return luaStr([]byte(v.typeName())), err
}

func luaToString(m *luaMachine, args []luaValue) (luaValue, error) {
	v, err := m.anyArg(args, 0, "tostring")
	if err != nil || v.kind == luaUnknownString {
		return v, err
	}
	return m.toString(&v)
}

// toString is tostring for a value that is not an unknown string.
func (m *luaMachine) toString(v *luaValue) (luaValue, error) {
	switch v.kind {
	case luaNil:
		return luaStr([]byte("nil")), nil
	case luaBoolean:
		return luaStr(strconv.AppendBool(nil, v.num != 0)), nil
	case luaNumber, luaString:
		b, _ := v.text()
		return luaStr(b), nil
	case luaUnknownNumber:
		return luaValue{}, m.needs(v)
	}
	return luaValue{}, m.refuse("makes a string of a %s", v.typeName())
}

func luaToNumber(m *luaMachine, args []luaValue) (luaValue, error) {
	v, err := m.anyArg(args, 0, "tonumber")
	if err != nil {
		return v, err
	}
	base, err := m.intArg(args, 1, "tonumber", 10)
	switch {
	case err != nil:
		return v, err
	case v.kind == luaUnknownNumber && base == 10:
		return v, nil
	case v.unknown():
		return v, m.needs(&v)
	case base == 10:
		if n, ok := v.number(); ok {
			return luaNum(n), nil
		}
		return luaValue{}, nil
	case base < 2 || base > 36:
		return v, m.argError(2, "tonumber", "base out of range")
	}
	text, err := m.stringArg(args, 0, "tonumber")
	if err != nil || len(text) > maxNumeral {
		return luaValue{}, err
	}
	n, err := strconv.ParseUint(strings.Trim(string(text), " \t\n\v\f\r"), base, 64)
	if err != nil {
		return luaValue{}, nil
	}
	return luaNum(float64(n)), nil
}

func luaRawEqual(m *luaMachine, args []luaValue) (luaValue, error) {
	for i := range 2 {
		if _, err := m.anyArg(args, i, "rawequal"); err != nil {
			return luaValue{}, err
		}
	}
	equal, err := m.equal(&args[0], &args[1])
	return luaBool(equal), err
}

func luaRawGet(m *luaMachine, args []luaValue) (luaValue, error) {
	t, err := m.tableArg(args, 0, "rawget")
	if err != nil {
		return luaValue{}, err
	}
	key, err := m.anyArg(args, 1, "rawget")
	if err != nil {
		return luaValue{}, err
	}
	object := luaTab(t)
	return m.index(&object, &key, nil, m.frame.line)
}

func luaRawSet(m *luaMachine, args []luaValue) (luaValue, error) {
	t, err := m.tableArg(args, 0, "rawset")
	if err != nil {
		return luaValue{}, err
	}
	for i := 1; i < 3; i++ {
		if _, err := m.anyArg(args, i, "rawset"); err != nil {
			return luaValue{}, err
		}
	}
	return args[0], m.setField(t, &args[1], args[2], m.frame.line)
}
