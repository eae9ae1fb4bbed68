package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redlock-proxy/integration/internal/harness"
)

// allowFiles sets the limit of open files of a process that runs.
func allowFiles(t *testing.T, pid int, n uint64) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	was.Cur = n
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		t.Fatal(err)
	}
}

// filesOf counts the open files of a process.
func filesOf(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestTooManyOpenFiles: those who are connected are served as ever, the
// processor is left alone, the log says it once, and others are accepted as
// soon as they can be.
func TestTooManyOpenFiles(t *testing.T) {
	p := startProxy(t, startMasters(t, 3))
	inside := dial(t, p.Addr)
	expect(t, inside, "+PONG", "PING")
	var others []*harness.Conn
	for range 5 {
		c := dial(t, p.Addr)
		expect(t, c, "+PONG", "PING")
		others = append(others, c)
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(p.PID(), unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	allowFiles(t, p.PID(), uint64(filesOf(t, p.PID())))
	var outside []*harness.Conn
	for range 50 { // the kernel connects them, the proxy cannot accept them
		outside = append(outside, dial(t, p.Addr))
	}
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	const watched = 2 * time.Second
	for end := time.Now().Add(watched); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		expect(t, inside, "+OK", acquire("files", "t", lockTTL)...)
		expect(t, inside, ":1", release("files", "t")...)
	}
	if after, err := p.CPU(); err != nil || after-before > watched/4 {
		t.Errorf("the proxy used %v of CPU in %v, %v", after-before, watched, err)
	}
	if n := strings.Count(p.Log(), "cannot accept connections"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, tail(p.Log(), 10))
	}
	for _, c := range others { // room for five more
		c.Close()
	}
	for _, c := range outside[:5] {
		expect(t, c, "+PONG", "PING")
	}
	allowFiles(t, p.PID(), limit.Cur)
	for _, c := range outside[5:] {
		expect(t, c, "+PONG", "PING")
	}
	if n, err := p.Metric("redlock_proxy_accept_errors_total"); err != nil || n < 1 || n > 100 {
		t.Errorf("%v errors, %v, want a few", n, err)
	}
}

// TestClientsLeaveFilesForTheMasters: with few files allowed from the start,
// those who are too many are told so, and the masters can still be reached anew.
func TestClientsLeaveFilesForTheMasters(t *testing.T) {
	m := startMasters(t, 3)
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	addr := harness.LocalAddr(port)
	p, err := harness.StartProxyAs(addr, "", "/bin/sh", "-c",
		`ulimit -n 150; exec "$0" "$@"`, binary, "--listen", addr, "--masters", strings.Join(m.addrs(), ","))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if !strings.Contains(p.Log(), "maxclients=86 open_files=150") {
		t.Errorf("the log does not tell of the limit:\n%s", p.Log())
	}
	var inside []*harness.Conn
	refused := 0
	for range 200 {
		c := dial(t, p.Addr)
		switch got, _ := c.Do("PING"); got {
		case "+PONG":
			inside = append(inside, c)
		case "-ERR max number of clients reached":
			refused++
		default:
			t.Fatalf("PING: %q", got)
		}
	}
	if len(inside) < 80 || len(inside) > 86 || len(inside)+refused != 200 {
		t.Errorf("%d served, %d turned away, want 86 and the rest", len(inside), refused)
	}
	for _, r := range m[:2] { // a majority goes and comes back
		if err := r.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 30*time.Second, func() error {
		got, err := inside[0].Do(acquire("files", "t", lockTTL)...)
		if err == nil && got != "+OK" {
			err = fmt.Errorf("acquire: %s", got)
		}
		return err
	})
}
