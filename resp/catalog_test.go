package resp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCatalogIsSortedAndFoundByName(t *testing.T) {
	for _, table := range [][]CommandInfo{catalog[:], subcommands[:]} {
		if !slices.IsSortedFunc(table, func(a, b CommandInfo) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("not sorted")
		}
		for _, info := range table {
			if len(info.Name) > maxCommand || info.Name != strings.ToLower(info.Name) || info.Summary == "" || info.Group == "" {
				t.Errorf("%+v", info)
			}
			if got, ok := LookupCommand(strings.ToUpper(info.Name)); !ok || got != info {
				t.Errorf("LookupCommand(%s) = %+v, %v", info.Name, got, ok)
			}
		}
	}
	for _, name := range []string{"", "|", "se", "sett", "client|", "client|nonsense", "zzz", "zzz|z"} {
		if got, ok := LookupCommand(name); ok {
			t.Errorf("LookupCommand(%q) = %+v", name, got)
		}
	}
}

func TestEveryLockCommandIsInTheCatalogWithItsArity(t *testing.T) {
	locks := 0
	for _, info := range Catalog() {
		r := recogniserOf([]byte(info.Name))
		if r.fill == nil {
			continue
		}
		locks++
		if r.arity != info.Arity || len(info.Name) > maxName {
			t.Errorf("%s: arity %d, catalog %d", info.Name, r.arity, info.Arity)
		}
		if keyed := info.First > 0 || strings.Contains(info.Flags, "movablekeys"); !keyed {
			t.Errorf("%s has no keys", info.Name)
		}
	}
	if locks != 30 {
		t.Errorf("%d lock commands in the catalog", locks)
	}
}

func TestSubcommandsBelongToACommand(t *testing.T) {
	n := 0
	for _, info := range Catalog() {
		n += len(Subcommands(info.Name))
	}
	if n != len(subcommands) {
		t.Errorf("%d of %d subcommands have a command", n, len(subcommands))
	}
}

func TestTheCatalogCannotBeChanged(t *testing.T) {
	Catalog()[0].Name = "changed"
	Subcommands("client")[0].Name = "changed"
	if catalog[0].Name == "changed" || Subcommands("client")[0].Name == "changed" {
		t.Error("changed")
	}
}

func TestArityErrorKnowsSubcommands(t *testing.T) {
	tests := []struct{ command, want string }{
		{"GET", "ERR wrong number of arguments for 'get' command"},
		{"get k x", "ERR wrong number of arguments for 'get' command"},
		{"GET k", ""},
		{"CLIENT", "ERR wrong number of arguments for 'client' command"},
		{"CLIENT SETNAME", "ERR wrong number of arguments for 'client|setname' command"},
		{"client setname a", ""},
		{"CLIENT NONSENSE", ""},
		{"NONSENSE", ""},
		{strings.Repeat("x", 100_000), ""},
		{"CLIENT " + strings.Repeat("x", 100_000), ""},
	}
	for _, tt := range tests {
		if got := ArityError(words(strings.Fields(tt.command))); got != tt.want {
			t.Errorf("%.40q: %q, want %q", tt.command, got, tt.want)
		}
	}
	if got := ArityError(nil); got != "" {
		t.Errorf("no arguments: %q", got)
	}
}

func TestCatalogIsLikeRealRedis(t *testing.T) {
	conn := dialRealRedis(t, startRedis(t), 2)
	for _, info := range append(Catalog(), allSubcommands()...) {
		reply := conn.do([][]string{{"COMMAND", "INFO", info.Name}})[0]
		fields := strings.Split(reply, "\r\n")
		if len(fields) < 5 || fields[1][0] != '*' || fields[1] == "*-1" {
			if v := info.Since; v != "" && v < "7.1" {
				t.Errorf("%s since %s: a real server does not know it: %q", info.Name, v, reply)
			}
			continue
		}
		var flags []string
		for _, f := range fields[6:] {
			if f[0] != '+' {
				break
			}
			flags = append(flags, f[1:])
		}
		keys := fields[6+len(flags) : 9+len(flags)]
		want := fmt.Sprintf(":%s %v [:%d :%d :%d]", fields[4][1:], flags, info.First, info.Last, info.Step)
		got := fmt.Sprintf(":%d %v %v", info.Arity, strings.Fields(info.Flags), keys)
		if got != want {
			t.Errorf("%s: %s, a real server says %s", info.Name, got, want)
		}
	}
}

func TestArityErrorsAreLikeRealRedis(t *testing.T) {
	conn := dialRealRedis(t, startRedis(t), 2)
	tried := 0
	for _, info := range append(Catalog(), allSubcommands()...) {
		if info.Since == "" || info.Since > "7.1" {
			continue
		}
		for n := range 7 {
			args := strings.Split(strings.ToUpper(info.Name), "|")
			args = append(args, slices.Repeat([]string{"x"}, n)...)
			got := ArityError(words(args))
			if got == "" {
				continue
			}
			tried++
			if want := conn.do([][]string{args})[0]; "-"+got+"\r\n" != want {
				t.Errorf("%q: %q, a real server says %q", args, got, want)
			}
			if IsLock([]byte(info.Name)) {
				if got := free().run(t, testEnv(), 2, args...); got != "-"+ArityError(words(args))+"\r\n" {
					t.Errorf("%q recognised: %q", args, got)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d tried", tried)
	}
}

func allSubcommands() (all []CommandInfo) {
	for _, info := range Catalog() {
		all = append(all, Subcommands(info.Name)...)
	}
	return all
}
