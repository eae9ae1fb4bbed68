package resp

import (
	"fmt"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// The syntax tree of the parser is turned once, when a script is loaded, into
// one of our own in which every name is resolved. Running it then needs no
// look-ups, and the parser's tree is dropped.

// luaProto is a function as written. The parameters come first in slots.
type luaProto struct {
	params   []*luaLocal
	vararg   bool
	body     []luaStmt
	slots    int // locals at once
	boxes    int // locals that functions inside capture
	captures []luaCapture
	line     int
}

// luaLocal is a local variable. One that a function inside captures lives in a
// box of its own, which outlives the call; box is then its number, else -1.
type luaLocal struct {
	name      string
	slot, box int
}

// luaCapture is where a closure finds a variable of a function around it: in a
// local of the one directly around, or in what that one has captured itself.
type luaCapture struct {
	local   *luaLocal
	upvalue int
}

// maxDepth bounds how deep the parts of a script are nested in each other, so
// that running it needs little stack. The parser itself does not recurse; 16
// KiB of open brackets take it a few milliseconds.
const maxDepth = 64

// maxLocals is Lua's own limit for one function.
const maxLocals = 200

// errSyntax is an error that Lua reports when it compiles a script.
type errSyntax struct {
	line int // 0: at the end
	text string
}

func (e *errSyntax) Error() string { return e.text }

// errOutside says that a script cannot be run here, though Lua accepts it.
type errOutside string

func (e errOutside) Error() string { return string(e) }

// compiler compiles one function.
type compiler struct {
	parent *compiler
	proto  *luaProto
	scope  []*luaLocal // visible now, the innermost last
	names  []string    // of captures
	loops  int
	depth  *int
}

// compileLua compiles a script.
func compileLua(chunk []ast.Stmt) (*luaProto, error) {
	c := &compiler{proto: &luaProto{vararg: true, line: 1}, depth: new(int)}
	body, err := c.block(chunk)
	c.proto.body = body
	return c.proto, err
}

// deeper is called for each part inside a part; undo with shallower.
func (c *compiler) deeper() error {
	if *c.depth++; *c.depth > maxDepth {
		return errOutside(fmt.Sprintf("is nested more than %d deep", maxDepth))
	}
	return nil
}

func (c *compiler) shallower() { *c.depth-- }

// block compiles statements with a scope of their own.
func (c *compiler) block(stmts []ast.Stmt) ([]luaStmt, error) {
	defer c.leave(len(c.scope))
	return c.open(stmts)
}

// leave ends a scope that began with n visible locals.
func (c *compiler) leave(n int) { c.scope = c.scope[:n] }

// open compiles statements whose locals stay visible.
func (c *compiler) open(stmts []ast.Stmt) ([]luaStmt, error) {
	if err := c.deeper(); err != nil {
		return nil, err
	}
	defer c.shallower()
	block := make([]luaStmt, 0, len(stmts))
	for _, s := range stmts {
		compiled, err := c.stmt(s)
		if err != nil {
			return nil, err
		}
		block = append(block, compiled)
	}
	return block, nil
}

// local brings a local into scope.
func (c *compiler) local(name string) *luaLocal {
	l := &luaLocal{name: name, slot: len(c.scope), box: -1}
	c.scope = append(c.scope, l)
	c.proto.slots = max(c.proto.slots, len(c.scope))
	return l
}

func (c *compiler) locals(names []string) ([]*luaLocal, error) {
	if len(c.scope)+len(names) > maxLocals {
		return nil, errOutside(fmt.Sprintf("has more than %d local variables in one function", maxLocals))
	}
	all := make([]*luaLocal, len(names))
	for i, name := range names {
		all[i] = c.local(name)
	}
	return all, nil
}

func (c *compiler) find(name string) *luaLocal {
	for i := len(c.scope) - 1; i >= 0; i-- {
		if c.scope[i].name == name {
			return c.scope[i]
		}
	}
	return nil
}

// visible says that name is a local here or in a function around.
func (c *compiler) visible(name string) bool {
	return c.find(name) != nil || c.parent != nil && c.parent.visible(name)
}

// capture finds a name in the functions around this one, and has it captured.
func (c *compiler) capture(name string) (int, bool) {
	// What is visible around a function does not change while it is compiled.
	if i := slices.Index(c.names, name); i >= 0 {
		return i, true
	}
	if c.parent == nil {
		return 0, false
	}
	var found luaCapture
	if l := c.parent.find(name); l != nil {
		if l.box < 0 {
			l.box = c.parent.proto.boxes
			c.parent.proto.boxes++
		}
		found.local = l
	} else if i, ok := c.parent.capture(name); ok {
		found.upvalue = i
	} else {
		return 0, false
	}
	c.names = append(c.names, name)
	c.proto.captures = append(c.proto.captures, found)
	return len(c.names) - 1, true
}

// name compiles the use of a name.
func (c *compiler) name(name string, line int) luaExpr {
	if l := c.find(name); l != nil {
		return &localExpr{l}
	}
	if i, ok := c.capture(name); ok {
		return &upvalueExpr{name, i}
	}
	switch name {
	case "KEYS":
		return keysExpr{}
	case "ARGV":
		return argvExpr{}
	}
	switch v := luaGlobals.getName(name); v.kind {
	case luaNil:
		return &missingExpr{name, line}
	case luaOutside:
		return &outsideExpr{string(v.str)}
	default:
		return &constExpr{v}
	}
}

// function compiles a function inside this one.
func (c *compiler) function(f *ast.FunctionExpr, self bool) (*funcExpr, error) {
	inner := &compiler{parent: c, depth: c.depth}
	inner.proto = &luaProto{vararg: f.ParList.HasVargs, line: f.Line()}
	names := f.ParList.Names
	if self {
		names = append([]string{"self"}, names...)
	}
	params, err := inner.locals(names)
	if err != nil {
		return nil, err
	}
	inner.proto.params = params
	inner.proto.body, err = inner.block(f.Stmts)
	return &funcExpr{inner.proto}, err
}
