package proxy

import (
	"strconv"

	"redlock-proxy/resp"
)

// Texts of Redis that clients look at.
const (
	errWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
	errNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errNoProto    = "NOPROTO unsupported protocol version"
	errHelloAuth  = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errName       = "ERR Client names cannot contain spaces, newlines or special characters."
	errSyntax     = "ERR syntax error"
	errNotInt     = "ERR value is not an integer or out of range"
)

// defaultUser is the user of a connection that names none.
const defaultUser = "default"

// connectionCommands change the connection they come in on.
func connectionCommands() []*command {
	return []*command{
		{name: "hello", arity: -1, run: hello},
		{name: "auth", arity: -2, run: auth},
		{name: "select", arity: 2, run: selectDB},
		{name: "reset", arity: 1, run: reset, action: actionReset},
		{name: "quit", arity: -1, run: quit, action: actionClose},
	}
}

// greeting is a HELLO as it was asked for. Nothing is changed until all of it
// is known to be right.
type greeting struct {
	proto      int // 0: keep
	user, pass []byte
	hasAuth    bool
	name       []byte
	hasName    bool
}

// hello answers HELLO [protover [AUTH user password] [SETNAME name]].
func hello(s *Server, c *client, args [][]byte, dst []byte) []byte {
	g, fault := parseHello(args)
	if fault != "" {
		return resp.AppendError(dst, fault)
	}
	if g.hasAuth && !s.login(c, g.user, g.pass) {
		return resp.AppendError(dst, errWrongPass)
	}
	if !c.authed {
		return resp.AppendError(dst, errHelloAuth)
	}
	c.set(func(c *client) {
		if g.hasName {
			c.name = string(g.name)
		}
		if g.proto != 0 {
			c.proto = g.proto
		}
	})
	return appendHello(dst, c)
}

func parseHello(args [][]byte) (g greeting, fault string) {
	if len(args) == 1 {
		return g, ""
	}
	proto, ok := parseInt(args[1])
	if !ok {
		return g, "ERR Protocol version is not an integer or out of range"
	}
	if proto < 2 || proto > 3 {
		return g, errNoProto
	}
	g.proto = int(proto)
	for rest := args[2:]; len(rest) > 0; {
		switch {
		case is(rest[0], "auth") && len(rest) >= 3:
			g.user, g.pass, g.hasAuth = rest[1], rest[2], true
			rest = rest[3:]
		case is(rest[0], "setname") && len(rest) >= 2:
			if fault := nameFault(rest[1]); fault != "" {
				return g, fault
			}
			g.name, g.hasName = rest[1], true
			rest = rest[2:]
		default:
			return g, "ERR Syntax error in HELLO option '" + cString(rest[0], 128) + "'"
		}
	}
	return g, ""
}

// appendHello describes this server: a map, or a flat array in RESP2.
func appendHello(dst []byte, c *client) []byte {
	dst = resp.AppendMap(dst, c.proto, 7)
	dst = appendPair(dst, "server", "redis")
	dst = appendPair(dst, "version", redisVersion)
	dst = resp.AppendInt(resp.AppendBulkString(dst, "proto"), int64(c.proto))
	dst = resp.AppendInt(resp.AppendBulkString(dst, "id"), c.id)
	dst = appendPair(dst, "mode", "standalone")
	dst = appendPair(dst, "role", "master")
	return resp.AppendArray(resp.AppendBulkString(dst, "modules"), 0)
}

func appendPair(dst []byte, key, value string) []byte {
	return resp.AppendBulkString(resp.AppendBulkString(dst, key), value)
}

// auth answers AUTH password and AUTH user password.
func auth(s *Server, c *client, args [][]byte, dst []byte) []byte {
	user := []byte(defaultUser)
	switch {
	case len(args) > 3:
		return resp.AppendError(dst, errSyntax)
	case len(args) == 3:
		user = args[1]
	case s.isOpen():
		return resp.AppendError(dst, errNoPassword)
	}
	if !s.login(c, user, args[len(args)-1]) {
		return resp.AppendError(dst, errWrongPass)
	}
	return resp.AppendStatus(dst, "OK")
}

// login checks a user and password and, if they are right, makes c that user.
// As in Redis a failed try does not log out, and a user without a password takes
// any.
func (s *Server) login(c *client, user, pass []byte) bool {
	a := s.users.find(string(user))
	if !a.opens(pass) {
		s.noteAuth(c)
		c.refused = true
		return false
	}
	c.set(func(c *client) { c.user, c.account, c.authed = a.name, a, true })
	return true
}

// isOpen reports whether clients need not log in.
func (s *Server) isOpen() bool {
	r := s.users.find(s.user()).rights.Load()
	return r != nil && r.on && r.nopass
}

// user is whom a connection is, or has to become, without naming a user.
func (s *Server) user() string {
	if s.cfg.User == "" {
		return defaultUser
	}
	return s.cfg.User
}

// freshLogin puts c in the state of a new connection: RESP2, database 0, no
// name, and logged in only if nobody has to.
func (s *Server) freshLogin(c *client) {
	open := s.isOpen()
	c.set(func(c *client) {
		c.name, c.user, c.proto, c.db = "", s.user(), 2, 0
		c.noEvict, c.noTouch = false, false
		c.account, c.authed = s.users.find(s.user()), open
	})
}

// reset answers RESET.
func reset(s *Server, c *client, _ [][]byte, dst []byte) []byte {
	s.freshLogin(c)
	return resp.AppendStatus(dst, "RESET")
}

// quit answers QUIT; its action closes the connection.
func quit(_ *Server, _ *client, _ [][]byte, dst []byte) []byte {
	return resp.AppendStatus(dst, "OK")
}

// selectDB answers SELECT index. Each database is a lock namespace of its own.
func selectDB(_ *Server, c *client, args [][]byte, dst []byte) []byte {
	n, ok := parseInt(args[1])
	switch {
	case !ok:
		return resp.AppendError(dst, errNotInt)
	case n != int64(int32(n)):
		return resp.AppendError(dst, "ERR value is out of range, value must between -2147483648 and 2147483647")
	case n < 0 || n >= databases:
		return resp.AppendError(dst, "ERR DB index is out of range")
	}
	c.set(func(c *client) { c.db = int(n) })
	return resp.AppendStatus(dst, "OK")
}

// parseInt reads a decimal number as strictly as Redis: no sign "+", no leading
// zeros, no spaces.
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(b) {
		return 0, false
	}
	return n, true
}
