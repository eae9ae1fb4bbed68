package resp

import "math"

func tableLibrary() *luaTable {
	return library(map[string]luaValue{
		"concat": luaOne(luaTableConcat),
		"getn":   luaOne(luaTableGetn),
		"insert": luaMany(luaTableInsert),
		"remove": luaOne(luaTableRemove),
		"unpack": luaMany(luaUnpack), // Lua 5.2 and newer have it here
	}, map[string]string{"table.": "foreach foreachi maxn setn sort"})
}

func luaTableGetn(m *luaMachine, args []luaValue) (luaValue, error) {
	t, err := m.tableArg(args, 0, "getn")
	if err != nil {
		return luaValue{}, err
	}
	return luaNum(float64(t.length())), nil
}

// luaTableInsert appends, or inserts at a position and moves up what follows.
func luaTableInsert(m *luaMachine, args []luaValue) error {
	t, err := m.tableArg(args, 0, "insert")
	if err != nil {
		return err
	}
	m.ret = m.ret[:0]
	end := t.length() + 1
	at := end
	switch len(args) {
	case 2:
	case 3:
		n, err := m.numberArg(args, 1, "insert")
		if err != nil {
			return err
		}
		at = toInt(n)
	default:
		return m.throwf("wrong number of arguments to 'insert'")
	}
	if err := m.step(1 + max(0, end-at)); err != nil {
		return err
	}
	for i := end; i > at; i-- {
		below := luaNum(float64(i - 1))
		if err := m.setItem(t, i, t.get(&below)); err != nil {
			return err
		}
	}
	return m.setItem(t, at, args[len(args)-1])
}

func (m *luaMachine) setItem(t *luaTable, i int, v luaValue) error {
	key := luaNum(float64(i))
	return m.setField(t, &key, v, m.frame.line)
}

// luaTableRemove removes the last item, or one at a position.
func luaTableRemove(m *luaMachine, args []luaValue) (luaValue, error) {
	t, err := m.tableArg(args, 0, "remove")
	if err != nil {
		return luaValue{}, err
	}
	end := t.length()
	at, err := m.intArg(args, 1, "remove", end)
	if err != nil || at < 1 || at > end {
		return luaValue{}, err
	}
	key := luaNum(float64(at))
	removed := t.get(&key)
	if err := m.step(1 + end - at); err != nil {
		return luaValue{}, err
	}
	for i := at; i < end; i++ {
		above := luaNum(float64(i + 1))
		if err := m.setItem(t, i, t.get(&above)); err != nil {
			return luaValue{}, err
		}
	}
	return removed, m.setItem(t, end, luaValue{})
}

func luaTableConcat(m *luaMachine, args []luaValue) (luaValue, error) {
	t, err := m.tableArg(args, 0, "concat")
	if err != nil {
		return luaValue{}, err
	}
	var between []byte
	if len(args) > 1 && args[1].kind != luaNil {
		if between, err = m.stringArg(args, 1, "concat"); err != nil {
			return luaValue{}, err
		}
	}
	from, err := m.intArg(args, 2, "concat", 1)
	if err != nil {
		return luaValue{}, err
	}
	to, err := m.intArg(args, 3, "concat", t.length())
	if err != nil {
		return luaValue{}, err
	}
	var joined []byte
	for i := from; i <= to; i++ {
		key := luaNum(float64(i))
		v := t.get(&key)
		text, ok := v.text()
		if !ok {
			if v.unknown() {
				return v, m.needs(&v)
			}
			return v, m.throwf("invalid value (%s) at index %d in table for 'concat'", v.typeName(), i)
		}
		if i > from {
			text = append(append(make([]byte, 0, len(between)+len(text)), between...), text...)
		}
		if err := m.make(len(text)); err != nil {
			return v, err
		}
		joined = append(joined, text...)
	}
	return luaStr(joined), nil
}

func mathLibrary() *luaTable {
	return library(map[string]luaValue{
		"abs":   mathFunc("abs", math.Abs),
		"ceil":  mathFunc("ceil", math.Ceil),
		"floor": mathFunc("floor", math.Floor),
		"sqrt":  mathFunc("sqrt", math.Sqrt),
		"max":   mathFold("max", func(a, b float64) bool { return b > a }),
		"min":   mathFold("min", func(a, b float64) bool { return b < a }),
		"fmod":  mathPair("fmod", math.Mod),
		"pow":   mathPair("pow", math.Pow),
		"huge":  luaNum(math.Inf(1)),
		"pi":    luaNum(math.Pi),
	}, map[string]string{"math.": "acos asin atan atan2 cos cosh deg exp frexp ldexp log log10 mod modf rad random randomseed sin sinh tan tanh"})
}

func mathFunc(name string, f func(float64) float64) luaValue {
	return luaOne(func(m *luaMachine, args []luaValue) (luaValue, error) {
		x, err := m.numberArg(args, 0, name)
		return luaNum(f(x)), err
	})
}

func mathPair(name string, f func(x, y float64) float64) luaValue {
	return luaOne(func(m *luaMachine, args []luaValue) (luaValue, error) {
		x, err := m.numberArg(args, 0, name)
		if err != nil {
			return luaValue{}, err
		}
		y, err := m.numberArg(args, 1, name)
		return luaNum(f(x, y)), err
	})
}

// mathFold picks one of the arguments; better says that b is to replace a.
func mathFold(name string, better func(a, b float64) bool) luaValue {
	return luaOne(func(m *luaMachine, args []luaValue) (luaValue, error) {
		best, err := m.numberArg(args, 0, name)
		for i := 1; i < len(args) && err == nil; i++ {
			var x float64
			if x, err = m.numberArg(args, i, name); better(best, x) {
				best = x
			}
		}
		return luaNum(best), err
	})
}
