package resp

// luaStmt is a statement, ready to run.
type luaStmt interface {
	exec(m *luaMachine) (luaFlow, error)
}

// luaFlow says where to go after a statement.
type luaFlow uint8

const (
	flowNext   luaFlow = iota
	flowBreak          // out of the innermost loop
	flowReturn         // out of the function, with m.ret
)

func execBlock(m *luaMachine, block []luaStmt) (luaFlow, error) {
	for _, s := range block {
		if err := m.step(1); err != nil {
			return flowNext, err
		}
		if flow, err := s.exec(m); flow != flowNext || err != nil {
			return flow, err
		}
	}
	return flowNext, nil
}

type (
	localStmt struct {
		locals []*luaLocal
		values luaList
	}
	// recursiveStmt is "local function f", which may call itself.
	recursiveStmt struct {
		local *luaLocal
		fn    *funcExpr
	}
	assignStmt struct {
		targets []luaExpr // localExpr, upvalueExpr, indexExpr, missingExpr
		values  luaList
		line    int
	}
	callStmt struct{ call *callExpr }
	doStmt   struct{ body []luaStmt }
	ifStmt   struct{ clauses []ifClause }
	ifClause struct {
		condition luaExpr // nil for else
		body      []luaStmt
	}
	// loopStmt is while, or repeat if the condition comes last and ends it.
	loopStmt struct {
		condition luaExpr
		body      []luaStmt
		repeat    bool
	}
	countStmt struct {
		local              *luaLocal
		first, limit, step luaExpr // step may be nil
		body               []luaStmt
		line               int
	}
	eachStmt struct {
		locals []*luaLocal
		values luaList
		body   []luaStmt
		line   int
	}
	returnStmt struct{ values luaList }
	breakStmt  struct{}
)

func (breakStmt) exec(*luaMachine) (luaFlow, error) { return flowBreak, nil }

func (s *doStmt) exec(m *luaMachine) (luaFlow, error) { return execBlock(m, s.body) }

func (s *callStmt) exec(m *luaMachine) (luaFlow, error) {
	_, err := s.call.eval(m)
	return flowNext, err
}

func (s *returnStmt) exec(m *luaMachine) (luaFlow, error) {
	list := &s.values
	if len(list.exprs) == 0 && list.rest != nil {
		return flowReturn, list.rest.evalAll(m)
	}
	if len(list.exprs) == 1 && list.rest == nil {
		v, err := list.exprs[0].eval(m)
		m.ret = append(m.ret[:0], v)
		return flowReturn, err
	}
	base := m.top
	err := list.push(m)
	if err == nil {
		m.ret = append(m.ret[:0], m.stack[base:m.top]...)
		m.top = base
	}
	return flowReturn, err
}

func (s *localStmt) exec(m *luaMachine) (luaFlow, error) {
	if len(s.locals) == 1 && len(s.values.exprs) == 1 && s.values.rest == nil {
		v, err := s.values.exprs[0].eval(m)
		m.declare(s.locals[0], v)
		return flowNext, err
	}
	base := m.top
	if err := s.values.push(m); err != nil {
		return flowNext, err
	}
	for i, l := range s.locals {
		m.declare(l, m.pushed(base, i))
	}
	m.top = base
	return flowNext, nil
}

// pushed is the i-th value on the stack from base on, nil behind the last.
func (m *luaMachine) pushed(base, i int) luaValue {
	if base+i < m.top {
		return m.stack[base+i]
	}
	return luaValue{}
}

func (s *recursiveStmt) exec(m *luaMachine) (luaFlow, error) {
	m.declare(s.local, luaValue{})
	fn, err := s.fn.eval(m)
	*m.local(s.local) = fn
	return flowNext, err
}

// exec evaluates the tables and keys of the targets, then the values, and then
// assigns from right to left, as Lua 5.1 does.
func (s *assignStmt) exec(m *luaMachine) (luaFlow, error) {
	base := m.top
	for _, t := range s.targets {
		if err := m.pushTarget(t); err != nil {
			return flowNext, err
		}
	}
	values := m.top
	if err := s.values.push(m); err != nil {
		return flowNext, err
	}
	at := values
	for i := len(s.targets) - 1; i >= 0; i-- {
		if _, ok := s.targets[i].(*indexExpr); ok {
			at -= 2
		}
		if err := s.assign(m, s.targets[i], at, m.pushed(values, i)); err != nil {
			return flowNext, err
		}
	}
	m.top = base
	return flowNext, nil
}

// pushTarget puts the table and the key of an assignment on the stack.
func (m *luaMachine) pushTarget(target luaExpr) error {
	t, ok := target.(*indexExpr)
	if !ok {
		return nil
	}
	list := luaList{exprs: []luaExpr{t.object, t.key}}
	return list.push(m)
}

// assign stores v; the table and key of an index are at a place of the stack.
func (s *assignStmt) assign(m *luaMachine, target luaExpr, at int, v luaValue) error {
	switch t := target.(type) {
	case *localExpr:
		*m.local(t.l) = v
		return nil
	case *upvalueExpr:
		*m.frame.up[t.i] = v
		return nil
	case *indexExpr:
		object, key := m.stack[at], m.stack[at+1]
		if object.kind != luaTableKind {
			return m.typeError(t.line, "index", nameOf(t.object), &object)
		}
		return m.setField(object.tab, &key, v, t.line)
	}
	return m.throwAt(s.line, "Attempt to modify a readonly table")
}

func (s *ifStmt) exec(m *luaMachine) (luaFlow, error) {
	for i := range s.clauses {
		c := &s.clauses[i]
		if c.condition == nil {
			return execBlock(m, c.body)
		}
		v, err := c.condition.eval(m)
		if err != nil {
			return flowNext, err
		}
		if v.truthy() {
			return execBlock(m, c.body)
		}
	}
	return flowNext, nil
}

func (s *loopStmt) exec(m *luaMachine) (luaFlow, error) {
	for {
		if err := m.step(1); err != nil {
			return flowNext, err
		}
		if !s.repeat {
			if v, err := s.condition.eval(m); err != nil || !v.truthy() {
				return flowNext, err
			}
		}
		if flow, err := execBlock(m, s.body); flow != flowNext || err != nil {
			return afterLoop(flow), err
		}
		if s.repeat {
			if v, err := s.condition.eval(m); err != nil || v.truthy() {
				return flowNext, err
			}
		}
	}
}

// afterLoop is where to go when the body of a loop did not end normally.
func afterLoop(flow luaFlow) luaFlow {
	if flow == flowBreak {
		return flowNext
	}
	return flow
}

func (s *countStmt) exec(m *luaMachine) (luaFlow, error) {
	first, err := s.number(m, s.first, "initial value")
	if err != nil {
		return flowNext, err
	}
	limit, err := s.number(m, s.limit, "limit")
	if err != nil {
		return flowNext, err
	}
	step := 1.0
	if s.step != nil {
		if step, err = s.number(m, s.step, "step"); err != nil {
			return flowNext, err
		}
	}
	for i := first; step > 0 && i <= limit || step <= 0 && i >= limit; i += step {
		if err := m.step(1); err != nil {
			return flowNext, err
		}
		m.declare(s.local, luaNum(i))
		if flow, err := execBlock(m, s.body); flow != flowNext || err != nil {
			return afterLoop(flow), err
		}
	}
	return flowNext, nil
}

func (s *countStmt) number(m *luaMachine, e luaExpr, what string) (float64, error) {
	v, err := e.eval(m)
	if err != nil {
		return 0, err
	}
	n, ok, err := m.numberOf(&v)
	if ok || err != nil {
		return n, err
	}
	return 0, m.throwAt(s.line, "'for' %s must be a number", what)
}

// exec calls an iterator until it returns nil.
func (s *eachStmt) exec(m *luaMachine) (luaFlow, error) {
	base := m.top
	defer func() { m.top = base }()
	if err := s.values.push(m); err != nil {
		return flowNext, err
	}
	iterator, state, control := m.pushed(base, 0), m.pushed(base, 1), m.pushed(base, 2)
	m.top = base
	for {
		if err := s.advance(m, &iterator, state, control); err != nil {
			return flowNext, err
		}
		if len(m.ret) == 0 || m.ret[0].kind == luaNil {
			return flowNext, nil
		}
		control = m.ret[0]
		for i, l := range s.locals {
			var v luaValue
			if i < len(m.ret) {
				v = m.ret[i]
			}
			m.declare(l, v)
		}
		if flow, err := execBlock(m, s.body); flow != flowNext || err != nil {
			return afterLoop(flow), err
		}
	}
}

// advance calls the iterator once.
func (s *eachStmt) advance(m *luaMachine, iterator *luaValue, state, control luaValue) error {
	if err := m.step(2); err != nil {
		return err
	}
	m.frame.line, m.method = s.line, false
	if iterator.kind != luaFunction {
		return m.typeError(s.line, "call", "", iterator)
	}
	base := m.top
	if err := m.push(state); err != nil {
		return err
	}
	if err := m.push(control); err != nil {
		return err
	}
	return m.call(iterator.fn, base)
}
