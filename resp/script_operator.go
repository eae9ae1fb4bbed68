package resp

import (
	"bytes"
	"math"
)

type (
	// logicExpr is "and" or "or".
	logicExpr struct {
		left, right luaExpr
		or          bool
	}
	notExpr struct{ of luaExpr }
	// equalExpr is == or, negated, ~=.
	equalExpr struct {
		left, right luaExpr
		negate      bool
	}
	// lessExpr is < or, orEqual, <=. With swap it is > or >=, which Lua turns
	// around after evaluating from left to right.
	lessExpr struct {
		left, right   luaExpr
		orEqual, swap bool
		line          int
	}
	arithExpr struct {
		left, right luaExpr
		op          byte // + - * / % ^
		line        int
	}
	negateExpr struct {
		of   luaExpr
		line int
	}
	lengthExpr struct {
		of   luaExpr
		line int
	}
	concatExpr struct {
		parts []luaExpr
		line  int
	}
)

// both evaluates two operands and counts a step.
func (m *luaMachine) both(left, right luaExpr) (a, b luaValue, err error) {
	if a, err = left.eval(m); err != nil {
		return a, b, err
	}
	if b, err = right.eval(m); err != nil {
		return a, b, err
	}
	return a, b, m.step(1)
}

func (e *logicExpr) eval(m *luaMachine) (luaValue, error) {
	if err := m.step(1); err != nil {
		return luaValue{}, err
	}
	v, err := e.left.eval(m)
	if err != nil || v.truthy() == e.or {
		return v, err
	}
	return e.right.eval(m)
}

func (e *notExpr) eval(m *luaMachine) (luaValue, error) {
	v, err := e.of.eval(m)
	return luaBool(!v.truthy()), err
}

func (e *equalExpr) eval(m *luaMachine) (luaValue, error) {
	a, b, err := m.both(e.left, e.right)
	if err != nil {
		return a, err
	}
	equal, err := m.equal(&a, &b)
	return luaBool(equal != e.negate), err
}

func (e *lessExpr) eval(m *luaMachine) (luaValue, error) {
	a, b, err := m.both(e.left, e.right)
	if err != nil {
		return a, err
	}
	if e.swap {
		a, b = b, a
	}
	switch {
	case a.kind == luaNumber && b.kind == luaNumber:
		return luaBool(a.num < b.num || e.orEqual && a.num == b.num), nil
	case a.kind == luaString && b.kind == luaString:
		if err := m.step(min(len(a.str), len(b.str)) / bytesAStep); err != nil {
			return a, err
		}
		order := bytes.Compare(a.str, b.str)
		return luaBool(order < 0 || e.orEqual && order == 0), nil
	case a.unknown() || b.unknown():
		return a, m.needs(&a, &b)
	case a.typeName() == b.typeName():
		return a, m.throwAt(e.line, "attempt to compare two %s values", a.typeName())
	}
	return a, m.throwAt(e.line, "attempt to compare %s with %s", a.typeName(), b.typeName())
}

func (e *arithExpr) eval(m *luaMachine) (luaValue, error) {
	a, b, err := m.both(e.left, e.right)
	if err != nil {
		return a, err
	}
	x, okX := a.number()
	y, okY := b.number()
	switch {
	case okX && okY:
		return luaNum(arith(e.op, x, y)), nil
	case a.unknown() || b.unknown():
		return a, m.needs(&a, &b)
	case !okX:
		return a, m.typeError(e.line, "perform arithmetic on", nameOf(e.left), &a)
	}
	return b, m.typeError(e.line, "perform arithmetic on", nameOf(e.right), &b)
}

func arith(op byte, x, y float64) float64 {
	switch op {
	case '+':
		return x + y
	case '-':
		return x - y
	case '*':
		return x * y
	case '/':
		return x / y
	case '%':
		return x - math.Floor(x/y)*y
	}
	return math.Pow(x, y)
}

func (e *negateExpr) eval(m *luaMachine) (luaValue, error) {
	v, err := e.of.eval(m)
	if err != nil {
		return v, err
	}
	if x, ok := v.number(); ok {
		return luaNum(-x), nil
	}
	return v, m.typeError(e.line, "perform arithmetic on", nameOf(e.of), &v)
}

func (e *lengthExpr) eval(m *luaMachine) (luaValue, error) {
	v, err := e.of.eval(m)
	if err != nil {
		return v, err
	}
	switch v.kind {
	case luaString:
		return luaNum(float64(len(v.str))), nil
	case luaTableKind:
		return luaNum(float64(v.tab.length())), m.step(1)
	}
	return v, m.typeError(e.line, "get length of", nameOf(e.of), &v)
}

// eval evaluates all parts, then joins them; as in Lua from the right, which
// shows in the error for a part that is no text.
func (e *concatExpr) eval(m *luaMachine) (luaValue, error) {
	base := m.top
	list := luaList{exprs: e.parts}
	if err := list.push(m); err != nil {
		return luaValue{}, err
	}
	parts := m.stack[base:m.top]
	m.top = base
	total := 0
	for i := range parts {
		if parts[i].unknown() {
			return luaValue{}, m.needs(&parts[i])
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		text, ok := parts[i].text()
		if !ok {
			if i == len(parts)-1 && !joins(&parts[i-1]) {
				i--
			}
			return luaValue{}, m.typeError(e.line, "concatenate", nameOf(e.parts[i]), &parts[i])
		}
		parts[i] = luaStr(text)
		total += len(text)
	}
	if err := m.make(total); err != nil {
		return luaValue{}, err
	}
	joined := make([]byte, 0, total)
	for i := range parts {
		joined = append(joined, parts[i].str...)
	}
	return luaStr(joined), nil
}

func joins(v *luaValue) bool { return v.kind == luaString || v.kind == luaNumber }

// make counts the memory and the work of making a string of n bytes.
func (m *luaMachine) make(n int) error {
	if err := m.step(1 + n/bytesAStep); err != nil {
		return err
	}
	return m.charge(n)
}
