package resp

import "redlock-proxy/redlock"

func scriptSet(m *luaMachine, args [][]byte) (luaValue, error) {
	o := setOptions{value: args[2]}
	if !o.parse(args[3:]) {
		return m.fail(syntaxError)
	}
	return m.store(args[1], &o, "set")
}

func scriptSetNX(m *luaMachine, args [][]byte) (luaValue, error) {
	o := setOptions{value: args[2], when: ifAbsent}
	return m.storeOnce(args[1], &o)
}

func scriptSetEX(m *luaMachine, args [][]byte) (luaValue, error) {
	o := setOptions{value: args[3], expiry: expiry{unit: unitSeconds, arg: args[2]}}
	return m.store(args[1], &o, "setex")
}

func scriptPSetEX(m *luaMachine, args [][]byte) (luaValue, error) {
	o := setOptions{value: args[3], expiry: expiry{unit: unitMillis, arg: args[2]}}
	return m.store(args[1], &o, "psetex")
}

// store runs a SET on the model, and replies as SET does.
func (m *luaMachine) store(key []byte, o *setOptions, command string) (luaValue, error) {
	ttl := redlock.NoTTL
	if o.unit != unitNone {
		var errText string
		if ttl, errText = m.frozen.lifetime(o.arg, o.unit, command); errText != "" {
			return m.fail(errText)
		}
		ttl = max(ttl, 0)
	}
	k, err := m.touch(key)
	if err != nil {
		return luaValue{}, err
	}
	before := m.null()
	if o.get || o.compares() {
		if before, err = m.read(k); err != nil {
			return before, err
		}
	}
	write, err := m.met(k, o)
	if err != nil {
		return luaValue{}, err
	}
	if write {
		k.set(luaStr(o.value), ttl, o.kept)
	}
	if o.get {
		return before, nil
	}
	if !write {
		return m.null(), nil
	}
	return m.status(luaOKText)
}

// met tells whether the condition of a SET is met.
func (m *luaMachine) met(k *modelKey, o *setOptions) (bool, error) {
	switch o.when {
	case ifAbsent:
		return !k.exists(), nil
	case ifExists:
		return k.exists(), nil
	case ifEqual, ifNotEqual:
		if !k.exists() {
			return o.when == ifNotEqual, nil
		}
		same, err := m.sameText(k, o.operand)
		return same == (o.when == ifEqual), err
	}
	return true, nil
}

// storeOnce is store for SETNX, which replies with a number.
func (m *luaMachine) storeOnce(key []byte, o *setOptions) (luaValue, error) {
	k, err := m.touch(key)
	if err != nil || k.exists() {
		return luaNum(0), err
	}
	k.set(luaStr(o.value), redlock.NoTTL, false)
	return luaNum(1), nil
}

// scriptMset sets keys; of one that is named several times the last value counts.
func scriptMset(m *luaMachine, args [][]byte) (luaValue, error) {
	if len(args)%2 == 0 {
		return m.fail(wrongArity("mset"))
	}
	for i := 1; i < len(args); i += 2 {
		k, err := m.touch(args[i])
		if err != nil {
			return luaValue{}, err
		}
		k.set(luaStr(args[i+1]), redlock.NoTTL, false)
	}
	if err := m.step(len(args)); err != nil {
		return luaValue{}, err
	}
	return m.status(luaOKText)
}

func scriptMsetNX(m *luaMachine, args [][]byte) (luaValue, error) {
	if len(args)%2 == 0 {
		return m.fail(wrongArity("msetnx"))
	}
	for i := 1; i < len(args); i += 2 {
		k, err := m.touch(args[i])
		if err != nil || k.exists() {
			return luaNum(0), err
		}
	}
	_, err := scriptMset(m, args)
	return luaNum(1), err
}

func scriptDel(m *luaMachine, args [][]byte) (luaValue, error) {
	count := luaNum(0)
	for _, key := range args[1:] {
		list, err := m.findList(key)
		if err != nil {
			return luaValue{}, err
		}
		if list != nil {
			count = addNumbers(count, list.remove(args[0]))
			continue
		}
		k, err := m.touch(key)
		if err != nil {
			return luaValue{}, err
		}
		if k.exists() {
			k.remove()
			count = addNumbers(count, luaNum(1))
		}
	}
	return count, m.step(len(args))
}

func scriptGetDel(m *luaMachine, args [][]byte) (luaValue, error) {
	k, err := m.touch(args[1])
	if err != nil {
		return luaValue{}, err
	}
	v, err := m.read(k)
	if err == nil && k.exists() {
		k.remove()
	}
	return v, err
}

// scriptDelex is DELEX key [IFEQ value | IFNE value] of Redis 8.4.
func scriptDelex(m *luaMachine, args [][]byte) (luaValue, error) {
	if len(args) == 2 {
		return scriptDel(m, args)
	}
	var buf [4]byte
	option := string(fold(buf[:], args[2]))
	switch {
	case len(args) != 4:
		return m.fail(wrongArity("delex"))
	case option == "ifeq":
		return m.deleteIf(args[1], args[3], true)
	case option == "ifne":
		return m.deleteIf(args[1], args[3], false)
	case option == "ifde", option == "ifdn", len(args[2]) == len("ifdeq"):
		return luaValue{}, m.refuse("calls DELEX with the digest of a value")
	}
	return m.fail(syntaxError)
}

// scriptDelIfEq is Valkey's DELIFEQ key value.
func scriptDelIfEq(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.deleteIf(args[1], args[2], true)
}

// deleteIf deletes a key if whether it holds value is as wanted.
func (m *luaMachine) deleteIf(key, value []byte, wanted bool) (luaValue, error) {
	k, err := m.touch(key)
	if err != nil || !k.exists() {
		return luaNum(0), err
	}
	if _, err := m.read(k); err != nil {
		return luaValue{}, err
	}
	same, err := m.sameText(k, value)
	if err != nil || same != wanted {
		return luaNum(0), err
	}
	k.remove()
	return luaNum(1), nil
}

func scriptExpire(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.expireAs(args, unitSeconds, "expire")
}

func scriptPExpire(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.expireAs(args, unitMillis, "pexpire")
}

func scriptExpireAt(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.expireAs(args, unitSecondsAt, "expireat")
}

func scriptPExpireAt(m *luaMachine, args [][]byte) (luaValue, error) {
	return m.expireAs(args, unitMillisAt, "pexpireat")
}

func (m *luaMachine) expireAs(args [][]byte, u unit, command string) (luaValue, error) {
	flags, errText := parseExpireFlags(args[3:])
	if errText != "" {
		return m.fail(errText)
	}
	n, ok := parseInt(args[2])
	if !ok {
		return m.fail(notInteger)
	}
	ttl, errText := m.frozen.remaining(n, u, command)
	if errText != "" {
		return m.fail(errText)
	}
	if list, err := m.findList(args[1]); err != nil {
		return luaValue{}, err
	} else if list != nil {
		return list.expire(args[0], ttl, flags), nil
	}
	k, err := m.touch(args[1])
	if err != nil || !k.exists() {
		return luaNum(0), err
	}
	if flags != 0 {
		if k.remaining() == unknownTTL {
			return luaValue{}, errLearn
		}
		if !flags.met(k.ttl, ttl) {
			return luaNum(0), nil
		}
	}
	k.expire(max(ttl, 0))
	return luaNum(1), nil
}

// met tells whether the conditions of EXPIRE allow the step from one TTL to
// another.
func (f expireFlags) met(from, to int64) bool {
	has := from != redlock.NoTTL
	switch {
	case f&expireNX != 0 && has, f&expireXX != 0 && !has:
		return false
	case f&expireGT != 0 && (!has || to <= from):
		return false
	}
	return f&expireLT == 0 || !has || to < from
}

// scriptPersist gives a key the default TTL, unless it has a longer one: no key
// without an expiry is ever stored. What it replies depends on the TTL.
func scriptPersist(m *luaMachine, args [][]byte) (luaValue, error) {
	k, err := m.touch(args[1])
	switch {
	case err != nil || !k.exists() || k.ttl == redlock.NoTTL:
		return luaNum(0), err
	case k.remaining() == unknownTTL:
		return luaValue{}, errLearn
	case k.ttl < m.env.DefaultTTL:
		k.expire(redlock.NoTTL)
	}
	return luaNum(1), nil
}
