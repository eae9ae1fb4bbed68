package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Namespace is a network of its own for one program, joined to this machine by
// one cable. It takes root, ip and iptables.
type Namespace struct {
	name   string
	Host   string // address of this machine on the cable
	Inside string // address of the program
}

// namespacePrefix begins the names of namespaces; the number of the process
// that made them follows.
const namespacePrefix = "redlock-test-"

// NoNamespaces tells why this machine cannot have namespaces, empty if it can.
func NoNamespaces() string {
	if os.Geteuid() != 0 {
		return "network namespaces take root"
	}
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	n, err := NewNamespace()
	if err != nil {
		return err.Error()
	}
	defer n.Remove()
	if err := errors.Join(n.Drop(1), n.Heal()); err != nil {
		return err.Error()
	}
	return ""
}

// NewNamespace makes a namespace and its cable.
func NewNamespace() (*Namespace, error) {
	number := rand.IntN(1 << 16)
	network := fmt.Sprintf("10.%d.%d.", 64+number>>8&63, number&255)
	n := &Namespace{name: fmt.Sprintf("%s%d-%x", namespacePrefix, os.Getpid(), number), Host: network + "1", Inside: network + "2"}
	outer, inner := fmt.Sprintf("rlt%xo", number), fmt.Sprintf("rlt%xi", number)
	err := commands(
		"ip netns add "+n.name,
		"ip link add "+outer+" type veth peer name "+inner+" netns "+n.name,
		"ip addr add "+n.Host+"/30 dev "+outer,
		"ip link set "+outer+" up",
		"ip -n "+n.name+" addr add "+n.Inside+"/30 dev "+inner,
		"ip -n "+n.name+" link set "+inner+" up",
		"ip -n "+n.name+" link set lo up",
	)
	if err != nil {
		n.Remove()
		return nil, err
	}
	return n, nil
}

// Command is how a program is started inside.
func (n *Namespace) Command(program string, args ...string) (string, []string) {
	return "ip", append([]string{"netns", "exec", n.name, program}, args...)
}

// Drop loses all packets between the program and a TCP port of this machine.
func (n *Namespace) Drop(port int) error {
	p := strconv.Itoa(port)
	return n.iptables("-A OUTPUT -p tcp --dport "+p+" -j DROP", "-A INPUT -p tcp --sport "+p+" -j DROP")
}

// Heal ends all Drops.
func (n *Namespace) Heal() error { return n.iptables("-F") }

func (n *Namespace) iptables(rules ...string) error {
	for i, rule := range rules {
		rules[i] = "ip netns exec " + n.name + " iptables -w " + rule
	}
	return commands(rules...)
}

// Remove removes the namespace, and its cable with it.
func (n *Namespace) Remove() error { return commands("ip netns delete " + n.name) }

// RemoveStaleNamespaces removes what processes left behind that are gone.
func RemoveStaleNamespaces() error {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, namespacePrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if _, err := os.Stat("/proc/" + pid); ours && os.IsNotExist(err) {
			if err := commands("ip netns delete " + name); err != nil {
				return err
			}
		}
	}
	return nil
}

func commands(lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
