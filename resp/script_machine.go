package resp

import (
	"errors"
	"fmt"
	"time"

	"redlock-proxy/redlock"
)

// Bounds of one run of a script. A lock script needs some dozens of steps; a
// run that uses all of these takes a few milliseconds.
const (
	maxSteps   = 20_000
	maxMemory  = 1 << 20 // of what the script makes, freed or not
	maxCalls   = 64      // of functions inside each other
	maxStack   = 8 << 10 // values: locals and arguments
	maxInputs  = 8 << 10 // keys and arguments
	bytesAStep = 1 << 10 // comparing or copying this much counts as one step

	bytesAKeyStep = bytesAStep / 2 / fewFields // a key is compared with several
)

// How a run ends early. The details are in the machine.
var (
	// errLua is an error of the script's own, in luaMachine.thrown, which
	// pcall catches and which otherwise is its reply.
	errLua = errors.New("script: error")
	// errLearn says that the run needs what it assumed to be unknown.
	errLearn = errors.New("script: the key's content is needed")
	// errRefused says that the script is outside what is modelled here, for
	// the reason in luaMachine.refusal. Nothing catches it.
	errRefused = errors.New("script: refused")
	// errList says that the script pushes to a key that the run did not take
	// for a list: it has to begin again. Nothing catches it.
	errList = errors.New("script: a key is a list")
)

// luaFunc is a function: a builtin, which has one or many, or a closure.
type luaFunc struct {
	one  func(m *luaMachine, args []luaValue) (luaValue, error)
	many func(m *luaMachine, args []luaValue) error // results in luaMachine.ret

	proto *luaProto
	up    []*luaValue
}

// luaFrame is one call of a Lua function.
type luaFrame struct {
	base     int // where its locals begin on the stack
	varargs  int // where its extra arguments begin, and how many there are
	nvarargs int
	boxes    []*luaValue // its captured locals
	up       []*luaValue
	line     int // of what it does, for error messages
}

// luaMachine runs scripts, one after the other. It is not safe for concurrent
// use, and its values live until the next run.
type luaMachine struct {
	model   lockModel
	env     *Env
	frozen  Env       // env without its MaxTTL, at the time the script began
	strings *luaTable // whose functions are the methods of strings
	words   [][]byte  // the command that is running

	steps, memory int // what is left of them
	stack         []luaValue
	top, high     int // the end of what is used, now and ever
	ret           []luaValue
	frames        [maxCalls]luaFrame
	frame         *luaFrame
	depth         int
	deepest       int  // how many frames were used since the last release
	catchers      int  // calls of pcall that are running
	raising       bool // an error of the command that is running ends the script

	keys, argv luaTable
	tables     []*luaTable // used again by the next run
	ntables    int

	published []Publication    // by this run
	said      []Publication    // by the run that was answered last
	heard     map[string]int64 // receivers of the channels that were published to

	now      time.Time // zero until the script asks
	resp3    bool      // redis.setresp(3)
	readOnly bool

	size       replySize // what is left of it while a reply is measured
	thrown     luaValue
	thrownLine int
	refusal    string
	native     bool // a builtin runs that no Lua code called
	method     bool // it was called as value:name(…)
}

func newLuaMachine() *luaMachine {
	m := &luaMachine{strings: luaStringLib}
	m.frozen.Wall = m.wall
	return m
}

// wall is the wall clock, which stands still in a script and, for the sake of
// one answer, in all runs that belong to one EVAL.
func (m *luaMachine) wall() time.Time {
	if m.now.IsZero() {
		m.now = m.env.Wall()
	}
	return m.now
}

// start prepares a run.
func (m *luaMachine) start(keys, args [][]byte) {
	m.steps, m.memory = maxSteps, maxMemory
	m.top, m.depth, m.ret = 0, 0, m.ret[:0]
	for i := range m.ntables {
		m.tables[i].reset()
	}
	m.ntables = 0
	fillTable(&m.keys, keys)
	fillTable(&m.argv, args)
	m.resp3, m.native, m.refusal = false, false, ""
	m.catchers, m.raising = 0, false
	m.thrown = luaValue{}
	m.published = nil
}

func fillTable(t *luaTable, from [][]byte) {
	t.reset()
	for _, b := range from {
		t.arr = append(t.arr, luaStr(b))
	}
}

// release drops every reference to what was run.
func (m *luaMachine) release() {
	const keepStack, keepTables = 1 << 10, 64
	m.start(nil, nil)
	m.env = nil
	m.model.clear()
	clear(m.stack[:m.high])
	clear(m.ret[:cap(m.ret)])
	clear(m.words[:cap(m.words)])
	clear(m.frames[:m.deepest])
	m.high, m.deepest = 0, 0
	m.said, m.heard = nil, nil
	if len(m.stack) > keepStack {
		m.stack, m.ret = nil, nil
	}
	if len(m.tables) > keepTables {
		m.tables = nil
	}
}

// run runs a script's main function under an assumption about its key. The
// result is what it returns, or what it throws if err is errLua.
func (m *luaMachine) run(main *luaFunc, keys, args [][]byte, assume redlock.State, known bool) (luaValue, error) {
	m.start(keys, args)
	m.model.start(assume, known)
	if err := m.callLua(main, 0); err != nil {
		return m.thrown, err
	}
	if len(m.ret) == 0 {
		return luaValue{}, nil
	}
	return m.ret[0], nil
}

// step counts work. Everything whose cost the script can multiply counts.
func (m *luaMachine) step(n int) error {
	if m.steps -= n; m.steps < 0 {
		return m.refuse("takes more than %d steps", maxSteps)
	}
	return nil
}

// charge counts memory.
func (m *luaMachine) charge(bytes int) error {
	if m.memory -= bytes; m.memory < 0 {
		return m.refuse("needs more than %d KiB of memory", maxMemory>>10)
	}
	return nil
}

// refuse ends the run: the script is outside what is modelled here.
func (m *luaMachine) refuse(format string, args ...any) error {
	m.refusal = fmt.Sprintf(format, args...)
	return errRefused
}

// throw raises a Lua error with any value.
func (m *luaMachine) throw(v luaValue) error {
	m.thrown, m.thrownLine = v, m.frame.line
	return errLua
}

// throwf raises an error of the language itself, with its place in front.
func (m *luaMachine) throwf(format string, args ...any) error {
	return m.throw(luaStr(fmt.Appendf(m.place(1), format, args...)))
}

// throwAt is throwf for an error at another line than that of the last call.
func (m *luaMachine) throwAt(line int, format string, args ...any) error {
	m.frame.line = line
	return m.throwf(format, args...)
}

// place is "user_script:<line>: " for the Lua function that many levels up
// from a builtin, and nothing if there is none.
func (m *luaMachine) place(level int) []byte {
	if m.native || level < 1 || level > m.depth {
		return nil
	}
	return fmt.Appendf(nil, "user_script:%d: ", m.frames[m.depth-level].line)
}

// newTable returns an empty table.
func (m *luaMachine) newTable() (*luaTable, error) {
	if err := m.charge(costTable); err != nil {
		return nil, err
	}
	if m.ntables == len(m.tables) {
		m.tables = append(m.tables, new(luaTable))
	}
	m.ntables++
	return m.tables[m.ntables-1], nil
}

// push puts a value on the stack.
func (m *luaMachine) push(v luaValue) error {
	if err := m.reserve(1); err != nil {
		return err
	}
	m.stack[m.top-1] = v
	return nil
}

// reserve raises the stack by n values, whatever they are.
func (m *luaMachine) reserve(n int) error {
	end := m.top + n
	if end > maxStack {
		return m.refuse("needs more than %d locals and arguments at once", maxStack)
	}
	if end > len(m.stack) {
		bigger := make([]luaValue, max(2*len(m.stack), end, 64))
		copy(bigger, m.stack[:m.top])
		m.stack = bigger
	}
	m.top = end
	m.high = max(m.high, end)
	return nil
}

// call calls fn with the values on the stack from base on, and takes them off.
// The results are in m.ret until the next call.
func (m *luaMachine) call(fn *luaFunc, base int) error {
	switch {
	case fn.one != nil:
		v, err := fn.one(m, m.stack[base:m.top])
		m.top, m.ret = base, append(m.ret[:0], v)
		return err
	case fn.many != nil:
		err := fn.many(m, m.stack[base:m.top])
		m.top = base
		return err
	}
	return m.callLua(fn, base)
}

func (m *luaMachine) callLua(fn *luaFunc, base int) error {
	if m.depth == maxCalls {
		return m.refuse("has functions that call each other more than %d deep", maxCalls)
	}
	p, args, caller := fn.proto, m.top-base, m.frame
	f := &m.frames[m.depth]
	*f = luaFrame{base: m.top, up: fn.up, line: p.line}
	if p.vararg && args > len(p.params) {
		f.varargs, f.nvarargs = base+len(p.params), args-len(p.params)
	}
	if err := m.reserve(p.slots); err != nil {
		return err
	}
	clear(m.stack[f.base:m.top])
	if p.boxes > 0 {
		if err := m.charge(p.boxes * 2 * costItem); err != nil {
			return err
		}
		f.boxes = make([]*luaValue, p.boxes)
	}
	m.depth++
	m.deepest = max(m.deepest, m.depth)
	m.frame = f
	for i, l := range p.params {
		var v luaValue
		if i < args {
			v = m.stack[base+i]
		}
		m.declare(l, v)
	}
	m.ret = m.ret[:0]
	flow, err := execBlock(m, p.body)
	if flow != flowReturn {
		m.ret = m.ret[:0]
	}
	m.depth--
	m.top, m.frame = base, caller
	return err
}

// declare gives a local variable that comes into scope its first value.
func (m *luaMachine) declare(l *luaLocal, v luaValue) {
	if l.box < 0 {
		m.stack[m.frame.base+l.slot] = v
		return
	}
	box := new(luaValue) // not &v, which would cost every local an allocation
	*box = v
	m.frame.boxes[l.box] = box
}

// local is where a local variable of the running function is.
func (m *luaMachine) local(l *luaLocal) *luaValue {
	if l.box < 0 {
		return &m.stack[m.frame.base+l.slot]
	}
	return m.frame.boxes[l.box]
}

// equal is the == operator. An unknown string equals no string; that it was
// compared with one makes this one a candidate for the key's value.
func (m *luaMachine) equal(a, b *luaValue) (bool, error) {
	if a.kind < luaUnknownString && b.kind < luaUnknownString {
		if a.kind == luaString && len(a.str) == len(b.str) && len(a.str) >= bytesAStep {
			if err := m.step(len(a.str) / bytesAStep); err != nil {
				return false, err
			}
		}
		return rawEqual(a, b), nil
	}
	if b.kind == luaUnknownString {
		a, b = b, a
	}
	switch {
	case a.kind == luaUnknownString && b.kind == luaString:
		return m.model.same(int(a.num), b.str)
	case a.kind == luaUnknownString && b.kind == luaUnknownString && a.num == b.num:
		return true, nil
	case a.typeName() == b.typeName():
		return false, m.needs(a, b)
	}
	return false, nil
}
