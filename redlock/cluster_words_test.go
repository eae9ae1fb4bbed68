package redlock

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestAnswersOfAClusterAreFailedVotes: a node without slots says CLUSTERDOWN,
// one that sent them elsewhere MOVED or ASK. They are no votes, they are counted
// by that name, and the connection is verified anew (pitfall 9).
func TestAnswersOfAClusterAreFailedVotes(t *testing.T) {
	node, _ := startClusterNode(t)
	other, bus := startClusterNode(t)
	set := &Call{Table: &Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, Value: []byte("v"), TTL: 9000}}}
	release := &Call{Table: &Swap{Key: []byte("k"), HasToken: true, Token: []byte("v"), Mine: Leaf{Effect: Delete}}}
	check := func(want string) {
		t.Helper()
		c := node.client()
		for name, d := range dialects(t, c) {
			for _, call := range []*Call{set, release} {
				a, _ := exchange(t, c, d, call)
				if a.Status != Failed || a.Votes || a.Reason != want || label(&a) != want || !endsVerification(a.Reason) {
					t.Errorf("%s: got %+v, counted as %q, want %s", name, a, label(&a), want)
				}
			}
		}
	}
	check("CLUSTERDOWN")

	host, port, _ := net.SplitHostPort(other.addr)
	node.must("CLUSTER MEET " + host + " " + port + " " + bus)
	name := func(s *testServer) string {
		id, err := do(t, s.client(), "CLUSTER", "MYID").ToString()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	other.must("CLUSTER ADDSLOTSRANGE 0 16383")
	for _, s := range []*testServer{node, other} {
		c := s.client()
		await(t, "the node believes in the cluster", func() bool {
			info, _ := do(t, c, "CLUSTER", "INFO").ToString()
			return strings.Contains(info, "cluster_state:ok")
		})
	}
	check("MOVED")

	slot, err := do(t, node.client(), "CLUSTER", "KEYSLOT", "k").AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.FormatInt(slot, 10)
	other.must("CLUSTER SETSLOT " + at + " MIGRATING " + name(node))
	node = other
	check("ASK")
}

// startClusterNode also returns the port at which other nodes meet it.
func startClusterNode(t *testing.T) (s *testServer, bus string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the default, port + 10000, may not exist
	if err != nil {
		t.Fatal(err)
	}
	_, bus, _ = net.SplitHostPort(ln.Addr().String())
	ln.Close()
	return startServer(t, "--cluster-enabled", "yes", "--cluster-port", bus), bus
}
