package integration

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"redlock-proxy/integration/internal/harness"
)

// The secrets of this test all have this in them, so that a part of one is
// found, too.
const mark = "s3cr3t"

// TestNothingShowsASecret looks for passwords, their hashes and lock tokens in
// everything that the proxy writes, but for a GET of the holder.
func TestNothingShowsASecret(t *testing.T) {
	m := startMasters(t, 3)
	for i, r := range m {
		if err := r.SetPassword(fmt.Sprintf("%s,@master-%d", mark, i)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, r := range m {
			expect(t, mustDial(t, r), "+OK", "CONFIG", "SET", "requirepass", "")
			r.Password = ""
		}
	})
	var urls []string
	for i, r := range m {
		password := fmt.Sprintf("%s,@master-%d", mark, i)
		urls = append(urls, fmt.Sprintf("redis://:%s@%s", url.PathEscape(password), r.Addr()))
	}
	masters := strings.ReplaceAll(strings.Join(urls, "|"), ",", "%2C")
	masters = strings.ReplaceAll(masters, "|", ",")
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(mark+"-app")))
	file := filepath.Join(t.TempDir(), "users.acl")
	writeFile(t, file, "user admin on >"+mark+"-admin ~* &* +@all\nuser app on #"+hash+" ~app:* +@all\n")

	var seen strings.Builder
	_, printed := runProxy(t, nil, "--print-config", "--masters", masters, "--aclfile", file)
	seen.WriteString(printed)
	for _, wrong := range [][]string{
		{"--masters", strings.Replace(masters, "redis://", "rdis://", 1)},
		{"--masters", strings.Replace(masters, "%2C", "%2", 1)},
		{"--requirepas", mark},
		{"--aclfile", file, "--requirepass", mark},
	} {
		code, text := runProxy(t, []string{"REDLOCK_MASTERS_PASWORD=" + mark}, wrong...)
		if code != 2 {
			t.Errorf("%.12q: exit code %d", wrong, code)
		}
		seen.WriteString(text)
	}

	p := startProxyOn(t, strings.Split(masters, ","), "--aclfile", file, "--log-level", "debug")
	changed := mustDial(t, m[2])
	expect(t, changed, "+OK", "CONFIG", "SET", "requirepass", mark+"-changed")
	m[2].Password = mark + "-changed"
	on(t, changed, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	waitForLog(t, p, "refuses the user or password")
	admin, app := dial(t, p.Addr), dial(t, p.Addr)
	for _, say := range []struct {
		c    *harness.Conn
		args []string
	}{
		{admin, []string{"AUTH", mark + "-wrong"}},
		{admin, []string{"AUTH", mark + "-as-name", "x"}},
		{admin, []string{"HELLO", "3", "AUTH", "admin", mark + "-wrong"}},
		{admin, []string{"GET", mark}},
		{admin, []string{"AUTH", "admin", mark + "-admin"}},
		{app, []string{"AUTH", "app", mark + "-app"}},
		{app, acquire("app:1", mark+"-token", lockTTL)},
		{app, acquire("app:1", mark+"-rival", lockTTL)},
		{app, release("app:1", mark+"-rival")},
		{app, acquire("other", mark+"-denied", lockTTL)},
		{app, []string{"SET", "app:2", mark, "PX", "x"}},
		{app, []string{"EVAL", "return redis.call('incr', KEYS[1])", "1", "app:1", mark}},
		{app, []string{"FLUSHALL", mark}},
		{app, []string{"CLIENT", "INFO"}},
		{admin, []string{"CLIENT", "LIST"}},
		{admin, []string{"CONFIG", "GET", "*"}},
		{admin, []string{"INFO", "everything"}},
		{admin, []string{"REDLOCK", "STATUS"}},
		{admin, []string{"ACL", "LIST"}},
		{admin, []string{"ACL", "GETUSER", "app"}},
		{admin, []string{"ACL", "LOAD"}},
	} {
		seen.WriteString(on(t, say.c, say.args...) + "\n")
	}
	for _, page := range []string{"/", "/metrics", "/readyz", "/healthz"} {
		_, body, err := p.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(body)
	}
	seen.WriteString(p.Log())
	for line := range strings.Lines(seen.String()) {
		if strings.Contains(line, mark) || strings.Contains(line, hash) {
			t.Errorf("a secret is in %q", line)
		}
	}
	for _, told := range []string{"refuses the user or password", "redlock_proxy_auth_failures_total 3"} {
		if !strings.Contains(seen.String(), told) {
			t.Errorf("nothing tells of %q: did this test see anything?", told)
		}
	}
}

func mustDial(t *testing.T, r *harness.Redis) *harness.Conn {
	t.Helper()
	c, err := r.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
