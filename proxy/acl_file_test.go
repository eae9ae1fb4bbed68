package proxy

import (
	"strings"
	"testing"
)

// rightsOf parses the rules of one user.
func rightsOf(t *testing.T, rules string) *rights {
	t.Helper()
	found, err := parseACL("users.acl", "user u "+rules)
	if err != nil {
		t.Fatal(err)
	}
	return found["u"]
}

// The rules as ACL LIST shows them tell how they were understood.
func TestRulesApplyFromLeftToRight(t *testing.T) {
	const digits = "7ef9ec0cf2c4facafddd03ab96eca0939d6749b49952bd816f1e0cc6901941d5"
	tests := []struct{ rules, want string }{
		{"", "off resetchannels -@all"},
		{"on >a #" + digits, "on #(hidden) #(hidden) resetchannels -@all"},
		{"on >a nopass", "on nopass resetchannels -@all"},
		{"nopass >a off", "off #(hidden) resetchannels -@all"},
		{"on >a resetpass", "on resetchannels -@all"},
		{"ON ~a* %R~b %w~c %RW~d", "on ~a* %R~b %W~c ~d resetchannels -@all"},
		{"~a ~*", "off ~* resetchannels -@all"},
		{"%R~*", "off %R~* resetchannels -@all"},
		{"allkeys resetkeys ~b", "off ~b resetchannels -@all"},
		{"&a &b", "off resetchannels &a &b -@all"},
		{"&a allchannels", "off &* -@all"},
		{"allchannels resetchannels &c", "off resetchannels &c -@all"},
		{"+get +@read -@dangerous", "off resetchannels -@all +get +@read -@dangerous"},
		{"+get allcommands -KEYS", "off resetchannels +@all -keys"},
		{"+@all nocommands +client|id", "off resetchannels -@all +client|id"},
		{"on nopass ~* &* +@all reset", "off resetchannels -@all"},
		{"sanitize-payload -incr +@hash", "off resetchannels -@all -incr +@hash"},
	}
	for _, tt := range tests {
		if got := rightsOf(t, tt.rules).String(); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.rules, got, tt.want)
		}
	}
}

func TestWhatIsDenied(t *testing.T) {
	tests := []struct {
		rules, line string
		want        denial
	}{
		{"+@all", "get k", deniedKey},
		{"~k", "get k", deniedCommand},
		{"~k +get", "get k", notDenied},
		{"%W~k +@all", "get k", deniedKey},
		{"%W~k +@all", "exists k", notDenied},
		{"%W~k %R~k +@all", "getdel k", deniedKey}, // one rule has to allow both
		{"%RW~k +@all", "getdel k", notDenied},
		{"%W~k +@all", "set k v nx px 1", notDenied},
		{"%W~k +@all", "set k v nx get px 1", deniedKey},
		{"~a ~b +@all", "del a b", notDenied},
		{"~a ~b +@all", "del a b c", deniedKey},
		{"~a +@all", "mset a 1 b 2", deniedKey},
		{"~a ~b +@all", "mset a 1 b 2", notDenied},
		{"~a +@all", "eval x 2 a b", deniedKey},
		{"~a +@all", "eval x 1 a b", notDenied},
		{"%R~a +@all", "eval x 1 a b", deniedKey},
		{"%R~a +@all", "eval_ro x 1 a b", notDenied},
		{"~a +@all", "watch a b", deniedKey},
		{"+@all", "publish c m", deniedChannel},
		{"&c? +@all", "publish c1 m", notDenied},
		{"&c? +@all", "subscribe c1 d", deniedChannel},
		{"&c? +@all", "psubscribe c1", deniedChannel},
		{"&c? +@all", "psubscribe c?", notDenied},
		{"+@all", "unsubscribe c", notDenied},
		{"-@all", "auth u p", notDenied},
		{"+@all -@admin", "redlock|status", deniedCommand},
		{"+@all -client +client|id", "client|id", notDenied},
		{"+@all -client +client|id", "client|list", deniedCommand},
	}
	for _, tt := range tests {
		args := words(t, tt.line)
		if got := rightsOf(t, tt.rules).denies(string(args[0]), args); got != tt.want {
			t.Errorf("%s: %s: denied %q, want %q", tt.rules, tt.line, got, tt.want)
		}
	}
}

// TestEveryCommandIsInACategory, so that no new one is given away by accident.
func TestEveryCommandIsInACategory(t *testing.T) {
	names := newACLNames()
	for _, name := range names.all {
		if !names.categories[name]["fast"] && !names.categories[name]["slow"] {
			t.Errorf("%s is neither fast nor slow: it is in no category", name)
		}
	}
	for _, c := range aclMembers {
		for name := range strings.FieldsSeq(c.commands) {
			if names.named(name) == nil {
				t.Errorf("there is no %s, of category %s", name, c.category)
			}
		}
	}
}

func TestEveryPasswordOfAUserOpens(t *testing.T) {
	r := rightsOf(t, "on >a #7ef9ec0cf2c4facafddd03ab96eca0939d6749b49952bd816f1e0cc6901941d5")
	for password, want := range map[string]bool{"a": true, "ro": true, "": false, "b": false, "7ef9": false} {
		if got := r.opens([]byte(password)); got != want {
			t.Errorf("%q: %v", password, got)
		}
	}
	if rightsOf(t, "off nopass").opens(nil) || !rightsOf(t, "on nopass").opens([]byte("x")) || rightsOf(t, "on").opens(nil) {
		t.Error("off, nopass or no password is not heeded")
	}
}

// FuzzACL: no file makes the parser panic, and what it understands it
// understands again as it shows it, but for passwords.
func FuzzACL(f *testing.F) {
	f.Add("user a on >x ~k* %R~r &c +@all -@dangerous -client|id +get\n\nuser b")
	f.Add("user a % %~ %X~ # > + - & ~ +@ ( <x")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseACL("f", text)
		for name, r := range found {
			again, bad := parseACL("f", "user "+name+" "+strings.ReplaceAll(r.String(), hiddenPassword, ">x"))
			if err != nil || bad != nil || again[name].String() != r.String() {
				t.Fatalf("%q: %v", r.String(), bad)
			}
		}
	})
}
