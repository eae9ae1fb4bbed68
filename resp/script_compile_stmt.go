package resp

import "github.com/yuin/gopher-lua/ast"

func (c *compiler) stmt(s ast.Stmt) (luaStmt, error) {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		return c.localStmt(s)
	case *ast.AssignStmt:
		return c.assignStmt(s.Lhs, s.Rhs, s.Line())
	case *ast.FuncCallStmt:
		call, err := c.call(s.Expr.(*ast.FuncCallExpr))
		return &callStmt{call}, err
	case *ast.DoBlockStmt:
		body, err := c.block(s.Stmts)
		return &doStmt{body}, err
	case *ast.IfStmt:
		return c.ifStmt(s)
	case *ast.WhileStmt:
		condition, err := c.expr(s.Condition)
		if err != nil {
			return nil, err
		}
		body, err := c.loop(s.Stmts)
		return &loopStmt{condition: condition, body: body}, err
	case *ast.RepeatStmt:
		return c.repeatStmt(s)
	case *ast.NumberForStmt:
		return c.countStmt(s)
	case *ast.GenericForStmt:
		return c.eachStmt(s)
	case *ast.FuncDefStmt:
		return c.funcStmt(s)
	case *ast.ReturnStmt:
		values, err := c.list(s.Exprs)
		return &returnStmt{values}, err
	case *ast.BreakStmt:
		if c.loops == 0 {
			return nil, &errSyntax{s.Line(), "no loop to break near '<eof>'"}
		}
		return breakStmt{}, nil
	case *ast.GotoStmt:
		// Lua 5.1, which Redis has, knows no goto.
		return nil, &errSyntax{s.Line(), "'=' expected near '" + s.Label + "'"}
	}
	return nil, &errSyntax{s.Line(), "unexpected symbol near ':'"}
}

// loop compiles the body of a loop.
func (c *compiler) loop(stmts []ast.Stmt) ([]luaStmt, error) {
	c.loops++
	defer func() { c.loops-- }()
	return c.block(stmts)
}

func (c *compiler) localStmt(s *ast.LocalAssignStmt) (luaStmt, error) {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if f, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			return c.localFunction(s.Names[0], f)
		}
	}
	values, err := c.list(s.Exprs)
	if err != nil {
		return nil, err
	}
	locals, err := c.locals(s.Names)
	return &localStmt{locals, values}, err
}

// localFunction compiles "local function f" and "local f = function", for which
// the parser has one tree: in the first f is the function itself inside it, in
// the second what it was outside. They differ if there was one outside.
func (c *compiler) localFunction(name string, f *ast.FunctionExpr) (luaStmt, error) {
	outer := c.visible(name)
	locals, err := c.locals([]string{name})
	if err != nil {
		return nil, err
	}
	fn, err := c.function(f, false)
	if err != nil {
		return nil, err
	}
	if outer && locals[0].box >= 0 {
		return nil, errOutside("has a local function '" + name + "' that uses a name it has outside too")
	}
	return &recursiveStmt{locals[0], fn}, nil
}

func (c *compiler) assignStmt(lhs, rhs []ast.Expr, line int) (luaStmt, error) {
	s := &assignStmt{line: line}
	for _, e := range lhs {
		target, err := c.target(e)
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, target)
	}
	values, err := c.list(rhs)
	s.values = values
	return s, err
}

// target compiles what is assigned to. A library is not folded into a constant
// here: assigning to its fields is an error when it happens.
func (c *compiler) target(e ast.Expr) (luaExpr, error) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return c.name(e.Value, e.Line()), nil
	case *ast.AttrGetExpr:
		return c.indexExpr(e)
	}
	return nil, &errSyntax{e.Line(), "unexpected symbol near '='"}
}

// funcStmt compiles "function a.b.c()" and "function a.b:c()".
func (c *compiler) funcStmt(s *ast.FuncDefStmt) (luaStmt, error) {
	target := s.Name.Func
	method := s.Name.Method != ""
	if method {
		key := &ast.StringExpr{Value: s.Name.Method}
		target = &ast.AttrGetExpr{Object: s.Name.Receiver, Key: key}
		target.SetLine(s.Line())
	}
	compiled, err := c.target(target)
	if err != nil {
		return nil, err
	}
	fn, err := c.function(s.Func, method)
	if err != nil {
		return nil, err
	}
	return &assignStmt{[]luaExpr{compiled}, luaList{exprs: []luaExpr{fn}}, s.Line()}, nil
}

// ifStmt compiles a chain of elseif, which the parser nests, as one statement.
func (c *compiler) ifStmt(s *ast.IfStmt) (luaStmt, error) {
	compiled := &ifStmt{}
	for {
		condition, err := c.expr(s.Condition)
		if err != nil {
			return nil, err
		}
		body, err := c.block(s.Then)
		if err != nil {
			return nil, err
		}
		compiled.clauses = append(compiled.clauses, ifClause{condition, body})
		if len(s.Else) == 1 {
			if next, ok := s.Else[0].(*ast.IfStmt); ok {
				s = next
				continue
			}
		}
		if len(s.Else) == 0 {
			return compiled, nil
		}
		body, err = c.block(s.Else)
		compiled.clauses = append(compiled.clauses, ifClause{nil, body})
		return compiled, err
	}
}

// repeatStmt: the condition sees the locals of the body.
func (c *compiler) repeatStmt(s *ast.RepeatStmt) (luaStmt, error) {
	defer c.leave(len(c.scope))
	c.loops++
	body, err := c.open(s.Stmts)
	c.loops--
	if err != nil {
		return nil, err
	}
	condition, err := c.expr(s.Condition)
	return &loopStmt{condition, body, true}, err
}

func (c *compiler) countStmt(s *ast.NumberForStmt) (luaStmt, error) {
	compiled := &countStmt{line: s.Line()}
	for _, part := range []struct {
		to   *luaExpr
		from ast.Expr
	}{{&compiled.first, s.Init}, {&compiled.limit, s.Limit}, {&compiled.step, s.Step}} {
		if part.from == nil {
			continue
		}
		e, err := c.expr(part.from)
		if err != nil {
			return nil, err
		}
		*part.to = e
	}
	defer c.leave(len(c.scope))
	locals, err := c.locals([]string{s.Name})
	if err != nil {
		return nil, err
	}
	compiled.local = locals[0]
	compiled.body, err = c.loop(s.Stmts)
	return compiled, err
}

func (c *compiler) eachStmt(s *ast.GenericForStmt) (luaStmt, error) {
	values, err := c.list(s.Exprs)
	if err != nil {
		return nil, err
	}
	defer c.leave(len(c.scope))
	locals, err := c.locals(s.Names)
	if err != nil {
		return nil, err
	}
	body, err := c.loop(s.Stmts)
	return &eachStmt{locals, values, body, s.Line()}, err
}
