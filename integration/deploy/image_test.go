package deploy

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

var withImage = flag.Bool("image", false, "build the container image and run it; needs root and a Docker daemon to start")

const (
	image = "redlock-proxy:test"
	// maxSize of the image: it is one program.
	maxSize = 30 << 20
)

// TestImage builds the image as the README says and runs it as one would.
func TestImage(t *testing.T) {
	if !*withImage {
		t.Skip("only with -image")
	}
	e := startEngine(t)
	e.importGolang(t, "golang:1.26")
	start := time.Now()
	e.do(t, buildArgs()...)
	t.Logf("built in %v", time.Since(start).Round(time.Second))
	t.Run("is small and says what it is", func(t *testing.T) { testImageItself(t, e) })
	t.Run("embedded masters", func(t *testing.T) { testEmbedded(t, e) })
	t.Run("real masters, a password, and docker stop", func(t *testing.T) { testRealMasters(t, e) })
}

// buildArgs are those of a user's docker build, and the host's network.
func buildArgs() []string {
	args := []string{"build", "--network", "host", "-t", image, "--build-arg", "VERSION=1.2.3", "--build-arg", "REVISION=abc"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		if os.Getenv(name) != "" {
			args = append(args, "--build-arg", name)
		}
	}
	return append(args, filepath.Join("..", ".."))
}

func testImageItself(t *testing.T, e *engine) {
	var found []struct {
		Size   int
		Config struct {
			User, StopSignal        string
			Entrypoint, Cmd, Volume []string
			Labels                  map[string]string
			Healthcheck             struct{ Test []string }
		}
	}
	if err := json.Unmarshal([]byte(e.do(t, "image", "inspect", image)), &found); err != nil || len(found) != 1 {
		t.Fatalf("docker image inspect: %v, %d images", err, len(found))
	}
	c := found[0].Config
	if found[0].Size > maxSize {
		t.Errorf("it has %d bytes, want at most %d", found[0].Size, maxSize)
	}
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" {
		t.Errorf("user %q, stop signal %q", c.User, c.StopSignal)
	}
	if got := strings.Join(c.Healthcheck.Test, " "); got != "CMD /redlock-proxy healthcheck" {
		t.Errorf("health check %q", got)
	}
	for label, want := range map[string]string{"title": "redlock-proxy", "version": "1.2.3", "revision": "abc", "licenses": "MIT"} {
		if got := c.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if got := e.do(t, "run", "--rm", "--network", "none", image, "--version"); got != "redlock-proxy 1.2.3" {
		t.Errorf("--version says %q", got)
	}
	if _, err := e.try(nil, "run", "--rm", "--network", "none", "--entrypoint", "/bin/sh", image); err == nil {
		t.Error("there is a shell in it")
	}
}

// container is a proxy that runs in the image.
type container struct {
	*engine
	id, port string
}

// run starts a container as locked up as can be, that listens on a free port of
// this machine, and waits until Docker finds it healthy.
func (e *engine) run(t *testing.T, args ...string) container {
	t.Helper()
	c := container{engine: e, port: freePort(t)}
	c.id = e.do(t, append([]string{"run", "--detach", "--network", "host", "--health-interval", "1s",
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--env", "REDLOCK_LISTEN=127.0.0.1:" + c.port}, append(args, image)...)...)
	t.Cleanup(func() {
		if t.Failed() {
			logs, err := exec.Command("docker", "--host", e.socket(), "logs", c.id).CombinedOutput()
			t.Logf("%s\n%v", logs, err)
		}
		e.do(t, "rm", "--force", c.id)
	})
	err := harness.Eventually(time.Minute, func() error {
		if state := c.inspect(t, ".State.Health.Status"); state != "healthy" {
			return errors.New("the container is " + state)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(port)
}

func (c container) inspect(t *testing.T, what string) string {
	t.Helper()
	return c.do(t, "inspect", "--format", "{{"+what+"}}", c.id)
}

// redisCLI runs redis-cli against the container.
func (c container) redisCLI(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("redis-cli", append([]string{"-p", c.port, "--no-auth-warning"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func testEmbedded(t *testing.T, e *engine) {
	c := e.run(t)
	for _, want := range []string{"OK", ""} {
		if got := c.redisCLI(t, "set", "my-lock", "token", "NX", "PX", "30000"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	start := time.Now()
	c.do(t, "stop", c.id)
	if code := c.inspect(t, ".State.ExitCode"); code != "0" {
		t.Errorf("exit code %s, want 0", code)
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("docker stop took %v: it was killed", took)
	}
}

// testRealMasters: the password comes from a file; docker stop drains.
func testRealMasters(t *testing.T, e *engine) {
	masters := make([]string, 3)
	for i := range masters {
		r, err := harness.StartRedis(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Kill)
		masters[i] = r.Addr()
	}
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("hush\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	status := "127.0.0.1:" + freePort(t)
	c := e.run(t, "--volume", secret+":/run/secrets/password:ro",
		"--env", "REDLOCK_REQUIREPASS_FILE=/run/secrets/password", "--env", "REDLOCK_MASTERS="+strings.Join(masters, ","),
		"--env", "REDLOCK_METRICS_ADDR="+status, "--env", "REDLOCK_DRAIN_TIME=3s", "--env", "REDLOCK_OP_TIMEOUT=1s")
	if err := harness.Eventually(10*time.Second, func() error { return ready(status) }); err != nil {
		t.Fatal(err)
	}
	if got := c.redisCLI(t, "set", "my-lock", "token", "NX", "PX", "30000"); !strings.HasPrefix(got, "NOAUTH") {
		t.Errorf("without the password: %q", got)
	}
	if got := c.redisCLI(t, "-a", "hush", "set", "my-lock", "token", "NX", "PX", "30000"); got != "OK" {
		t.Errorf("acquire: %q", got)
	}
	stopped := make(chan error, 1)
	go func() {
		_, err := c.try(nil, "stop", "--time", "30", c.id)
		stopped <- err
	}()
	err := harness.Eventually(10*time.Second, func() error {
		if ready(status) == nil {
			return errors.New("/readyz still says yes")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.redisCLI(t, "-a", "hush", "set", "another", "token", "NX", "PX", "30000"); got != "OK" {
		t.Errorf("acquire while it drains: %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if code := c.inspect(t, ".State.ExitCode"); code != "0" {
		t.Errorf("exit code %s, want 0", code)
	}
	for _, key := range []string{"my-lock", "another"} {
		if got, err := harness.Do(masters[0], "GET", key); err != nil || got != `"token"` {
			t.Errorf("a master holds %s for %s (%v), want the token", got, key, err)
		}
	}
}

// ready asks /readyz.
func ready(status string) error {
	client := http.Client{Timeout: 5 * time.Second}
	page, err := client.Get("http://" + status + "/readyz")
	if err != nil {
		return err
	}
	defer page.Body.Close()
	body, err := io.ReadAll(page.Body)
	if err == nil && page.StatusCode != http.StatusOK {
		err = fmt.Errorf("/readyz says %s: %s", page.Status, body)
	}
	return err
}
