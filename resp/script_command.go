package resp

import (
	"bytes"
	"strconv"

	"redlock-proxy/redlock"
)

// scriptCommand is a command that scripts may call. args begin with its name.
type scriptCommand struct {
	arity int // with the name; -n means n or more
	write bool
	run   func(m *luaMachine, args [][]byte) (luaValue, error)
}

// scriptCommandOf finds a command by its name in any case; run is nil if
// scripts may not use it here.
func scriptCommandOf(name []byte) scriptCommand {
	var buf [len("pexpiretime")]byte
	folded := fold(buf[:], name)
	if c := scriptWrite(folded); c.run != nil {
		c.write = true
		return c
	}
	switch string(folded) {
	case "get":
		return scriptCommand{arity: 2, run: scriptGet}
	case "getrange", "substr":
		return scriptCommand{arity: 4, run: scriptGetRange}
	case "strlen":
		return scriptCommand{arity: 2, run: scriptStrlen}
	case "exists":
		return scriptCommand{arity: -2, run: scriptExists}
	case "mget":
		return scriptCommand{arity: -2, run: scriptMget}
	case "ttl":
		return scriptCommand{arity: 2, run: scriptTTL}
	case "pttl":
		return scriptCommand{arity: 2, run: scriptPTTL}
	case "expiretime":
		return scriptCommand{arity: 2, run: scriptExpireTime}
	case "pexpiretime":
		return scriptCommand{arity: 2, run: scriptPExpireTime}
	case "type":
		return scriptCommand{arity: 2, run: scriptType}
	case "select":
		return scriptCommand{arity: 2, run: scriptSelect}
	case "time":
		return scriptCommand{arity: 1, run: scriptTime}
	case "echo":
		return scriptCommand{arity: 2, run: scriptEcho}
	case "ping":
		return scriptCommand{arity: -1, run: scriptPing}
	}
	return scriptCommand{}
}

// scriptWrite finds a command that may change a key.
func scriptWrite(folded []byte) scriptCommand {
	switch string(folded) {
	case "set":
		return scriptCommand{arity: -3, run: scriptSet}
	case "setnx":
		return scriptCommand{arity: 3, run: scriptSetNX}
	case "setex":
		return scriptCommand{arity: 4, run: scriptSetEX}
	case "psetex":
		return scriptCommand{arity: 4, run: scriptPSetEX}
	case "mset":
		return scriptCommand{arity: -3, run: scriptMset}
	case "msetnx":
		return scriptCommand{arity: -3, run: scriptMsetNX}
	case "del", "unlink":
		return scriptCommand{arity: -2, run: scriptDel}
	case "getset":
		return scriptCommand{arity: 3, run: scriptGetSet}
	case "getex":
		return scriptCommand{arity: -2, run: scriptGetEx}
	case "getdel":
		return scriptCommand{arity: 2, run: scriptGetDel}
	case "delex":
		return scriptCommand{arity: -2, run: scriptDelex}
	case "delifeq":
		return scriptCommand{arity: 3, run: scriptDelIfEq}
	case "expire":
		return scriptCommand{arity: -3, run: scriptExpire}
	case "pexpire":
		return scriptCommand{arity: -3, run: scriptPExpire}
	case "expireat":
		return scriptCommand{arity: -3, run: scriptExpireAt}
	case "pexpireat":
		return scriptCommand{arity: -3, run: scriptPExpireAt}
	case "persist":
		return scriptCommand{arity: 2, run: scriptPersist}
	case "lpush", "rpush":
		return scriptCommand{arity: -3, run: scriptPush}
	case "publish":
		return scriptCommand{arity: 3, run: scriptPublish}
	}
	return scriptCommand{}
}

// read is what GET returns.
func (m *luaMachine) read(k *modelKey) (luaValue, error) {
	switch k.kind {
	case redlock.Absent:
		return m.null(), nil
	case redlock.WrongType:
		return m.failWith(luaWrongType)
	}
	return k.value, nil
}

func scriptGet(m *luaMachine, args [][]byte) (luaValue, error) {
	first := !m.model.touched
	k, err := m.touch(args[1])
	if err != nil {
		return luaValue{}, err
	}
	m.model.needsString = m.model.needsString || first && m.raising
	return m.read(k)
}

// content is the string at a key, empty if there is none.
func (m *luaMachine) content(key []byte) ([]byte, error) {
	k, err := m.touch(key)
	if err != nil {
		return nil, err
	}
	v, err := m.read(k)
	if err == nil && v.kind == luaUnknownString {
		err = errLearn
	}
	return v.str, err
}

func scriptStrlen(m *luaMachine, args [][]byte) (luaValue, error) {
	b, err := m.content(args[1])
	return luaNum(float64(len(b))), err
}

func scriptGetRange(m *luaMachine, args [][]byte) (luaValue, error) {
	first, ok := parseInt(args[2])
	last, ok2 := parseInt(args[3])
	if !ok || !ok2 {
		return m.fail(notInteger)
	}
	b, err := m.content(args[1])
	if err != nil {
		return luaValue{}, err
	}
	n := int64(len(b))
	if first < 0 && last < 0 && first > last || n == 0 {
		return luaStr(nil), nil
	}
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last = max(last+n, 0)
	}
	if last = min(last, n-1); first > last {
		return luaStr(nil), nil
	}
	return luaStr(b[first : last+1 : last+1]), nil
}

func scriptExists(m *luaMachine, args [][]byte) (luaValue, error) {
	count := 0.0
	for _, key := range args[1:] {
		k, err := m.touch(key)
		if err != nil {
			return luaValue{}, err
		}
		if k.exists() {
			count++
		}
	}
	return luaNum(count), m.step(len(args))
}

func scriptMget(m *luaMachine, args [][]byte) (luaValue, error) {
	t, err := m.newTable()
	if err != nil {
		return luaValue{}, err
	}
	for _, key := range args[1:] {
		k, err := m.touch(key)
		if err != nil {
			return luaValue{}, err
		}
		v := m.null()
		if k.kind == redlock.Text {
			v = k.value
		}
		if err := m.charge(costItem); err != nil {
			return v, err
		}
		t.arr = append(t.arr, v)
	}
	return luaTab(t), m.step(len(args))
}

// remaining is what PTTL returns.
func (m *luaMachine) remaining(key []byte) (int64, error) {
	k, err := m.touch(key)
	switch {
	case err != nil:
		return 0, err
	case !k.exists():
		return -2, nil
	}
	return k.remaining(), nil
}

func scriptPTTL(m *luaMachine, args [][]byte) (luaValue, error) {
	ms, err := m.remaining(args[1])
	if ms == unknownTTL {
		return luaValue{kind: luaUnknownNumber}, err
	}
	return luaNum(float64(ms)), err
}

func scriptTTL(m *luaMachine, args [][]byte) (luaValue, error) {
	v, err := scriptPTTL(m, args)
	if v.kind == luaNumber && v.num >= 0 {
		v.num = float64(inSeconds(int64(v.num)))
	}
	return v, err
}

// scriptType needs to know more than a table tells of a key that is no string.
func scriptType(m *luaMachine, args [][]byte) (luaValue, error) {
	k, err := m.touch(args[1])
	switch {
	case err != nil:
		return luaValue{}, err
	case k.kind == redlock.Absent:
		return m.status([]byte("none"))
	case k.kind == redlock.Text:
		return m.status([]byte("string"))
	case !k.known:
		return luaValue{}, errLearn
	}
	return luaValue{}, m.refuse("asks for the type of a key that is not a string")
}

// databases is how many there are to SELECT.
const databases = 16

func scriptSelect(m *luaMachine, args [][]byte) (luaValue, error) {
	n, ok := parseInt(args[1])
	switch {
	case !ok:
		return m.fail(notInteger)
	case n < 0 || n >= databases:
		return m.fail("ERR DB index is out of range")
	}
	m.model.db = int(n)
	return m.status(luaOKText)
}

// scriptTime is the time at which the script began, as in Redis.
func scriptTime(m *luaMachine, _ [][]byte) (luaValue, error) {
	t, err := m.newTable()
	if err != nil {
		return luaValue{}, err
	}
	us := m.wall().UnixMicro()
	for _, n := range [...]int64{us / 1e6, us % 1e6} {
		t.arr = append(t.arr, luaStr(strconv.AppendInt(nil, n, 10)))
	}
	return luaTab(t), m.charge(2 * costItem)
}

func scriptEcho(_ *luaMachine, args [][]byte) (luaValue, error) { return luaStr(args[1]), nil }

func scriptPing(m *luaMachine, args [][]byte) (luaValue, error) {
	switch len(args) {
	case 1:
		return m.status([]byte("PONG"))
	case 2:
		return luaStr(args[1]), nil
	}
	return m.fail(wrongArity("ping"))
}

// Texts of frequent replies. They are never modified.
var (
	luaOKText    = []byte("OK")
	luaWrongType = []byte(wrongType)
)

// sameText is whether a key holds exactly b. An unknown value does not, but b
// becomes a candidate.
func (m *luaMachine) sameText(k *modelKey, b []byte) (bool, error) {
	if k.value.kind == luaUnknownString {
		return m.model.same(int(k.value.num), b)
	}
	return bytes.Equal(k.value.str, b), m.step(len(b) / bytesAStep)
}
