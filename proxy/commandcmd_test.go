package proxy

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"redlock-proxy/resp"
)

// What COMMAND says is served has to be served, and the other way round.
func TestCatalogAndCommandsAgree(t *testing.T) {
	s, c := newTestServer(t)
	for _, one := range resp.Catalog() {
		cmd := s.commands[one.Name]
		switch {
		case resp.IsLock([]byte(one.Name)):
		case cmd == nil:
			t.Errorf("COMMAND lists %q, which is not served", one.Name)
		case cmd.arity != one.Arity:
			t.Errorf("%s: arity %d, COMMAND says %d", one.Name, cmd.arity, one.Arity)
		}
	}
	for name, cmd := range s.commands {
		for _, sub := range cmd.subs {
			if one, ok := resp.LookupCommand(sub.name); ok && one.Arity != sub.arity {
				t.Errorf("%s: arity %d, COMMAND says %d", sub.name, sub.arity, one.Arity)
			}
		}
		if resp.IsLock([]byte(name)) || s.refused[name] != "" {
			t.Errorf("%q is answered here, and elsewhere too", name)
		}
	}
	for name := range s.refused {
		if _, ok := resp.LookupCommand(name); ok {
			t.Errorf("%q is refused, but COMMAND lists it", name)
		}
		if got, _ := say(t, s, c, name); !strings.HasPrefix(got, "-ERR "+strings.ToUpper(name)+" is not served by redlock-proxy: ") {
			t.Errorf("%s = %q", name, got)
		}
	}
}

func TestCommandReplies(t *testing.T) {
	tests := []struct{ line, two, three string }{
		{"COMMAND INFO get nope",
			"*2\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n*0\r\n*0\r\n$-1\r\n",
			"*2\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read\r\n+@string\r\n+@fast\r\n~0\r\n~0\r\n~0\r\n_\r\n"},
		{"COMMAND DOCS ping nope",
			"*2\r\n$4\r\nping\r\n*6\r\n$7\r\nsummary\r\n$…\r\n$5\r\nsince\r\n$5\r\n1.0.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n",
			"%1\r\n$4\r\nping\r\n%3\r\n$7\r\nsummary\r\n$…\r\n$5\r\nsince\r\n$5\r\n1.0.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n"},
		{"COMMAND DOCS script", "*2\r\n$6\r\nscript\r\n*8\r\n…$11\r\nsubcommands\r\n*…$13\r\nscript|exists\r\n…", "%1\r\n$6\r\nscript\r\n%4\r\n…$11\r\nsubcommands\r\n%…$13\r\nscript|exists\r\n…"},
		{"COMMAND LIST FILTERBY PATTERN P?NG", "*1\r\n$4\r\nping\r\n", ""},
		{"COMMAND LIST FILTERBY ACLCAT scripting", "*…$4\r\neval\r\n$7\r\neval_ro\r\n…", ""},
		{"COMMAND GETKEYS set k v NX", "*1\r\n$1\r\nk\r\n", ""},
		{"COMMAND GETKEYS mget a b", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", ""},
		{"COMMAND GETKEYS evalsha x 1 k tok", "*1\r\n$1\r\nk\r\n", ""},
		{"COMMAND GETKEYS evalsha x 9223372036854775807 k", "-ERR Invalid arguments specified for command\r\n", ""},
		{"COMMAND GETKEYS eval x 0", "-ERR The command has no key arguments\r\n", ""},
		{"COMMAND GETKEYS ping x", "-ERR The command has no key arguments\r\n", ""},
		{"COMMAND GETKEYS set k", "-ERR Invalid number of arguments specified for command\r\n", ""},
	}
	for _, proto := range []int{2, 3} {
		s, c := newTestServer(t)
		c.proto = proto
		for _, test := range tests {
			want := test.two
			if proto == 3 && test.three != "" {
				want = test.three
			}
			if got, _ := say(t, s, c, test.line); !like(got, want) {
				t.Errorf("RESP%d %s\n got %q\nwant %q", proto, test.line, got, want)
			}
		}
	}
}

// Every reply, whatever the command, is one well-formed reply.
func TestEveryCommandGivesExactlyOneReply(t *testing.T) {
	for _, proto := range []int{2, 3} {
		s, c := newTestServer(t)
		for name, cmd := range s.commands {
			lines := []string{name, name + " x", name + " x y", name + " x y z"}
			for sub := range cmd.subs {
				for _, args := range []string{"", " x", " x y", " 1 2 3", " on", " off"} {
					lines = append(lines, name+" "+sub+args)
				}
			}
			for _, line := range lines {
				c.proto = proto
				got, do := say(t, s, c, line)
				if do == actionAdmit || do == actionChange || do == actionLocks || do == actionTransact || do == actionKeys || do == actionConverse {
					continue
				}
				if end := replyLength([]byte(got)); end != len(got) {
					t.Errorf("RESP%d %s: %q is not one reply", proto, line, got)
				}
			}
		}
	}
}

// replyLength is the length of the first reply in b, -1 if there is none.
func replyLength(b []byte) int {
	all := len(b)
	r := bufio.NewReaderSize(bytes.NewReader(b), max(len(b), 16))
	if _, err := readReply(r); err != nil {
		return -1
	}
	return all - r.Buffered()
}
