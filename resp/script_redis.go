package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// The names of fields in the tables that stand for replies.
var (
	luaOK  = luaStr([]byte("ok"))
	luaErr = luaStr([]byte("err"))
)

func redisLibrary() *luaTable {
	fields := map[string]luaValue{
		"call":               luaOne(redisCall),
		"pcall":              luaOne(redisPcall),
		"error_reply":        luaOne(redisErrorReply),
		"status_reply":       luaOne(redisStatusReply),
		"sha1hex":            luaOne(redisSHA1Hex),
		"log":                luaMany(redisLog),
		"setresp":            luaMany(redisSetResp),
		"set_repl":           luaMany(redisSetRepl),
		"replicate_commands": luaOne(redisTrue),
		"breakpoint":         luaOne(redisFalse),
		"debug":              luaMany(redisNothing),
	}
	for name, n := range map[string]float64{
		"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	} {
		fields[name] = luaNum(n)
	}
	return library(fields, map[string]string{"redis.": "acl_check_cmd register_function REDIS_VERSION REDIS_VERSION_NUM SERVER_VERSION SERVER_VERSION_NUM"})
}

// redisCall runs a command; an error of the command is an error of the script.
func redisCall(m *luaMachine, args []luaValue) (luaValue, error) {
	m.raising = m.catchers == 0
	v, err := m.command(args)
	m.raising = false
	return v, err
}

// redisPcall returns the error of a command instead, as a table.
func redisPcall(m *luaMachine, args []luaValue) (luaValue, error) {
	v, err := m.command(args)
	if err == errLua {
		return m.thrown, nil
	}
	return v, err
}

// command runs one command on the model.
func (m *luaMachine) command(args []luaValue) (luaValue, error) {
	if len(args) == 0 {
		return m.fail("ERR Please specify at least one argument for this redis lib call")
	}
	m.words = m.words[:0]
	for i := range args {
		switch args[i].kind {
		case luaString:
			m.words = append(m.words, args[i].str)
		case luaNumber: // with more digits than Lua gives it elsewhere
			m.words = append(m.words, appendLuaNumber(nil, args[i].num, 17))
		case luaUnknownString, luaUnknownNumber:
			return luaValue{}, m.needs(&args[i])
		default:
			return m.fail("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if err := m.charge(32 * len(args)); err != nil {
		return luaValue{}, err
	}
	name := m.words[0]
	c := scriptCommandOf(name)
	switch {
	case c.run == nil:
		return luaValue{}, m.refuse("calls '%.32s', which is not among the commands that scripts may use here", strings.ToUpper(string(name)))
	case !arityFits(c.arity, len(args)):
		return m.fail("ERR Wrong number of args calling Redis command from script")
	case m.forbids() != "":
		return m.fail(m.forbids())
	case c.write && m.readOnly:
		return m.fail("ERR Write commands are not allowed from read-only scripts.")
	}
	return c.run(m, m.words)
}

// forbids tells why the client may not run the command in m.words.
func (m *luaMachine) forbids() (errText string) {
	if m.env.Forbids == nil {
		return ""
	}
	return m.env.Forbids(m.words)
}

// fail raises the error of a command, which is a table.
func (m *luaMachine) fail(text string) (luaValue, error) { return m.failWith([]byte(text)) }

func (m *luaMachine) failWith(text []byte) (luaValue, error) {
	if err := m.make(len(text)); err != nil {
		return luaValue{}, err
	}
	t, err := m.replyTable(luaErr, text)
	if err != nil {
		return luaValue{}, err
	}
	return luaValue{}, m.throw(t)
}

// replyTable is a status or an error as Lua sees it: a table with one field.
func (m *luaMachine) replyTable(field luaValue, text []byte) (luaValue, error) {
	t, err := m.newTable()
	if err != nil {
		return luaValue{}, err
	}
	t.addField(field, luaStr(text))
	return luaTab(t), m.charge(costField)
}

// status is a simple string, such as OK.
func (m *luaMachine) status(text []byte) (luaValue, error) { return m.replyTable(luaOK, text) }

// null is what Lua sees of a null.
func (m *luaMachine) null() luaValue {
	if m.resp3 {
		return luaValue{}
	}
	return luaBool(false)
}

func redisErrorReply(m *luaMachine, args []luaValue) (luaValue, error) {
	if len(args) == 1 && args[0].unknown() {
		return luaValue{}, m.needs(&args[0])
	}
	if len(args) != 1 || args[0].kind != luaString {
		return m.replyTable(luaErr, []byte("ERR wrong number or type of arguments"))
	}
	if err := m.make(len(args[0].str) + 4); err != nil {
		return luaValue{}, err
	}
	return m.replyTable(luaErr, errorText(args[0].str))
}

// errorText is the text of an error reply: what is no code and a message is a
// message of the code ERR.
func errorText(b []byte) []byte {
	text := strings.Trim(strings.TrimPrefix(string(b), "-"), "\r\n")
	if code, message, ok := strings.Cut(text, " "); ok {
		return []byte(code + " " + strings.Trim(message, "\r\n"))
	}
	return []byte("ERR " + text)
}

func redisStatusReply(m *luaMachine, args []luaValue) (luaValue, error) {
	if len(args) == 1 && args[0].unknown() {
		return luaValue{}, m.needs(&args[0])
	}
	if len(args) != 1 || args[0].kind != luaString {
		return m.replyTable(luaErr, []byte("ERR wrong number or type of arguments"))
	}
	return m.status(args[0].str)
}

func redisSHA1Hex(m *luaMachine, args []luaValue) (luaValue, error) {
	if len(args) != 1 {
		return m.fail("ERR wrong number of arguments")
	}
	if args[0].unknown() {
		return luaValue{}, m.needs(&args[0])
	}
	text, _ := args[0].text()
	if err := m.step(1 + len(text)/64); err != nil {
		return luaValue{}, err
	}
	sum := sha1.Sum(text)
	return luaStr(hex.AppendEncode(nil, sum[:])), m.charge(2 * sha1.Size)
}

// redisLog takes part in what a script may call, and logs nothing: what clients
// write into logs is theirs to decide, and it may hold tokens.
func redisLog(m *luaMachine, args []luaValue) error {
	m.ret = m.ret[:0]
	if len(args) < 2 {
		return m.failing("ERR redis.log() requires two arguments or more.")
	}
	level, ok, err := m.numberOf(&args[0])
	switch {
	case err != nil:
		return err
	case !ok:
		return m.failing("ERR First argument must be a number (log level).")
	case level < 0 || level > 3:
		return m.failing("ERR Invalid debug level.")
	}
	return nil
}

func redisSetResp(m *luaMachine, args []luaValue) error {
	m.ret = m.ret[:0]
	if len(args) != 1 {
		return m.failing("ERR redis.setresp() requires one argument.")
	}
	version, _, err := m.numberOf(&args[0])
	switch {
	case err != nil:
		return err
	case version != 2 && version != 3:
		return m.failing("ERR RESP version must be 2 or 3.")
	}
	m.resp3 = version == 3
	return nil
}

func redisSetRepl(m *luaMachine, args []luaValue) error {
	m.ret = m.ret[:0]
	if len(args) != 1 {
		return m.failing("ERR redis.set_repl() requires two arguments.")
	}
	switch flags, _, err := m.numberOf(&args[0]); {
	case err != nil:
		return err
	case flags < 0 || flags > 3:
		return m.failing("ERR Invalid replication flags. Please use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return nil
}

func (m *luaMachine) failing(text string) error {
	_, err := m.fail(text)
	return err
}

func redisTrue(*luaMachine, []luaValue) (luaValue, error) { return luaBool(true), nil }

func redisFalse(*luaMachine, []luaValue) (luaValue, error) { return luaBool(false), nil }

func redisNothing(m *luaMachine, _ []luaValue) error {
	m.ret = m.ret[:0]
	return nil
}

// refusedText is the reply for a script that is outside what is modelled; the
// reason completes "this script …".
func refusedText(reason string) string {
	return "ERR redlock-proxy: this script " + reason +
		"; the proxy runs scripts that handle string keys as locks, so nothing was done"
}
