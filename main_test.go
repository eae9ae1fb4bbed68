package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is the proxy itself when this is set.
const runMain = "RUN_MAIN_OF_REDLOCK_PROXY"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is the proxy with arguments; "NAME=value" ones at the front are its
// environment.
func command(ctx context.Context, args ...string) *exec.Cmd {
	env := []string{runMain + "=1"}
	for len(args) > 0 && strings.HasPrefix(args[0], "REDLOCK_") {
		env, args = append(env, args[0]), args[1:]
	}
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = env
	return cmd
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func TestCommandsThatEnd(t *testing.T) {
	busy := freeListener(t)
	nobody := freeListener(t)
	nobody.Close()
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // what they start with
	}{
		{"help", []string{"--help"}, 0, "redlock-proxy gives Redis lock clients", ""},
		{"version", []string{"--version"}, 0, "redlock-proxy ", ""},
		{"wrong configuration", []string{"REDLOCK_OP_TIMEOUT=soon", "--listen=here"}, 2, "",
			"redlock-proxy: --listen: \"here\" is not host:port, like 127.0.0.1:6380 or [::1]:6380\n" +
				"redlock-proxy: REDLOCK_OP_TIMEOUT: \"soon\" is not a duration"},
		{"healthcheck of nobody", []string{"healthcheck", "--address", nobody.Addr().String()}, 1, "", "redlock-proxy: dial tcp"},
		{"port in use", []string{"--listen", busy.Addr().String()}, 1, "", "redlock-proxy: --listen: listen tcp " + busy.Addr().String() + ": bind: address already in use (another program has this port: stop it, or take another port)"},
		{"status port in use", []string{"--listen", "127.0.0.1:0", "--metrics-addr", busy.Addr().String()}, 1, "", "redlock-proxy: --metrics-addr: listen tcp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := command(t.Context(), tt.args...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if code := exitCode(t, cmd.Run()); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for name, s := range map[string][2]string{"stdout": {stdout.String(), tt.stdout}, "stderr": {stderr.String(), tt.stderr}} {
				if !strings.HasPrefix(s[0], s[1]) || (s[0] == "") != (s[1] == "") {
					t.Errorf("%s: got\n%s\nwant %q…", name, s[0], s[1])
				}
			}
		})
	}
}

func freeListener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// serving starts the proxy on a free port and returns its address once it has
// announced it.
func serving(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := command(ctx, append(args, "--listen=127.0.0.1:0")...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if address, found := strings.CutPrefix(lines.Text(), "  listening "); found {
			go io.Copy(io.Discard, log)
			address, _, _ = strings.Cut(address, ",")
			return cmd, address
		}
	}
	t.Fatal("the proxy did not say where it listens")
	return nil, ""
}

func TestServesUntilSIGTERM(t *testing.T) {
	cmd, address := serving(t)
	if out, err := command(t.Context(), "REDLOCK_ADDRESS="+address, "healthcheck").CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v\n%s", err, out)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	for _, want := range []string{"+OK\r\n", "$-1\r\n"} {
		io.WriteString(conn, "SET my-lock token NX PX 30000\r\n")
		if got, err := replies.ReadString('\n'); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestHealthcheckLogsIn(t *testing.T) {
	cmd, address := serving(t, "REDLOCK_REQUIREPASS=secret")
	defer cmd.Process.Kill()
	tests := []struct {
		password string
		code     int
	}{{"secret", 0}, {"wrong", 1}}
	for _, tt := range tests {
		err := command(t.Context(), "REDLOCK_REQUIREPASS="+tt.password, "REDLOCK_LISTEN="+address, "healthcheck").Run()
		if code := exitCode(t, err); code != tt.code {
			t.Errorf("password %s: exit code %d, want %d", tt.password, code, tt.code)
		}
	}
}

// TestASecondSignalEndsTheDrain, which would take an hour.
func TestASecondSignalEndsTheDrain(t *testing.T) {
	cmd, address := serving(t, "REDLOCK_DRAIN_TIME=1h")
	cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 10 { // it goes on
		if out, err := command(t.Context(), "REDLOCK_ADDRESS="+address, "healthcheck").CombinedOutput(); err != nil {
			t.Fatalf("while it drains: %v\n%s", err, out)
		}
	}
	for { // the first signal may not have been taken yet
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err == nil {
				t.Error("exit code 0, though the drain was cut short")
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
