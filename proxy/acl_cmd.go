package proxy

import (
	"slices"
	"strings"

	"redlock-proxy/resp"
)

// aclCommand is ACL. Users are changed in their file.
func aclCommand() *command {
	const file = "users are in the file of --aclfile; change it and send ACL LOAD, or SIGHUP to the process"
	return withSubs("acl",
		&command{name: "whoami", arity: 2, run: aclWhoami},
		&command{name: "list", arity: 2, run: aclList},
		&command{name: "users", arity: 2, run: aclUsers},
		&command{name: "getuser", arity: 3, run: aclGetUser},
		&command{name: "load", arity: 2, run: aclLoad},
		&command{name: "cat", arity: -2, run: aclCat},
		&command{name: "setuser", arity: -3, run: text(notServed("ACL SETUSER", file))},
		&command{name: "deluser", arity: -3, run: text(notServed("ACL DELUSER", file))},
		&command{name: "save", arity: 2, run: text(notServed("ACL SAVE", file))},
		&command{name: "help", arity: 2, run: help(
			"ACL WHOAMI | CAT [category]",
			"ACL LIST | USERS | GETUSER name | LOAD",
			"Users are in the file of --aclfile; without it there is one, of --user and --requirepass.")},
	)
}

func aclWhoami(_ *Server, c *client, _ [][]byte, dst []byte) []byte {
	return resp.AppendBulkString(dst, c.user)
}

func aclUsers(s *Server, _ *client, _ [][]byte, dst []byte) []byte {
	return appendNames(dst, s.users.names())
}

// aclList answers ACL LIST: the lines of the file, as they were understood.
func aclList(s *Server, _ *client, _ [][]byte, dst []byte) []byte {
	var lines []string
	for _, name := range s.users.names() {
		if r := s.users.find(name).rights.Load(); r != nil {
			lines = append(lines, "user "+name+" "+r.String())
		}
	}
	return appendNames(dst, lines)
}

// hiddenPassword stands for a password's hash, which nobody has to know.
const hiddenPassword = "#(hidden)"

// String is the rules, without passwords.
func (r *rights) String() string {
	words := r.flags()
	words = append(words, slices.Repeat([]string{hiddenPassword}, len(r.passwords))...)
	words = append(words, r.keyRules()...)
	if !r.allChannels {
		words = append(words, "resetchannels")
	}
	words = append(words, r.channelRules()...)
	return strings.Join(append(words, r.rules...), " ")
}

func (r *rights) flags() []string {
	flags := []string{"off"}
	if r.on {
		flags[0] = "on"
	}
	if r.nopass {
		flags = append(flags, "nopass")
	}
	return flags
}

func (r *rights) keyRules() []string {
	if r.allKeys {
		return []string{"~*"}
	}
	var list []string
	for _, k := range r.keys {
		switch {
		case k.read && k.write:
			list = append(list, "~"+k.pattern)
		case k.read:
			list = append(list, "%R~"+k.pattern)
		default:
			list = append(list, "%W~"+k.pattern)
		}
	}
	return list
}

func (r *rights) channelRules() []string {
	if r.allChannels {
		return []string{"&*"}
	}
	var list []string
	for _, pattern := range r.channels {
		list = append(list, "&"+pattern)
	}
	return list
}

// aclGetUser answers ACL GETUSER name.
func aclGetUser(s *Server, c *client, args [][]byte, dst []byte) []byte {
	r := s.users.find(string(args[2])).rights.Load()
	if r == nil {
		return resp.AppendNullArray(dst, c.proto)
	}
	dst = resp.AppendMap(dst, c.proto, 6)
	dst = appendWords(resp.AppendBulkString(dst, "flags"), c.proto, r.flags())
	dst = appendNames(resp.AppendBulkString(dst, "passwords"), slices.Repeat([]string{hiddenPassword}, len(r.passwords)))
	dst = appendPair(dst, "commands", strings.Join(r.rules, " "))
	dst = appendPair(dst, "keys", strings.Join(r.keyRules(), " "))
	dst = appendPair(dst, "channels", strings.Join(r.channelRules(), " "))
	return resp.AppendArray(resp.AppendBulkString(dst, "selectors"), 0)
}

// aclLoad answers ACL LOAD.
func aclLoad(s *Server, _ *client, _ [][]byte, dst []byte) []byte {
	if s.users.path == "" {
		return resp.AppendError(dst, "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.")
	}
	if err := s.Reload(); err != nil {
		return resp.AppendError(dst, "ERR "+oneLine(err.Error())+" WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return resp.AppendStatus(dst, "OK")
}

// aclCat answers ACL CAT [category].
func aclCat(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	var list []string
	switch names := newACLNames(); {
	case len(args) > 3:
		return resp.AppendError(dst, "ERR unknown subcommand or wrong number of arguments for '"+cString(args[1], 128)+"'. Try ACL HELP.")
	case len(args) == 2:
		for _, c := range aclMembers {
			list = append(list, c.category)
		}
	default:
		var ok bool
		if list, ok = names.in(strings.ToLower(string(args[2]))); !ok || is(args[2], "all") {
			return resp.AppendError(dst, "ERR Unknown category '"+cString(args[2], 128)+"'")
		}
		slices.Sort(list)
	}
	return appendNames(dst, list)
}
