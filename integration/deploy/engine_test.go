package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// engine is a Docker daemon of the test's own, without a network: containers
// use the host's.
type engine struct {
	dir string
	*harness.Process
}

// needs are the programs that a test of the image takes.
var needs = []string{"dockerd", "docker", "busybox", "tar", "redis-server", "redis-cli"}

// requireEngine skips the test where a daemon cannot be started; in CI that is
// a failure.
func requireEngine(t *testing.T) {
	t.Helper()
	missing := ""
	for _, program := range needs {
		if _, err := exec.LookPath(program); err != nil {
			missing += " " + program
		}
	}
	if os.Geteuid() != 0 {
		missing += " root"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatal("the image cannot be built without:", missing)
	default:
		t.Skip("NOT RUN, this machine lacks:", missing)
	}
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	requireEngine(t)
	dir, err := os.MkdirTemp("/var/tmp", "engine") // on disk, and short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{dir: dir}
	e.Process, err = harness.Start("dockerd", []string{
		"--host", e.socket(), "--pidfile", filepath.Join(dir, "pid"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--bridge", "none", "--iptables=false", "--ip6tables=false",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.stop(t) })
	if err := harness.Eventually(time.Minute, e.up); err != nil {
		t.Fatalf("dockerd: %v\n%s", err, e.Log())
	}
	return e
}

func (e *engine) socket() string { return "unix://" + filepath.Join(e.dir, "sock") }

func (e *engine) up() error {
	if !e.Alive() {
		return harness.ErrEnded
	}
	_, err := e.try(nil, "version")
	return err
}

func (e *engine) stop(t *testing.T) {
	e.Signal(syscall.SIGTERM)
	if _, err := e.Wait(time.Minute); err != nil {
		t.Error(err)
		e.Kill()
	}
	// What dockerd leaves mounted, if it got that far.
	_ = exec.Command("umount", filepath.Join(e.dir, "exec", "netns", "default")).Run()
	if err := os.RemoveAll(e.dir); err != nil {
		t.Error(err)
	}
}

// try runs a command of the client and returns what it writes.
func (e *engine) try(stdin *os.File, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", e.socket()}, args...)...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT="+buildKit())
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return strings.TrimSpace(out.String()), nil
}

// buildKit says whether the client can build by BuildKit: newer ones need a
// plugin for it.
func buildKit() string {
	version, err := exec.Command("docker", "--version").Output()
	if err == nil && strings.HasPrefix(string(version), "Docker version 20.") {
		return "1"
	}
	if exec.Command("docker", "buildx", "version").Run() == nil {
		return "1"
	}
	return "0"
}

func (e *engine) do(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.try(nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// importGolang makes a stand-in for the image that builds start from: this
// machine's Go and what it is told about modules, a shell, and the certificates
// of authorities.
func (e *engine) importGolang(t *testing.T, name string) {
	t.Helper()
	script := `
		mkdir -p "$1/bin" "$1/tmp" "$1/etc/ssl/certs"
		cp -L "$(command -v busybox)" "$1/bin/busybox"
		ln -s busybox "$1/bin/sh"
		cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
		goroot=$(go env GOROOT)
		tar -c -C "$1" . -C "$(dirname "$goroot")" --transform "s,^$(basename "$goroot"),usr/local/go," \
			--exclude testdata --exclude '*_test.go' "$(basename "$goroot")" |
			docker --host "$2" import --change "ENV PATH=/usr/local/go/bin:/bin GOTOOLCHAIN=local" \
				--change "ENV GOPROXY=$(go env GOPROXY)" --change "ENV GOSUMDB=$(go env GOSUMDB)" - "$3"`
	cmd := exec.Command("sh", "-euc", script, "sh", t.TempDir(), e.socket(), name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import of %s: %v\n%s", name, err, out)
	}
}
