package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPacketsThatVanish to and from one master, by a firewall: noticed in less
// than two seconds, nobody waits for it meanwhile, nothing piles up, and when
// they pass again it votes again by itself (pitfall 37).
func TestPacketsThatVanish(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	m := startMasters(t, 3)
	p := startProxy(t, m)
	ph := phases{load: startLoad(t, p.Addr, 8, nothingElse)}
	time.Sleep(100 * time.Millisecond)
	before := footprintOf(t, p)
	for range 2 {
		ph.during(700*time.Millisecond, &ph.well)
		vanish := fmt.Sprintf("INPUT -p tcp --dport %d -j DROP", m[2].Port)
		firewall(t, "-A "+vanish)
		began := time.Now()
		waitVotes(t, p, m[2].Addr(), 0, 2*time.Second)
		t.Logf("noticed after %v", time.Since(began))
		ph.during(700*time.Millisecond, &ph.ill)
		before.checkBounded(t, p, 0)
		firewall(t, "-D "+vanish)
		waitVotes(t, p, m[2].Addr(), 1, 2*soon)
	}
	ph.load.finish(t)
	ph.check(t)
	m[0].Kill() // now the healed one is needed
	c := dial(t, p.Addr)
	expect(t, c, "+OK", acquire("k", "t", lockTTL)...)
	expect(t, c, ":1", release("k", "t")...)
}

// inOwnNetwork runs the calling test once more, alone, in a network namespace
// of its own, with a loopback interface and nothing else, and tells whether this
// is that run. So the test can break its network as it likes.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	const inside = "TEST_IN_OWN_NETWORK"
	if os.Getenv(inside) != "" {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("ip link set lo up: %v\n%s", err, out)
		}
		return true
	}
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program)
		}
	}
	if os.Getuid() != 0 {
		missing(t, "root's right to make a network namespace")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1", "TEST_PROXY_BINARY="+binary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("it did not pass there: %v", err)
	}
	return false
}

// firewall changes the rules of this network namespace.
func firewall(t *testing.T, rule string) {
	t.Helper()
	if out, err := exec.Command("iptables", append([]string{"-w"}, strings.Fields(rule)...)...).CombinedOutput(); err != nil {
		t.Fatalf("iptables %s: %v\n%s", rule, err, out)
	}
}
