package resp

import (
	"sort"
	"strings"
)

// CommandInfo is what COMMAND says about one command.
type CommandInfo struct {
	// Name is in lower case; that of a subcommand is like "client|id".
	Name string
	// Arity is the number of arguments with the name; -n means n or more.
	Arity int
	// Flags are Redis's words, separated by spaces.
	Flags string
	// First, Last and Step tell which arguments are keys, as in Redis: Last -1
	// is the last argument, First 0 means none (or, with the flag movablekeys,
	// that their number is an argument).
	First, Last, Step int
	Group             string
	Since             string // the server version that brought it
	Summary           string
}

// Catalog lists the commands that are served, sorted by name and without
// subcommands. The slice belongs to the caller.
func Catalog() []CommandInfo { return append([]CommandInfo(nil), catalog[:]...) }

// Subcommands lists those of a command, sorted by name ("client|id"). The
// slice belongs to the caller.
func Subcommands(command string) []CommandInfo {
	var subs []CommandInfo
	for _, s := range subcommands {
		if strings.HasPrefix(s.Name, command+"|") {
			subs = append(subs, s)
		}
	}
	return subs
}

// LookupCommand finds a command by its name in any case, or a subcommand by a
// name like "client|id".
func LookupCommand(name string) (CommandInfo, bool) {
	name = strings.ToLower(name)
	table := catalog[:]
	if strings.Contains(name, "|") {
		table = subcommands[:]
	}
	i := sort.Search(len(table), func(i int) bool { return table[i].Name >= name })
	if i == len(table) || table[i].Name != name {
		return CommandInfo{}, false
	}
	return table[i], true
}

// ArityError is the text of Redis's error if args, the command's name
// included, are too few or too many for the command or for the subcommand in
// args[1]. It is empty if they are not, or if the command is unknown.
func ArityError(args [][]byte) string {
	if len(args) == 0 || len(args[0]) > maxCommand {
		return ""
	}
	info, ok := LookupCommand(string(args[0]))
	if !ok {
		return ""
	}
	if !arityFits(info.Arity, len(args)) {
		if info.Name == "exec" { // it discards the transaction
			return aborted(wrongArity(info.Name))
		}
		return wrongArity(info.Name)
	}
	if len(args) < 2 || len(args[1]) > maxCommand {
		return ""
	}
	sub, ok := LookupCommand(info.Name + "|" + string(args[1]))
	if ok && !arityFits(sub.Arity, len(args)) {
		return wrongArity(sub.Name)
	}
	return ""
}

// maxCommand is longer than every name in the catalog.
const maxCommand = 32

func arityFits(arity, n int) bool { return n == arity || arity < 0 && n >= -arity }

func wrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}
