package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"redlock-proxy/integration/internal/harness"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startUsersProxy starts a proxy with users; its masters are in memory.
func startUsersProxy(t *testing.T, users string, flags ...string) (p *harness.Proxy, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "users.acl")
	writeFile(t, file, users)
	return startProxyOn(t, nil, append([]string{"--aclfile", file}, flags...)...), file
}

// login opens a connection of a user.
func login(t *testing.T, addr, user string) *harness.Conn {
	t.Helper()
	c := dial(t, addr)
	password := passwords[user]
	if password == "" {
		password = user
	}
	expect(t, c, "+OK", "AUTH", user, password)
	return c
}

// TestATenantSeesOnlyItsOwn, also where Redis would show all.
func TestATenantSeesOnlyItsOwn(t *testing.T) {
	p, _ := startUsersProxy(t, tenants+"user lister on >lister ~app:* &app:* +@all -@admin\n")
	admin, tenant := login(t, p.Addr, "admin"), login(t, p.Addr, "lister")
	for _, key := range []string{"app:1", "b:1", "b:2"} {
		expect(t, admin, "+OK", "SET", key, "t", "NX", "PX", "60000")
	}
	hears := login(t, p.Addr, "admin")
	expect(t, hears, `["subscribe" "b:c" :1]`, "SUBSCRIBE", "b:c")
	for _, tt := range []struct{ want, line string }{
		{`["app:1"]`, "KEYS *"},
		{`["0" ["app:1"]]`, "SCAN 0"},
		{`["0" []]`, "SCAN 0 MATCH b:*"},
		{":1", "DBSIZE"},
		{`"app:1"`, "RANDOMKEY"},
		{"[]", "PUBSUB CHANNELS"},
		{`["b:c" :0]`, "PUBSUB NUMSUB b:c"},
		{"-NOPERM this user has no permissions to run the 'redlock|status' command", "REDLOCK STATUS"},
		{"-NOPERM this user has no permissions to run the 'redlock|admit' command", "REDLOCK ADMIT all"},
		{`""`, "INFO redlock"},
	} {
		expect(t, tenant, tt.want, strings.Fields(tt.line)...)
	}
	if text := on(t, tenant, "INFO"); strings.Contains(text, "# Redlock") || !strings.Contains(text, "redis_version") {
		t.Errorf("INFO shows %s", text)
	}
	expect(t, admin, ":3", "DBSIZE")
}

func TestUsersAreReadAgain(t *testing.T) {
	p, file := startUsersProxy(t, tenants)
	app, reader, kept, admin := login(t, p.Addr, "app"), login(t, p.Addr, "reader"), login(t, p.Addr, "writer"), login(t, p.Addr, "admin")
	listener, other := login(t, p.Addr, "app"), login(t, p.Addr, "admin")
	expect(t, listener, `["subscribe" "app:c" :1]`, "SUBSCRIBE", "app:c")
	expect(t, other, `["subscribe" "app:c" :1]`, "SUBSCRIBE", "app:c")
	expect(t, kept, "+OK", "MULTI")
	expect(t, kept, "+QUEUED", "SET", "app:1", "x", "PX", "60000")

	writeFile(t, file, strings.Replace(tenants, "user reader", "user reader on >x\nuser reader2", 1)+"user broken on ~* oops\n")
	p.Signal(syscall.SIGHUP)
	waitForLog(t, p, "cannot read again")
	expect(t, app, `"app"`, "ACL", "WHOAMI")
	if got := on(t, admin, "ACL", "LOAD"); !strings.Contains(got, "line 10, word 5") || strings.Contains(got, "oops") {
		t.Errorf("ACL LOAD of a broken file: %s", got)
	}

	// reader is gone, app may not hear its channel any more, writer not write.
	next := strings.Replace(tenants, "user reader", "user reader2", 1)
	next = strings.Replace(next, "&app:*", "", 1)
	next = strings.Replace(next, "%W~app:*", "~new:*", 1)
	writeFile(t, file, next)
	expect(t, admin, "+OK", "ACL", "LOAD")
	expect(t, kept, "-EXECABORT Transaction discarded because of: NOPERM this user has no permissions to access one of the keys used as arguments, which it had when the command was queued", "EXEC")
	expect(t, kept, "+OK", "SET", "new:1", "x", "PX", "60000")
	expect(t, app, `"app"`, "ACL", "WHOAMI")
	expect(t, admin, ":1", "PUBLISH", "app:c", "m")
	for name, c := range map[string]*harness.Conn{"reader": reader, "listener": listener} {
		if got, err := c.Read(); err == nil {
			t.Errorf("%s got %s, want the end of the connection", name, got)
		}
	}
	if got, err := other.Read(); got != `["message" "app:c" "m"]` {
		t.Errorf("another subscriber got %s, %v", got, err)
	}
	if got := do(t, p.Addr, "AUTH", "reader", "ro"); !strings.HasPrefix(got, "-WRONGPASS") {
		t.Errorf("somebody who is gone: %s", got)
	}
}

// TestAFileOfUsersWithFaults names line and word, and repeats neither.
func TestAFileOfUsersWithFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	writeFile(t, file, "user a on hunter2 ~*\n\nuser b on +hunter2\nhunter2\nuser c (~hunter2)\nuser c on\nuser d on\nuser d off\nuser e #hunter2\nuser f %X~hunter2\n")
	code, log := runProxy(t, nil, "--listen", "127.0.0.1:0", "--aclfile", file)
	if code != 2 || strings.Contains(log, "hunter2") {
		t.Errorf("exit code %d\n%s", code, log)
	}
	for _, place := range []string{"1, word 4", "3, word 4", "4, word 1", "5, word 3", "8, word 2", "9, word 3", "10, word 3"} {
		if want := fmt.Sprintf("redlock-proxy: %s: line %s: ", file, place); strings.Count(log, want) != 1 {
			t.Errorf("it does not say %q:\n%s", want, log)
		}
	}
	if n := strings.Count(log, "\n"); n != 7 {
		t.Errorf("%d lines:\n%s", n, log)
	}
}

// TestUsersOfTheReadme tries what it says of its example.
func TestUsersOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "    user ") {
			lines += line
		}
	}
	p, _ := startUsersProxy(t, lines)
	tests := []struct{ user, password, line, want string }{
		{"ops", "secret", "SET other t NX PX 60000", "+OK"},
		{"ops", "secret", "REDLOCK HELP", "[+"},
		{"billing", "password", "SET billing:1 t NX PX 60000", "+OK"},
		{"billing", "password", "EVAL {return redis.call('get',KEYS[1])} 1 billing:1", `"t"`},
		{"billing", "password", "MULTI", "+OK"},
		{"billing", "password", "SUBSCRIBE billing:c", "["},
		{"billing", "password", "GET other", "-NOPERM"},
		{"billing", "password", "KEYS *", `["billing:1"]`},
		{"billing", "password", "REDLOCK STATUS", "-NOPERM"},
		{"billing", "password", "ACL LIST", "-NOPERM"},
		{"watcher", "other", "GET billing:1", `"t"`},
		{"watcher", "other", "DEL billing:1", "-NOPERM"},
		{"watcher", "other", "EVAL {return 1} 0", "-NOPERM"},
	}
	for _, tt := range tests {
		c := dial(t, p.Addr)
		expect(t, c, "+OK", "AUTH", tt.user, tt.password)
		if got := on(t, c, wordsOf(tt.line)...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s: got %s, want %s", tt.user, tt.line, got, tt.want)
		}
	}
	if got := do(t, p.Addr, "PING"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("without login: %s", got)
	}
}
