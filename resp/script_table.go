package resp

import "math"

// luaTable is a Lua table. Keys 1..n are kept apart; the others keep the order
// in which they were set, which is the order of pairs (Lua promises none).
type luaTable struct {
	arr    []luaValue // may have nils inside, as in Lua
	fields []luaField
	index  map[luaKey]int // position in fields, once there are many
	fixed  bool           // a library: may not be modified
}

type luaField struct{ key, val luaValue }

// luaKey is a luaValue that Go can hash.
type luaKey struct {
	kind luaKind
	num  float64
	str  string
	tab  *luaTable
	fn   *luaFunc
}

func (v *luaValue) key() luaKey {
	return luaKey{kind: v.kind, num: v.num, str: string(v.str), tab: v.tab, fn: v.fn}
}

// fewFields is how many fields are searched one by one.
const fewFields = 8

// What a table costs of a run's memory.
const (
	costTable = 96
	costItem  = 56
	costField = 160
)

// get returns what is at key, nil if nothing is. key must be known.
func (t *luaTable) get(key *luaValue) luaValue {
	if i, ok := t.slot(key); ok {
		return t.arr[i]
	}
	if i := t.find(key); i >= 0 {
		return t.fields[i].val
	}
	return luaValue{}
}

// slot is the position in arr that key names, if there is one.
func (t *luaTable) slot(key *luaValue) (int, bool) {
	if key.kind != luaNumber || key.num < 1 || key.num > float64(len(t.arr)) || key.num != math.Trunc(key.num) {
		return 0, false
	}
	return int(key.num) - 1, true
}

// find is the position of key in fields, -1 if it has none.
func (t *luaTable) find(key *luaValue) int {
	if t.index != nil {
		if i, ok := t.index[key.key()]; ok {
			return i
		}
		return -1
	}
	for i := range t.fields {
		if rawEqual(&t.fields[i].key, key) {
			return i
		}
	}
	return -1
}

// getName is get for a key that is a string.
func (t *luaTable) getName(name string) luaValue {
	if t.index != nil {
		key := luaStr([]byte(name))
		return t.get(&key)
	}
	for i := range t.fields {
		if f := &t.fields[i]; f.key.kind == luaString && string(f.key.str) == name {
			return f.val
		}
	}
	return luaValue{}
}

// set stores val at key, which is known, not nil and not NaN.
func (t *luaTable) set(m *luaMachine, key, val luaValue) error {
	if i, ok := t.slot(&key); ok {
		t.arr[i] = val
		return nil
	}
	if val.kind != luaNil && key.kind == luaNumber && key.num == float64(len(t.arr)+1) {
		return t.push(m, val)
	}
	if i := t.find(&key); i >= 0 {
		t.fields[i].val = val
		return nil
	}
	if val.kind == luaNil {
		return nil
	}
	if err := m.charge(costField + len(key.str)); err != nil {
		return err
	}
	t.addField(key, val)
	return nil
}

// push appends an item, and the fields that then follow it without a gap.
func (t *luaTable) push(m *luaMachine, val luaValue) error {
	for {
		if err := m.charge(costItem); err != nil {
			return err
		}
		t.arr = append(t.arr, val)
		if len(t.fields) == 0 {
			return nil
		}
		next := luaNum(float64(len(t.arr) + 1))
		i := t.find(&next)
		if i < 0 || t.fields[i].val.kind == luaNil {
			return nil
		}
		val = t.fields[i].val
		t.fields[i].val = luaValue{}
	}
}

// setItems stores the items of a constructor, nils too.
func (t *luaTable) setItems(items []luaValue) {
	for i, v := range items {
		if i < len(t.arr) {
			t.arr[i] = v
			continue
		}
		t.arr = append(t.arr, v)
		key := luaNum(float64(i + 1))
		if at := t.find(&key); at >= 0 {
			t.fields[at].val = luaValue{}
		}
	}
}

func (t *luaTable) addField(key, val luaValue) {
	t.fields = append(t.fields, luaField{key, val})
	switch {
	case t.index != nil:
		t.index[key.key()] = len(t.fields) - 1
	case len(t.fields) > fewFields:
		t.index = make(map[luaKey]int, 2*fewFields)
		for i := range t.fields {
			t.index[t.fields[i].key.key()] = i
		}
	}
}

// length is Lua's # operator: any n where item n is there and n+1 is not, found
// the way Lua 5.1 does.
func (t *luaTable) length() int {
	n := len(t.arr)
	if n == 0 || t.arr[n-1].kind != luaNil {
		return n
	}
	low, high := 0, n
	for high-low > 1 {
		if mid := (low + high) / 2; t.arr[mid-1].kind == luaNil {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// position is where key stands in the order of pairs, counted from 1; 0 if it
// is not in the table.
func (t *luaTable) position(key *luaValue) int {
	if i, ok := t.slot(key); ok {
		return i + 1
	}
	if i := t.find(key); i >= 0 {
		return len(t.arr) + i + 1
	}
	return 0
}

// after returns the first pair behind a position, the position of that pair,
// and false if there is none.
func (t *luaTable) after(from int) (k, v luaValue, at int, ok bool) {
	for i := from; i < len(t.arr); i++ {
		if t.arr[i].kind != luaNil {
			return luaNum(float64(i + 1)), t.arr[i], i + 1, true
		}
	}
	for i := max(from-len(t.arr), 0); i < len(t.fields); i++ {
		if f := &t.fields[i]; f.val.kind != luaNil {
			return f.key, f.val, len(t.arr) + i + 1, true
		}
	}
	return luaValue{}, luaValue{}, len(t.arr) + len(t.fields), false
}

// reset empties a table that is used again, and drops what it refers to.
func (t *luaTable) reset() {
	const keep = 64
	clear(t.arr)
	clear(t.fields)
	t.arr, t.fields, t.index = t.arr[:0], t.fields[:0], nil
	if cap(t.arr) > keep {
		t.arr = nil
	}
	if cap(t.fields) > keep {
		t.fields = nil
	}
}
