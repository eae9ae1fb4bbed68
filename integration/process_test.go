package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongFlagsEndWithALineForEachFault(t *testing.T) {
	code, out := runProxy(t, []string{"REDLOCK_MAXCLIENTS=many"},
		"--op-timeout", "soon", "--masters", "host-without-port:x", "--nonsense", "--default-ttl=-1s")
	if code != 2 {
		t.Errorf("got exit code %d, want 2", code)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, want := range []string{"op-timeout", "masters", "nonsense", "default-ttl", "REDLOCK_MAXCLIENTS"} {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, want+":") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines begin with a fault of %s, want 1; the output was\n%s", n, want, out)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for flag, want := range map[string]string{"--help": "--masters", "--version": "redlock-proxy "} {
		if code, out := runProxy(t, nil, flag); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: got exit code %d and %q, want 0 and %q", flag, code, out, want)
		}
	}
}

func TestAnAddressInUse(t *testing.T) {
	r := startRedis(t)
	code, out := runProxy(t, nil, "--listen", r.Addr())
	if code == 0 || !strings.Contains(out, r.Addr()) {
		t.Errorf("got exit code %d and %q, want a failure that names the address", code, out)
	}
}

func TestHealthcheck(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	if code, out := runProxy(t, nil, "healthcheck", "--address", p.Addr); code != 0 {
		t.Errorf("of a running proxy: got exit code %d, want 0\n%s", code, out)
	}
	if code, out := runProxy(t, []string{"REDLOCK_LISTEN=" + p.Addr}, "healthcheck"); code != 0 {
		t.Errorf("with the proxy's own environment: got exit code %d, want 0\n%s", code, out)
	}
	p.Kill()
	if code, out := runProxy(t, nil, "healthcheck", "--address", p.Addr); code != 1 || out == "" {
		t.Errorf("of nothing: got exit code %d and %q, want 1 and a reason", code, out)
	}
}

func TestStatusPages(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	do(t, p.Addr, acquire("k", "secret-token", lockTTL)...)
	check := func(path string, wantCode int, wants ...string) {
		t.Helper()
		code, body, err := p.Get(path)
		if err != nil || code != wantCode {
			t.Fatalf("%s: got %d, error %v, want %d", path, code, err, wantCode)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not contain %q:\n%s", path, want, body)
			}
		}
		if strings.Contains(body, "secret-token") {
			t.Errorf("%s shows a token", path)
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz", 200)
	check("/metrics", 200, "redlock_proxy_", "go_memstats_mallocs_total", m[0].Addr(), m[1].Addr(), m[2].Addr(), "acquire")
	m[0].Kill()
	m[1].Kill()
	eventually(t, soon, func() error {
		code, _, err := p.Get("/readyz")
		if err == nil && code != 503 {
			t.Logf("/readyz: %d", code)
			return os.ErrDeadlineExceeded
		}
		return err
	})
	check("/healthz", 200, "ok")
	check("/readyz", 503, m[0].Addr())
}

func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := startMasters(t, 3)
	for _, r := range m {
		if err := r.SetPassword("masters"); err != nil {
			t.Fatal(err)
		}
	}
	p := startProxy(t, m, "--requirepass-file", file, "--masters-password", "masters")
	c := dial(t, p.Addr)
	expect(t, c, "-NOAUTH Authentication required.", acquire("k", "t", lockTTL)...)
	expect(t, c, "-NOAUTH Authentication required.", "EVAL", releaseScript, "1", "k", "t")
	for _, args := range [][]string{{"AUTH", "wrong"}, {"AUTH", "other", "s3cret"}, {"HELLO", "3", "AUTH", "default", "wrong"}} {
		if got := on(t, c, args...); !strings.HasPrefix(got, "-WRONGPASS ") {
			t.Errorf("%q: got %s, want -WRONGPASS …", args, got)
		}
	}
	expect(t, c, "-NOAUTH Authentication required.", "GET", "k")
	expect(t, c, "+OK", "AUTH", "s3cret")
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...)
	c = dial(t, p.Addr)
	if got := on(t, c, "HELLO", "3", "AUTH", "default", "s3cret"); !strings.HasPrefix(got, "{") {
		t.Errorf("HELLO 3 AUTH: got %s", got)
	}
	expect(t, c, "_", acquire("k", "t", lockTTL)...)
	if strings.Contains(p.Log(), "s3cret") {
		t.Error("the log shows the password")
	}
	if code, out := runProxy(t, []string{"REDLOCK_REQUIREPASS=s3cret"}, "healthcheck", "--address", p.Addr); code != 0 {
		t.Errorf("healthcheck: got exit code %d\n%s", code, out)
	}
}

func TestTokensAreNotLogged(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m, "--log-level", "debug")
	c := dial(t, p.Addr)
	const token = "very-secret-token"
	for range 3 {
		on(t, c, acquire("k", token, lockTTL)...)
		on(t, c, extend("k", token, lockTTL)...)
		on(t, c, "SET", "k", token, "NX", "PX", "wrong")
		on(t, c, "EVAL", "return '"+token+"' .. nil", "0")
		on(t, c, "NOSUCH", token)
		on(t, c, release("k", token)...)
		m[2].Kill()
	}
	m[1].Kill()
	on(t, c, acquire("k", token, lockTTL)...)
	if strings.Contains(p.Log(), token) {
		t.Errorf("the log shows a token:\n%s", tail(p.Log(), 20))
	}
}
