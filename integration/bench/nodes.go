package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

const (
	nodeCount = 3
	startNode = 30 * time.Second

	zooKeeperJar = "/usr/share/java/zookeeper.jar" // Debian: libzookeeper-java
)

// cluster is the nodes of another store.
type cluster struct {
	nodes []*harness.Process
	addrs []string // where clients connect
}

func (c *cluster) close() {
	for _, n := range c.nodes {
		n.Kill()
	}
}

// cpu is the processor time of all nodes.
func (c *cluster) cpu() (sum time.Duration, err error) {
	for _, n := range c.nodes {
		cpu, err := n.CPU()
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// start starts a node. Its clients connect to addr.
func (c *cluster) start(addr, program string, args ...string) error {
	p, err := harness.Start(program, args)
	if err == nil {
		c.nodes, c.addrs = append(c.nodes, p), append(c.addrs, addr)
	}
	return err
}

// waitUp waits until every node serves clients as probe sees it.
func (c *cluster) waitUp(probe func(addr string) error) error {
	for i, addr := range c.addrs {
		err := harness.Eventually(startNode, func() error {
			if !c.nodes[i].Alive() {
				return harness.ErrEnded
			}
			return probe(addr)
		})
		if err != nil {
			return fmt.Errorf("node at %s: %w\n%s", addr, err, c.nodes[i].Log())
		}
	}
	return nil
}

// freeAddrs are n addresses that nobody listens on.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		port, err := harness.FreePort()
		if err != nil {
			return nil, err
		}
		addrs[i] = harness.LocalAddr(port)
	}
	return addrs, nil
}

// startEtcd starts nodes that keep their data in dir.
func startEtcd(dir string) (*cluster, error) {
	clients, err := freeAddrs(nodeCount)
	if err != nil {
		return nil, err
	}
	peers, err := freeAddrs(nodeCount)
	if err != nil {
		return nil, err
	}
	members := make([]string, nodeCount)
	for i, p := range peers {
		members[i] = fmt.Sprintf("node%d=http://%s", i, p)
	}
	c := &cluster{}
	for i := range nodeCount {
		client, peer := "http://"+clients[i], "http://"+peers[i]
		err = errors.Join(err, c.start(clients[i], "etcd", "--name", fmt.Sprintf("node%d", i),
			"--data-dir", filepath.Join(dir, fmt.Sprintf("etcd%d", i)),
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--log-level", "error"))
	}
	if err == nil {
		err = c.waitUp(etcdServes)
	}
	if err != nil {
		c.close()
	}
	return c, err
}

// startZooKeeper starts nodes that keep their data in dir.
func startZooKeeper(dir string) (*cluster, error) {
	addrs, err := freeAddrs(3 * nodeCount)
	if err != nil {
		return nil, err
	}
	members := ""
	for i := range nodeCount {
		_, election, _ := net.SplitHostPort(addrs[3*i+2])
		members += fmt.Sprintf("server.%d=%s:%s\n", i+1, addrs[3*i+1], election)
	}
	c := &cluster{}
	for i := range nodeCount {
		config, failed := zooKeeperConfig(filepath.Join(dir, fmt.Sprintf("zookeeper%d", i)), i+1, addrs[3*i], members)
		if failed == nil {
			failed = c.start(addrs[3*i], "java", "-Xmx256m", "-XX:TieredStopAtLevel=4", "-cp", zooKeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
		}
		err = errors.Join(err, failed)
	}
	if err == nil {
		err = c.waitUp(zooKeeperServes)
	}
	if err != nil {
		c.close()
	}
	return c, err
}

// zooKeeperConfig writes the files of one node and returns the path of its
// configuration.
func zooKeeperConfig(dir string, id int, addr, members string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("tickTime=2000\ninitLimit=10\nsyncLimit=5\nmaxClientCnxns=0\nadmin.enableServer=false\n"+
		"4lw.commands.whitelist=srvr\ndataDir=%s\nclientPortAddress=%s\nclientPort=%s\n%s", dir, host, port, members)
	config := filepath.Join(dir, "zoo.cfg")
	return config, errors.Join(os.WriteFile(filepath.Join(dir, "myid"), fmt.Appendln(nil, id), 0o600), os.WriteFile(config, []byte(text), 0o600))
}

// missing says what another store needs that this machine lacks.
func missing() []string {
	var lacks []string
	if _, err := exec.LookPath("etcd"); err != nil {
		lacks = append(lacks, "etcd (Debian: etcd-server)")
	}
	if _, err := exec.LookPath("java"); err != nil {
		lacks = append(lacks, "java (Debian: default-jre-headless)")
	}
	if _, err := os.Stat(zooKeeperJar); err != nil {
		lacks = append(lacks, "ZooKeeper (Debian: libzookeeper-java)")
	}
	return lacks
}
