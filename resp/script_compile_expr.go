package resp

import "github.com/yuin/gopher-lua/ast"

func (c *compiler) expr(e ast.Expr) (luaExpr, error) {
	if err := c.deeper(); err != nil {
		return nil, err
	}
	defer c.shallower()
	switch e := e.(type) {
	case *ast.NilExpr:
		return &constExpr{}, nil
	case *ast.TrueExpr:
		return &constExpr{luaBool(true)}, nil
	case *ast.FalseExpr:
		return &constExpr{luaBool(false)}, nil
	case *ast.StringExpr:
		return &constExpr{luaStr([]byte(e.Value))}, nil
	case *ast.NumberExpr:
		f, ok := parseLuaNumber([]byte(e.Value))
		if !ok {
			return nil, &errSyntax{e.Line(), "malformed number near '" + e.Value + "'"}
		}
		return &constExpr{luaNum(f)}, nil
	case *ast.IdentExpr:
		return c.name(e.Value, e.Line()), nil
	case *ast.AttrGetExpr:
		return c.field(e)
	case *ast.FuncCallExpr:
		return c.call(e)
	case *ast.FunctionExpr:
		return c.function(e, false)
	case *ast.Comma3Expr:
		if !c.proto.vararg {
			return nil, &errSyntax{e.Line(), "cannot use '...' outside a vararg function near '...'"}
		}
		return varargExpr{}, nil
	case *ast.TableExpr:
		return c.table(e)
	}
	return c.operator(e)
}

func (c *compiler) operator(e ast.Expr) (luaExpr, error) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return c.logic(e)
	case *ast.RelationalOpExpr:
		left, right, err := c.pair(e.Lhs, e.Rhs)
		if e.Operator == "==" || e.Operator == "~=" {
			return &equalExpr{left, right, e.Operator == "~="}, err
		}
		orEqual, swap := len(e.Operator) == 2, e.Operator[0] == '>'
		return &lessExpr{left, right, orEqual, swap, e.Line()}, err
	case *ast.ArithmeticOpExpr:
		left, right, err := c.pair(e.Lhs, e.Rhs)
		return &arithExpr{left, right, e.Operator[0], e.Line()}, err
	case *ast.StringConcatOpExpr:
		return c.concat(e)
	case *ast.UnaryNotOpExpr:
		of, err := c.expr(e.Expr)
		return &notExpr{of}, err
	case *ast.UnaryMinusOpExpr:
		of, err := c.expr(e.Expr)
		return &negateExpr{of, e.Line()}, err
	case *ast.UnaryLenOpExpr:
		of, err := c.expr(e.Expr)
		return &lengthExpr{of, e.Line()}, err
	}
	return nil, errOutside("has an expression of an unknown kind")
}

// logic leaves out a constant that decides nothing, as Lua does.
func (c *compiler) logic(e *ast.LogicalOpExpr) (luaExpr, error) {
	left, right, err := c.pair(e.Lhs, e.Rhs)
	or := e.Operator == "or"
	if k, ok := left.(*constExpr); ok && k.v.truthy() != or {
		return right, err
	}
	return &logicExpr{left, right, or}, err
}

func (c *compiler) pair(lhs, rhs ast.Expr) (left, right luaExpr, err error) {
	if left, err = c.expr(lhs); err != nil {
		return nil, nil, err
	}
	right, err = c.expr(rhs)
	return left, right, err
}

// concat compiles a .. b .. c, which the parser nests to the right, as one.
func (c *compiler) concat(e *ast.StringConcatOpExpr) (luaExpr, error) {
	compiled := &concatExpr{line: e.Line()}
	for {
		part, err := c.expr(e.Lhs)
		if err != nil {
			return nil, err
		}
		compiled.parts = append(compiled.parts, part)
		rest, ok := e.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		e = rest
	}
	part, err := c.expr(e.Rhs)
	compiled.parts = append(compiled.parts, part)
	return compiled, err
}

// list compiles expressions of which the last may have many values.
func (c *compiler) list(exprs []ast.Expr) (luaList, error) {
	var l luaList
	for i, e := range exprs {
		compiled, err := c.expr(e)
		if err != nil {
			return l, err
		}
		if i == len(exprs)-1 && manyValued(e) {
			l.rest = compiled.(luaMultiExpr)
			return l, nil
		}
		l.exprs = append(l.exprs, compiled)
	}
	return l, nil
}

// manyValued says that e is a call or "..." that is not in parentheses.
func manyValued(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

func (c *compiler) call(e *ast.FuncCallExpr) (*callExpr, error) {
	compiled := &callExpr{line: e.Line()}
	fn := e.Func
	if e.Method != "" {
		fn, compiled.method = e.Receiver, luaStr([]byte(e.Method))
	}
	var err error
	if compiled.fn, err = c.expr(fn); err != nil {
		return nil, err
	}
	compiled.args, err = c.list(e.Args)
	return compiled, err
}

// field compiles object.key. A field of a library is known at once.
func (c *compiler) field(e *ast.AttrGetExpr) (luaExpr, error) {
	compiled, err := c.indexExpr(e)
	if err != nil {
		return nil, err
	}
	library, ok := compiled.object.(*constExpr)
	name, ok2 := compiled.key.(*constExpr)
	if !ok || !ok2 || library.v.kind != luaTableKind || name.v.kind != luaString {
		return compiled, nil
	}
	switch v := library.v.tab.get(&name.v); v.kind {
	case luaNil:
		return compiled, nil
	case luaOutside:
		return &outsideExpr{string(v.str)}, nil
	default:
		return &constExpr{v}, nil
	}
}

func (c *compiler) indexExpr(e *ast.AttrGetExpr) (*indexExpr, error) {
	object, key, err := c.pair(e.Object, e.Key)
	return &indexExpr{object, key, e.Line()}, err
}

func (c *compiler) table(e *ast.TableExpr) (luaExpr, error) {
	compiled := &tableExpr{line: e.Line()}
	for i, f := range e.Fields {
		var key luaExpr
		var err error
		if f.Key != nil {
			if key, err = c.expr(f.Key); err != nil {
				return nil, err
			}
		}
		value, err := c.expr(f.Value)
		if err != nil {
			return nil, err
		}
		if i == len(e.Fields)-1 && key == nil && manyValued(f.Value) {
			compiled.rest = value.(luaMultiExpr)
			break
		}
		compiled.keys = append(compiled.keys, key)
		compiled.values = append(compiled.values, value)
	}
	return compiled, nil
}
