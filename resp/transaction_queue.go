package resp

import "strings"

// transaction is the commands between MULTI and EXEC, and what is watched. It
// is not changed while it is planned, run and answered.
type transaction struct {
	commands []queued
	watched  []Watched
}

// queued is one command of a transaction, ready to run.
type queued struct {
	run        func(m *luaMachine, args [][]byte) (luaValue, error)
	args       [][]byte
	script     *Script // of EVAL and EVALSHA, with what follows
	keys, argv [][]byte
	readOnly   bool
	fault      string // the error that it replies with, whatever is at its key
}

// QueueFault tells whether a command can be part of a transaction. If it
// cannot, errText is to be answered, and EXEC will not run the transaction.
// known is false for a command that transactions know nothing of.
func (e *Env) QueueFault(args [][]byte) (errText string, known bool) {
	if r := recogniserOf(args[0]); r.fill != nil && !arityFits(r.arity, len(args)) {
		return ArityError(args), true
	}
	c := transactionCommandOf(args[0])
	isScript, _ := isScriptCall(args[0])
	switch {
	case c.run == nil && !isScript:
		return "", false
	case c.run != nil && !arityFits(c.arity, len(args)):
		return wrongArity(strings.ToLower(string(args[0]))), true
	}
	return "", true
}

// transactionCommandOf finds what a command does to the model; run is nil if
// it cannot be in a transaction, or is a script.
func transactionCommandOf(name []byte) scriptCommand {
	var buf [len("pexpiretime")]byte
	switch string(fold(buf[:], name)) {
	case "unwatch":
		return scriptCommand{arity: 1, run: unwatchQueued}
	case "select", // the connection would have to follow, if the swap is applied
		"lpush", "rpush": // the reply would be the length of a list that is not kept
		return scriptCommand{}
	}
	return scriptCommandOf(name)
}

// unwatchQueued is UNWATCH in a transaction: EXEC has unwatched already.
func unwatchQueued(m *luaMachine, _ [][]byte) (luaValue, error) { return m.status(luaOKText) }

// isScriptCall reports whether name is EVAL, EVALSHA or their _RO form, and
// whether it names the script by its SHA1.
func isScriptCall(name []byte) (is, bySHA bool) {
	var buf [len("evalsha_ro")]byte
	switch string(fold(buf[:], name)) {
	case "eval", "eval_ro":
		return true, false
	case "evalsha", "evalsha_ro":
		return true, true
	}
	return false, false
}

// fill prepares a command. The reason is not empty if the whole transaction
// cannot be run.
func (c *queued) fill(e *Env, args [][]byte) (reason string) {
	c.args = args
	isScript, bySHA := isScriptCall(args[0])
	if !isScript {
		c.run = transactionCommandOf(args[0]).run
		return ""
	}
	if c.keys, c.argv, c.fault = scriptKeys(args); c.fault != "" {
		return ""
	}
	c.readOnly = readOnly(args[0])
	if bySHA {
		c.script = e.Scripts.Get(args[1])
	} else if script, err := e.Scripts.Compile(args[1]); err == nil {
		c.script = script
	} else {
		c.fault = err.Error()
		return ""
	}
	switch {
	case c.script == nil:
		c.fault = noScript
	case c.script.refused != "":
		return refusedText(c.script.refused)
	case len(c.keys)+len(c.argv) > maxInputs:
		return refusedText(tooManyInputs())
	}
	return ""
}

// transaction makes a script of a transaction. It is not in the cache.
func (s *Scripts) transaction(tx *transaction) *Script {
	return &Script{main: luaFunc{proto: &luaProto{body: []luaStmt{tx}}}, machines: &s.machines, tx: tx}
}

// exec runs the commands on the model. The result is the array of replies: an
// error of one command is its reply, and the next one runs all the same.
func (tx *transaction) exec(m *luaMachine) (luaFlow, error) {
	replies, err := m.newTable()
	if err != nil {
		return flowReturn, err
	}
	for i := range tx.commands {
		if err := m.charge(costItem + 32*len(tx.commands[i].args)); err != nil {
			return flowReturn, err
		}
		v, err := tx.commands[i].reply(m)
		if err != nil {
			return flowReturn, err
		}
		replies.arr = append(replies.arr, v)
	}
	m.ret = append(m.ret[:0], luaTab(replies))
	return flowReturn, m.step(len(tx.commands))
}

// reply runs one command. The result is what an array of replies can hold; an
// error is never errLua.
func (c *queued) reply(m *luaMachine) (luaValue, error) {
	switch {
	case c.fault != "":
		return m.replyTable(luaErr, []byte(c.fault))
	case c.script != nil:
		return c.runScript(m)
	}
	v, err := c.run(m, c.args)
	if err == errLua {
		return m.thrown, nil
	}
	return v, err
}

// runScript runs EVAL or EVALSHA on the same model.
func (c *queued) runScript(m *luaMachine) (luaValue, error) {
	db := m.model.db
	fillTable(&m.keys, c.keys)
	fillTable(&m.argv, c.argv)
	m.readOnly = c.readOnly || c.script.readOnly
	err := m.callLua(&c.script.main, m.top)
	m.readOnly, m.native, m.model.db = false, false, db
	switch {
	case err == errLua:
		return m.replyTable(luaErr, []byte(m.thrownText(c.script.sha, &m.thrown)))
	case err != nil:
		return luaValue{}, err
	case m.resp3:
		return luaValue{}, m.refuse("has a script that calls redis.setresp(3)")
	case len(m.ret) == 0 || m.ret[0].kind == luaNil:
		return luaBool(false), nil
	}
	v := m.ret[0]
	if err := m.measure(&v); err != nil {
		return v, err
	}
	return m.copyReply(&v)
}

// copyReply copies what is a reply of v, whose tables the next script may use
// again. v was measured.
func (m *luaMachine) copyReply(v *luaValue) (luaValue, error) {
	if v.kind != luaTableKind {
		return *v, nil
	}
	t, err := m.newTable()
	if err != nil {
		return luaValue{}, err
	}
	for _, name := range [...]string{"err", "ok", "double"} {
		if f := v.tab.getName(name); f.kind == luaString || f.kind == luaNumber {
			t.addField(luaStr([]byte(name)), f)
		}
	}
	for i := range v.tab.arr {
		if v.tab.arr[i].kind == luaNil {
			break
		}
		item, err := m.copyReply(&v.tab.arr[i])
		if err != nil {
			return luaValue{}, err
		}
		t.arr = append(t.arr, item)
	}
	return luaTab(t), m.charge(costItem*len(t.arr) + costField*len(t.fields))
}
