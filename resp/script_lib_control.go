package resp

// The builtins that return several values, iterate, or raise and catch errors.

func luaAssert(m *luaMachine, args []luaValue) error {
	v, err := m.anyArg(args, 0, "assert")
	if err != nil {
		return err
	}
	if v.truthy() {
		m.ret = append(m.ret[:0], args...)
		return nil
	}
	if len(args) < 2 || args[1].kind == luaNil {
		return m.throwf("assertion failed!")
	}
	text, err := m.stringArg(args, 1, "assert")
	if err != nil {
		return err
	}
	if err := m.make(len(text)); err != nil {
		return err
	}
	return m.throwf("%s", text)
}

// luaError puts the place of the error in front of a text, unless level is 0.
func luaError(m *luaMachine, args []luaValue) error {
	var v luaValue
	if len(args) > 0 {
		v = args[0]
	}
	level, err := m.intArg(args, 1, "error", 1)
	if err != nil {
		return err
	}
	if v.unknown() {
		return m.needs(&v)
	}
	if text, ok := v.text(); ok && level > 0 {
		if err := m.make(len(text)); err != nil {
			return err
		}
		v = luaStr(append(m.place(level), text...))
	}
	return m.throw(v)
}

// luaPcall is Redis's pcall: of an error table it passes on the text only.
func luaPcall(m *luaMachine, args []luaValue) error {
	if len(args) == 0 {
		return m.argError(1, "pcall", "value expected")
	}
	frame, depth, native := m.frame, m.depth, m.native
	fn, base := args[0], m.top-len(args)+1
	var err error
	if m.method = false; fn.kind == luaFunction {
		m.native = fn.fn.proto == nil
		m.catchers++
		err = m.call(fn.fn, base)
		m.catchers--
	} else {
		m.native = true
		err = m.typeError(m.frame.line, "call", "", &fn)
	}
	m.frame, m.depth, m.native = frame, depth, native
	switch err {
	case nil:
		m.ret = append(m.ret, luaValue{})
		copy(m.ret[1:], m.ret)
		m.ret[0] = luaBool(true)
		return nil
	case errLua:
		v := m.thrown
		if v.kind == luaTableKind {
			text := v.tab.getName("err")
			switch {
			case text.unknown():
				return m.needs(&text)
			case text.kind == luaString:
				v = text
			}
		}
		m.ret = append(m.ret[:0], luaBool(false), v)
		return nil
	}
	return err
}

func luaSelect(m *luaMachine, args []luaValue) error {
	if len(args) > 0 && args[0].kind == luaString && string(args[0].str) == "#" {
		m.ret = append(m.ret[:0], luaNum(float64(len(args)-1)))
		return nil
	}
	n, err := m.numberArg(args, 0, "select")
	if err != nil {
		return err
	}
	i := toInt(n)
	if i < 0 {
		i += len(args)
	}
	if i < 1 {
		return m.argError(1, "select", "index out of range")
	}
	m.ret = append(m.ret[:0], args[min(i, len(args)):]...)
	return m.step(len(m.ret) / 16)
}

func luaUnpack(m *luaMachine, args []luaValue) error {
	t, err := m.tableArg(args, 0, "unpack")
	if err != nil {
		return err
	}
	from, err := m.intArg(args, 1, "unpack", 1)
	if err != nil {
		return err
	}
	to, err := m.intArg(args, 2, "unpack", t.length())
	if err != nil {
		return err
	}
	m.ret = m.ret[:0]
	if to-from >= maxStack {
		return m.throwf("too many results to unpack")
	}
	if to < from {
		return nil
	}
	if err := m.step((to - from) / 16); err != nil {
		return err
	}
	for i := from; i <= to; i++ {
		key := luaNum(float64(i))
		m.ret = append(m.ret, t.get(&key))
	}
	return nil
}

func luaNext(m *luaMachine, args []luaValue) error {
	t, err := m.tableArg(args, 0, "next")
	if err != nil {
		return err
	}
	from := 0
	if len(args) > 1 && args[1].kind != luaNil {
		if args[1].unknown() {
			return m.needs(&args[1])
		}
		if from = t.position(&args[1]); from == 0 {
			return m.throw(luaStr([]byte("invalid key to 'next'")))
		}
	}
	key, v, at, ok := t.after(from)
	if ok {
		m.ret = append(m.ret[:0], key, v)
	} else {
		m.ret = append(m.ret[:0], luaValue{})
	}
	return m.step((at - from) / 16)
}

// luaNextValue is what pairs returns to iterate with, luaNextItem ipairs.
var (
	luaNextValue = luaMany(luaNext)
	luaNextItem  = luaMany(func(m *luaMachine, args []luaValue) error {
		key := luaNum(args[1].num + 1)
		if v := args[0].tab.get(&key); v.kind != luaNil {
			m.ret = append(m.ret[:0], key, v)
			return nil
		}
		m.ret = m.ret[:0]
		return nil
	})
)

func luaPairs(m *luaMachine, args []luaValue) error {
	t, err := m.tableArg(args, 0, "pairs")
	m.ret = append(m.ret[:0], luaNextValue, luaTab(t), luaValue{})
	return err
}

func luaIpairs(m *luaMachine, args []luaValue) error {
	t, err := m.tableArg(args, 0, "ipairs")
	m.ret = append(m.ret[:0], luaNextItem, luaTab(t), luaNum(0))
	return err
}
