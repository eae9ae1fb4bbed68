package redlock

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// testServer is a real redis-server of one test.
type testServer struct {
	t    *testing.T
	addr string
	args []string
	cmd  *exec.Cmd
}

// startServer runs a redis-server on a free port until the test ends. The
// arguments come after those that switch persistence off.
func startServer(t *testing.T, args ...string) *testServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	_, port, _ := net.SplitHostPort(addr)
	s := &testServer{t: t, addr: addr}
	s.args = append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
		"--dir", t.TempDir(), "--loglevel", "warning"}, args...)
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *testServer) start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", s.args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("these tests need redis-server on the PATH: %v", err)
	}
	s.await(func() bool {
		return strings.HasPrefix(s.try("PING"), "+PONG") || strings.HasPrefix(s.try("PING"), "-NOAUTH")
	})
}

func (s *testServer) await(ready func() bool) {
	s.t.Helper()
	await(s.t, "redis-server "+s.addr, ready)
}

// await polls until a condition holds, for at most ten seconds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited ten seconds in vain: %s", what)
		}
	}
}

// kill ends the server without a chance to save anything.
func (s *testServer) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

// terminate lets the server write its files.
func (s *testServer) terminate() {
	s.signal(syscall.SIGTERM)
	s.cmd.Wait()
	s.cmd = nil
}

func (s *testServer) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// try sends an inline command on a connection of its own and returns the first
// line of the reply, or an empty one.
func (s *testServer) try(command string) string {
	conn, err := net.DialTimeout("tcp", s.addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "%s\r\n", command)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

// must is try for a command that has to succeed.
func (s *testServer) must(command string) string {
	s.t.Helper()
	line := s.try(command)
	if line == "" || line[0] == '-' {
		s.t.Fatalf("%s on %s: got %q", command, s.addr, line)
	}
	return line
}

// client is a plain rueidis client of the server.
func (s *testServer) client() rueidis.Client {
	s.t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.addr}, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true, DisableRetry: true,
		Dialer: net.Dialer{Timeout: time.Second},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

func do(t *testing.T, c rueidis.Client, args ...string) rueidis.RedisResult {
	t.Helper()
	r := c.Do(context.Background(), c.B().Arbitrary(args...).Build())
	if err := r.NonRedisError(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return r
}
