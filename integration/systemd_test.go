package integration

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// manager is the socket on which systemd listens to its services.
type manager struct {
	*net.UnixConn
	path string
}

func listenAsSystemd(t *testing.T) manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return manager{conn, path}
}

// wait reads messages until there is one that has all of these in it, which it
// returns. Until then none may have what is unwanted.
func (m manager) wait(t *testing.T, unwanted string, wanted ...string) string {
	t.Helper()
	m.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 4096)
	for seen := ""; ; {
		n, err := m.Read(buf)
		if err != nil {
			t.Fatalf("no message with %q: %v; got\n%s", wanted, err, seen)
		}
		message := string(buf[:n])
		seen += message + "\n"
		if unwanted != "" && strings.Contains(message, unwanted) {
			t.Fatalf("got %q too early", message)
		}
		if hasAll(message, wanted) {
			return message
		}
	}
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestSystemdIsToldHowTheProxyIs: ready when it listens, though no quorum is
// there; then what changes; that it is alive; that it ends.
func TestSystemdIsToldHowTheProxyIs(t *testing.T) {
	m := startMasters(t, 3)
	m[2].Kill()
	sd := listenAsSystemd(t)
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	p, err := harness.Start(binary,
		[]string{"--listen", harness.LocalAddr(port), "--masters", strings.Join(m.addrs(), ","), "--drain-time", "1s"},
		"NOTIFY_SOCKET="+sd.path, fmt.Sprint("WATCHDOG_USEC=", (200*time.Millisecond).Microseconds()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	first := sd.wait(t, "STOPPING", "READY=1\n", "STATUS=no locks can be had: 0 of 3 masters vote, 2 needed")
	if got := do(t, harness.LocalAddr(port), "PING"); got != "+PONG" {
		t.Errorf("it is said to be ready and answers PING with %s", got)
	}
	if !strings.Contains(first, m[2].Addr()+" down") { // it was not known yet
		sd.wait(t, "STOPPING", "STATUS=no locks can be had: ", m[2].Addr()+" down")
	}
	if err := m[2].Start(); err != nil {
		t.Fatal(err)
	}
	sd.wait(t, "STOPPING", "STATUS=serving: 3 of 3 masters vote, 2 needed")
	m[0].Kill()
	sd.wait(t, "STOPPING", "STATUS=serving: 2 of 3 masters vote, 2 needed; "+m[0].Addr())
	for range 3 {
		sd.wait(t, "STOPPING", "WATCHDOG=1")
	}
	p.Signal(syscall.SIGTERM)
	sd.wait(t, "", "STOPPING=1\n", "STATUS=draining until ")
	sd.wait(t, "", "WATCHDOG=1") // a drain is no reason to be killed
	if code, err := p.Wait(10 * time.Second); err != nil || code != 0 {
		t.Errorf("exit code %d, error %v, want 0\n%s", code, err, p.Log())
	}
}
