package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// program is the path of the proxy.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "redlock-proxy")
	if err != nil {
		return "", err
	}
	return harness.Build("../..", dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(strings.TrimSuffix(path, "/redlock-proxy"))
	}
	os.Exit(code)
}

func build(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checkSettings: the program knows every variable, and takes its value. Files
// are not there, so those settings are left out.
func checkSettings(t *testing.T, env map[string]string) {
	t.Helper()
	cmd := exec.Command(build(t), "healthcheck", "--address", "127.0.0.1:1")
	help, err := exec.Command(build(t), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range env {
		if !strings.HasPrefix(name, "REDLOCK_") {
			continue
		}
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "REDLOCK_"), "_", "-")) + " "
		if !strings.Contains(string(help), flag) {
			t.Errorf("the program does not know %s", name)
		}
		if !strings.HasSuffix(name, "_FILE") {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, _ := cmd.CombinedOutput() // it fails, for there is no proxy
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "dial tcp 127.0.0.1:1") {
		t.Errorf("the settings are not taken: exit code %d\n%s", code, out)
	}
}

// checkDrainFits: who stops the proxy waits longer than its drain and its
// shutdown may take together.
func checkDrainFits(t *testing.T, drain string, grace time.Duration) {
	t.Helper()
	const shutdown = 5 * time.Second // the default of --shutdown-timeout
	d, err := time.ParseDuration(drain)
	if err != nil {
		t.Fatal(err)
	}
	if d < 2*time.Second || d+shutdown >= grace {
		t.Errorf("a drain of %v and a shutdown of %v do not fit into %v", d, shutdown, grace)
	}
}

// checkKeepsEveryWrite starts a redis-server with these arguments, on a port and
// in a directory of the test.
func checkKeepsEveryWrite(t *testing.T, args []string) {
	t.Helper()
	port := freePort(t)
	args = append(args, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir())
	r, err := harness.Start("redis-server", args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	addr := "127.0.0.1:" + port
	err = harness.Eventually(10*time.Second, func() error {
		if !r.Alive() {
			return harness.ErrEnded
		}
		_, err := harness.Do(addr, "PING")
		return err
	})
	if err != nil {
		t.Fatalf("redis-server %q: %v\n%s", args, err, r.Log())
	}
	for name, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory-policy": "noeviction", "save": "",
	} {
		got, err := harness.Do(addr, "CONFIG", "GET", name)
		if want = fmt.Sprintf("[%q %q]", name, want); err != nil || got != want {
			t.Errorf("CONFIG GET answers %s, %v; want %s", got, err, want)
		}
	}
}
