package resp

// luaExpr is an expression, ready to run.
type luaExpr interface {
	eval(m *luaMachine) (luaValue, error)
}

// luaMultiExpr is an expression that can have any number of values: a call or
// "...". evalAll leaves them in m.ret.
type luaMultiExpr interface {
	luaExpr
	evalAll(m *luaMachine) error
}

// luaList is a list of expressions, whose last one may have many values.
type luaList struct {
	exprs []luaExpr
	rest  luaMultiExpr // nil if there is none
}

// push puts all values on the stack.
func (l *luaList) push(m *luaMachine) error {
	for _, e := range l.exprs {
		v, err := e.eval(m)
		if err != nil {
			return err
		}
		if err := m.push(v); err != nil {
			return err
		}
	}
	if l.rest == nil {
		return nil
	}
	if err := l.rest.evalAll(m); err != nil {
		return err
	}
	return m.pushAll(m.ret)
}

func (m *luaMachine) pushAll(vs []luaValue) error {
	if err := m.step(len(vs) / 16); err != nil {
		return err
	}
	if err := m.reserve(len(vs)); err != nil {
		return err
	}
	copy(m.stack[m.top-len(vs):], vs)
	return nil
}

type (
	constExpr   struct{ v luaValue }
	localExpr   struct{ l *luaLocal }
	upvalueExpr struct {
		name string
		i    int
	}
	// argvExpr and keysExpr are the globals that differ from run to run.
	argvExpr struct{}
	keysExpr struct{}
	// missingExpr is a global that does not exist.
	missingExpr struct {
		name string
		line int
	}
	// outsideExpr is something of Redis's that is not modelled here.
	outsideExpr struct{ name string }
	indexExpr   struct {
		object, key luaExpr
		line        int
	}
	// callExpr is a call of fn, or of a method of fn if that has a name.
	callExpr struct {
		fn     luaExpr
		method luaValue
		args   luaList
		line   int
	}
	varargExpr struct{}
	tableExpr  struct {
		keys, values []luaExpr // without a key: the next item
		rest         luaMultiExpr
		line         int
	}
	funcExpr struct{ proto *luaProto }
)

func (e *constExpr) eval(*luaMachine) (luaValue, error) { return e.v, nil }

func (e *localExpr) eval(m *luaMachine) (luaValue, error) { return *m.local(e.l), nil }

func (e *upvalueExpr) eval(m *luaMachine) (luaValue, error) { return *m.frame.up[e.i], nil }

func (argvExpr) eval(m *luaMachine) (luaValue, error) { return luaTab(&m.argv), nil }

func (keysExpr) eval(m *luaMachine) (luaValue, error) { return luaTab(&m.keys), nil }

func (e *missingExpr) eval(m *luaMachine) (luaValue, error) {
	return luaValue{}, m.throwAt(e.line, "Script attempted to access nonexistent global variable '%s'", e.name)
}

func (e *outsideExpr) eval(m *luaMachine) (luaValue, error) {
	return luaValue{}, m.outside(e.name)
}

// outside refuses a script that uses what is not modelled.
func (m *luaMachine) outside(name string) error {
	return m.refuse("uses '%s'", name)
}

func (e *indexExpr) eval(m *luaMachine) (luaValue, error) {
	object, err := e.object.eval(m)
	if err != nil {
		return object, err
	}
	key, err := e.key.eval(m)
	if err != nil {
		return key, err
	}
	if err := m.step(1); err != nil {
		return key, err
	}
	return m.index(&object, &key, e.object, e.line)
}

// index reads a field of object, which of names in an error.
func (m *luaMachine) index(object, key *luaValue, of luaExpr, line int) (luaValue, error) {
	t := object.tab
	if object.kind == luaString || object.kind == luaUnknownString {
		t = m.strings
	} else if object.kind != luaTableKind {
		return luaValue{}, m.typeError(line, "index", nameOf(of), object)
	}
	if key.unknown() {
		return luaValue{}, m.needs(key)
	}
	if err := m.step(len(key.str) / bytesAKeyStep); err != nil {
		return luaValue{}, err
	}
	v := t.get(key)
	if v.kind == luaOutside {
		return v, m.outside(string(v.str))
	}
	return v, nil
}

// typeError raises Lua's error for an operand of the wrong type; name is what
// the script calls it, if anything. An operand that is unknown has a type, so
// the real content decides.
func (m *luaMachine) typeError(line int, verb, name string, v *luaValue) error {
	switch {
	case v.unknown():
		return m.needs(v)
	case v.kind == luaOutside:
		return m.outside(string(v.str))
	case name == "":
		return m.throwAt(line, "attempt to %s a %s value", verb, v.typeName())
	}
	return m.throwAt(line, "attempt to %s %s (a %s value)", verb, name, v.typeName())
}

// nameOf names an operand the way Lua does in its errors.
func nameOf(e luaExpr) string {
	switch e := e.(type) {
	case *localExpr:
		return "local '" + e.l.name + "'"
	case *upvalueExpr:
		return "upvalue '" + e.name + "'"
	case *indexExpr:
		if k, ok := e.key.(*constExpr); ok && k.v.kind == luaString {
			return "field '" + string(k.v.str) + "'"
		}
		return "field '?'"
	}
	return ""
}

// prepare finds the function to call and puts its arguments on the stack,
// from base on.
func (e *callExpr) prepare(m *luaMachine) (fn *luaFunc, base int, err error) {
	if err := m.step(1 + len(e.args.exprs)); err != nil {
		return nil, 0, err
	}
	f, err := e.fn.eval(m)
	if err != nil {
		return nil, 0, err
	}
	base = m.top
	if e.method.kind == luaString {
		if err := m.push(f); err != nil {
			return nil, 0, err
		}
		if f, err = m.index(&f, &e.method, e.fn, e.line); err != nil {
			return nil, 0, err
		}
	}
	if err := e.args.push(m); err != nil {
		return nil, 0, err
	}
	m.frame.line, m.method = e.line, e.method.kind == luaString
	if f.kind != luaFunction {
		return nil, 0, m.typeError(e.line, "call", e.name(), &f)
	}
	return f.fn, base, nil
}

// name is what the script calls the function it calls.
func (e *callExpr) name() string {
	if e.method.kind == luaString {
		return "method '" + string(e.method.str) + "'"
	}
	return nameOf(e.fn)
}

func (e *callExpr) eval(m *luaMachine) (luaValue, error) {
	fn, base, err := e.prepare(m)
	if err != nil {
		return luaValue{}, err
	}
	if fn.one != nil {
		v, err := fn.one(m, m.stack[base:m.top])
		m.top = base
		return v, err
	}
	if err := m.call(fn, base); err != nil || len(m.ret) == 0 {
		return luaValue{}, err
	}
	return m.ret[0], nil
}

func (e *callExpr) evalAll(m *luaMachine) error {
	fn, base, err := e.prepare(m)
	if err != nil {
		return err
	}
	return m.call(fn, base)
}

func (varargExpr) eval(m *luaMachine) (luaValue, error) {
	if f := m.frame; f.nvarargs > 0 {
		return m.stack[f.varargs], nil
	}
	return luaValue{}, nil
}

func (varargExpr) evalAll(m *luaMachine) error {
	f := m.frame
	m.ret = append(m.ret[:0], m.stack[f.varargs:f.varargs+f.nvarargs]...)
	return m.step(1)
}

// eval stores the items that have no key last, as Lua does.
func (e *tableExpr) eval(m *luaMachine) (luaValue, error) {
	t, err := m.newTable()
	if err != nil {
		return luaValue{}, err
	}
	base := m.top
	for i, value := range e.values {
		if err := e.field(m, t, e.keys[i], value); err != nil {
			return luaValue{}, err
		}
	}
	if e.rest != nil {
		if err := e.rest.evalAll(m); err != nil {
			return luaValue{}, err
		}
		if err := m.pushAll(m.ret); err != nil {
			return luaValue{}, err
		}
	}
	items := m.stack[base:m.top]
	m.top = base
	t.setItems(items)
	return luaTab(t), m.charge(costItem * len(items))
}

// field adds one field of a table constructor, or puts an item on the stack.
func (e *tableExpr) field(m *luaMachine, t *luaTable, key, value luaExpr) error {
	if err := m.step(1); err != nil {
		return err
	}
	var k luaValue
	var err error
	if key != nil {
		if k, err = key.eval(m); err != nil {
			return err
		}
	}
	v, err := value.eval(m)
	switch {
	case err != nil:
		return err
	case key == nil:
		return m.push(v)
	}
	return m.setField(t, &k, v, e.line)
}

// setField stores into a table, with the errors of Lua.
func (m *luaMachine) setField(t *luaTable, key *luaValue, v luaValue, line int) error {
	switch {
	case t.fixed:
		return m.throwAt(line, "Attempt to modify a readonly table")
	case key.unknown():
		return m.needs(key)
	case key.kind == luaNil:
		return m.throwAt(line, "table index is nil")
	case key.kind == luaNumber && key.num != key.num:
		return m.throwAt(line, "table index is NaN")
	}
	if err := m.step(len(key.str) / bytesAKeyStep); err != nil {
		return err
	}
	return t.set(m, *key, v)
}

func (e *funcExpr) eval(m *luaMachine) (luaValue, error) {
	p := e.proto
	if err := m.charge(costTable + costItem*len(p.captures)); err != nil {
		return luaValue{}, err
	}
	fn := &luaFunc{proto: p, up: make([]*luaValue, len(p.captures))}
	for i, c := range p.captures {
		if c.local != nil {
			fn.up[i] = m.frame.boxes[c.local.box]
		} else {
			fn.up[i] = m.frame.up[c.upvalue]
		}
	}
	return luaValue{kind: luaFunction, fn: fn}, nil
}
