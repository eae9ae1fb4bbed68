package resp

import (
	"math"

	"redlock-proxy/redlock"
)

// Commands that lock scripts hardly ever call, and transactions may.

func scriptGetSet(m *luaMachine, args [][]byte) (luaValue, error) {
	o := setOptions{value: args[2], get: true}
	return m.store(args[1], &o, "getset")
}

func scriptGetEx(m *luaMachine, args [][]byte) (luaValue, error) {
	var x expiry
	if !parseGetEx(&x, args[2:]) {
		return m.fail(syntaxError)
	}
	k, err := m.touch(args[1])
	if err != nil {
		return luaValue{}, err
	}
	v, err := m.read(k)
	if err != nil || !k.exists() {
		return v, err
	}
	if x.kept {
		_, err = scriptPersist(m, args[:2])
		return v, err
	}
	if x.unit != unitNone {
		ttl, errText := m.frozen.lifetime(x.arg, x.unit, "getex")
		if errText != "" {
			return m.fail(errText)
		}
		k.expire(max(ttl, 0))
	}
	return v, nil
}

func scriptPExpireTime(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.expiresAt(args[1])
}

func scriptExpireTime(m *luaMachine, args [][]byte) (luaValue, error) {
	v, err := m.expiresAt(args[1])
	if v.kind == luaNumber && v.num >= 0 {
		v.num = float64(inSeconds(int64(v.num)))
	}
	return v, err
}

// expiresAt is what PEXPIRETIME returns.
func (m *luaMachine) expiresAt(key []byte) (luaValue, error) {
	ms, err := m.remaining(key)
	switch {
	case ms == unknownTTL:
		return luaValue{kind: luaUnknownNumber}, err
	case ms == redlock.NoTTL || ms == -2:
		return luaNum(float64(ms)), err
	}
	now := m.wall().UnixMilli()
	return luaNum(float64(now + min(ms, math.MaxInt64-now))), err
}
