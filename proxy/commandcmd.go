package proxy

import (
	"path"
	"strings"

	"redlock-proxy/resp"
)

// commandCommand is COMMAND, which describes what is served.
func commandCommand() *command {
	cmd := withSubs("command",
		&command{name: "count", arity: 2, run: commandCount},
		&command{name: "info", arity: -2, run: commandInfo},
		&command{name: "docs", arity: -2, run: commandDocs},
		&command{name: "list", arity: -2, run: commandList},
		&command{name: "getkeys", arity: -4, run: commandGetKeys},
		&command{name: "help", arity: 2, run: help(
			"COMMAND | COMMAND COUNT | INFO [name ...] | DOCS [name ...]",
			"COMMAND LIST [FILTERBY MODULE name|ACLCAT category|PATTERN pattern]",
			"COMMAND GETKEYS command [arg ...]")},
	)
	cmd.arity = -1
	cmd.run = func(s *Server, c *client, args [][]byte, dst []byte) []byte {
		if len(args) > 1 {
			return unknownSubcommand(s, c, args, dst)
		}
		return appendInfos(dst, c.proto, resp.Catalog())
	}
	return cmd
}

func commandCount(_ *Server, _ *client, _ [][]byte, dst []byte) []byte {
	return resp.AppendInt(dst, int64(len(resp.Catalog())))
}

// commandInfo answers COMMAND INFO [name ...]; an unknown name gives a null.
func commandInfo(_ *Server, c *client, args [][]byte, dst []byte) []byte {
	if len(args) == 2 {
		return appendInfos(dst, c.proto, resp.Catalog())
	}
	dst = resp.AppendArray(dst, len(args)-2)
	for _, name := range args[2:] {
		if one, ok := resp.LookupCommand(string(name)); ok {
			dst = appendInfo(dst, c.proto, one)
		} else {
			dst = resp.AppendNull(dst, c.proto)
		}
	}
	return dst
}

func appendInfos(dst []byte, proto int, list []resp.CommandInfo) []byte {
	dst = resp.AppendArray(dst, len(list))
	for _, one := range list {
		dst = appendInfo(dst, proto, one)
	}
	return dst
}

// appendInfo appends the ten elements that Redis 7 has for a command. Tips and
// key specifications are left empty: the key positions say the same.
func appendInfo(dst []byte, proto int, one resp.CommandInfo) []byte {
	dst = resp.AppendArray(dst, 10)
	dst = resp.AppendBulkString(dst, one.Name)
	dst = resp.AppendInt(dst, int64(one.Arity))
	dst = appendWords(dst, proto, strings.Fields(one.Flags))
	for _, n := range [...]int{one.First, one.Last, one.Step} {
		dst = resp.AppendInt(dst, int64(n))
	}
	dst = appendWords(dst, proto, categories(one))
	dst = resp.AppendSet(dst, proto, 0)
	dst = resp.AppendSet(dst, proto, 0)
	subs := resp.Subcommands(one.Name)
	if len(subs) == 0 {
		return resp.AppendSet(dst, proto, 0)
	}
	return appendInfos(dst, proto, subs)
}

// appendWords appends a set of simple strings.
func appendWords(dst []byte, proto int, words []string) []byte {
	dst = resp.AppendSet(dst, proto, len(words))
	for _, word := range words {
		dst = resp.AppendStatus(dst, word)
	}
	return dst
}

// categories are the ACL categories of a command, or of a subcommand.
func categories(one resp.CommandInfo) []string {
	var list []string
	container, _, _ := strings.Cut(one.Name, "|")
	for _, c := range aclMembers {
		if hasField(c.commands, one.Name) || hasField(c.commands, container) {
			list = append(list, "@"+c.category)
		}
	}
	return list
}

// hasField reports whether a text has a word between white space.
func hasField(text, word string) bool {
	for field := range strings.FieldsSeq(text) {
		if field == word {
			return true
		}
	}
	return false
}

// commandDocs answers COMMAND DOCS [name ...]: a map from name to description;
// unknown names are left out.
func commandDocs(_ *Server, c *client, args [][]byte, dst []byte) []byte {
	list := resp.Catalog()
	if len(args) > 2 {
		list = nil
		for _, name := range args[2:] {
			if one, ok := resp.LookupCommand(string(name)); ok {
				list = append(list, one)
			}
		}
	}
	return appendDocs(dst, c.proto, list)
}

func appendDocs(dst []byte, proto int, list []resp.CommandInfo) []byte {
	dst = resp.AppendMap(dst, proto, len(list))
	for _, one := range list {
		dst = resp.AppendBulkString(dst, one.Name)
		dst = appendDoc(dst, proto, one)
	}
	return dst
}

func appendDoc(dst []byte, proto int, one resp.CommandInfo) []byte {
	subs := resp.Subcommands(one.Name)
	pairs := 3
	if len(subs) > 0 {
		pairs++
	}
	dst = resp.AppendMap(dst, proto, pairs)
	dst = appendPair(dst, "summary", one.Summary)
	dst = appendPair(dst, "since", one.Since)
	dst = appendPair(dst, "group", one.Group)
	if len(subs) > 0 {
		dst = appendDocs(resp.AppendBulkString(dst, "subcommands"), proto, subs)
	}
	return dst
}

// commandList answers COMMAND LIST [FILTERBY kind value].
func commandList(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	keep := func(resp.CommandInfo) bool { return true }
	if len(args) > 2 {
		if len(args) != 5 || !is(args[2], "filterby") {
			return resp.AppendError(dst, errSyntax)
		}
		if keep = listFilter(args[3], strings.ToLower(string(args[4]))); keep == nil {
			return resp.AppendError(dst, errSyntax)
		}
	}
	var names []string
	for _, one := range resp.Catalog() {
		if keep(one) {
			names = append(names, one.Name)
		}
	}
	dst = resp.AppendArray(dst, len(names))
	for _, name := range names {
		dst = resp.AppendBulkString(dst, name)
	}
	return dst
}

// listFilter returns what FILTERBY asks for, nil if there is no such filter.
func listFilter(kind []byte, value string) func(resp.CommandInfo) bool {
	switch {
	case is(kind, "module"):
		return func(resp.CommandInfo) bool { return false }
	case is(kind, "aclcat"):
		return func(one resp.CommandInfo) bool {
			for _, category := range categories(one) {
				if category == "@"+value {
					return true
				}
			}
			return false
		}
	case is(kind, "pattern"):
		return func(one resp.CommandInfo) bool {
			hit, _ := path.Match(value, one.Name)
			return hit
		}
	}
	return nil
}

// commandGetKeys answers COMMAND GETKEYS command [arg ...].
func commandGetKeys(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	inner := args[2:]
	one, known := resp.LookupCommand(string(inner[0]))
	if !known {
		return resp.AppendError(dst, "ERR Invalid command specified")
	}
	if resp.ArityError(inner) != "" {
		return resp.AppendError(dst, "ERR Invalid number of arguments specified for command")
	}
	if strings.Contains(one.Flags, "movablekeys") {
		return appendScriptKeys(dst, inner)
	}
	if one.First == 0 {
		return resp.AppendError(dst, "ERR The command has no key arguments")
	}
	last := one.Last
	if last < 0 {
		last += len(inner)
	}
	var keys [][]byte
	for i := one.First; i <= last; i += one.Step {
		keys = append(keys, inner[i])
	}
	return appendKeys(dst, keys)
}

// appendScriptKeys appends the keys of EVAL and its like: args[2] says how
// many there are.
func appendScriptKeys(dst []byte, args [][]byte) []byte {
	n, ok := parseInt(args[2])
	switch {
	case !ok || n < 0 || n > int64(len(args)-3):
		return resp.AppendError(dst, "ERR Invalid arguments specified for command")
	case n == 0:
		return resp.AppendError(dst, "ERR The command has no key arguments")
	}
	return appendKeys(dst, args[3:3+n])
}

func appendKeys(dst []byte, keys [][]byte) []byte {
	dst = resp.AppendArray(dst, len(keys))
	for _, key := range keys {
		dst = resp.AppendBulk(dst, key)
	}
	return dst
}
