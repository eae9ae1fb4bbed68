package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openCluster is a proxy's view of the servers, until the test ends.
func openCluster(t *testing.T, servers ...*testServer) *Cluster {
	t.Helper()
	return openClusterWith(t, 250*time.Millisecond, servers...)
}

// openClusterWith is openCluster with another op timeout.
func openClusterWith(t *testing.T, opTimeout time.Duration, servers ...*testServer) *Cluster {
	t.Helper()
	cfg := ClusterConfig{OpTimeout: opTimeout, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, s := range servers {
		cfg.Masters = append(cfg.Masters, MasterAddr{Address: s.addr})
	}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func startServers(t *testing.T, n int, args ...string) []*testServer {
	t.Helper()
	servers := make([]*testServer, n)
	for i := range servers {
		servers[i] = startServer(t, args...)
	}
	return servers
}

// voters are the numbers of the masters that vote in database 0, and the first
// reason of one that does not.
func voters(c *Cluster) (numbers, reason string) {
	for i, m := range c.Report() {
		if m.Votes {
			numbers += fmt.Sprint(i + 1)
		} else if reason == "" {
			reason = m.Reason
		}
	}
	return numbers, reason
}

func awaitVoters(t *testing.T, c *Cluster, want, reason string) {
	t.Helper()
	var got, why string
	defer func() {
		if got != want {
			t.Logf("%q vote: %s", got, why)
		}
	}()
	await(t, fmt.Sprintf("%q vote, the others not: %s", want, reason), func() bool {
		got, why = voters(c)
		return got == want && strings.Contains(why, reason)
	})
}

// decideOn runs one swap in database 0 to its end.
func decideOn(t *testing.T, c *Cluster, s Swap) Outcome {
	t.Helper()
	q, err := c.DB(0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 8)
	op := &Op{Swap: s, Done: func(*Op) { done <- struct{}{} }}
	q.Start(op, 0)
	for {
		<-done
		if q.Claim(op) {
			out := op.Outcome
			q.Settle(op)
			return out
		}
	}
}

func lockSwap(key, token string) Swap {
	return Swap{Key: []byte(key), Absent: Leaf{Effect: Set, Value: []byte(token), TTL: 30_000}}
}

func unlockSwap(key, token string) Swap {
	return Swap{Key: []byte(key), Token: []byte(token), HasToken: true, Mine: Leaf{Effect: Delete}}
}

// mustCycle acquires and releases a lock.
func mustCycle(t *testing.T, c *Cluster) {
	t.Helper()
	key := fmt.Sprint("lock-", rand.Uint64())
	if out := decideOn(t, c, lockSwap(key, "token")); out.Err != nil || !out.Applied {
		t.Errorf("acquire: %+v", out)
	}
	if out := decideOn(t, c, lockSwap(key, "other")); out.Err != nil || out.Applied {
		t.Errorf("acquire of a held lock: %+v", out)
	}
	if out := decideOn(t, c, unlockSwap(key, "token")); out.Err != nil || !out.Applied {
		t.Errorf("release: %+v", out)
	}
}

func TestThreeEmptyMastersStartByThemselves(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	mustCycle(t, c)
	r := c.Report()[0]
	if r.State != "votes" || !strings.HasPrefix(r.Server, "Redis ") || len(r.RunID) != 40 || r.Latency <= 0 || r.Name != servers[0].addr {
		t.Errorf("report: %+v", r)
	}
	again := openCluster(t, servers...)
	awaitVoters(t, again, "123", "")
	mustCycle(t, again)
}

func TestFiveProxiesStartingAtOnceAgree(t *testing.T) {
	servers := startServers(t, 3)
	var clusters []*Cluster
	for range 5 {
		clusters = append(clusters, openCluster(t, servers...))
	}
	for _, c := range clusters {
		awaitVoters(t, c, "123", "")
		mustCycle(t, c)
	}
}

func TestMastersWithDataWaitForAnOperator(t *testing.T) {
	servers := startServers(t, 3)
	servers[1].must("SET somebody here")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "", "holds 1 keys already: REDLOCK ADMIT ALL")
	if _, err := c.Admit(context.Background(), "nobody:1"); err == nil || !strings.Contains(err.Error(), servers[0].addr) {
		t.Errorf("unknown master: %v", err)
	}
	lines, err := c.Admit(context.Background(), "ALL")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], "is admitted and votes") {
		t.Errorf("got %q, %v", lines, err)
	}
	mustCycle(t, c)
}

func TestMasterThatPersistsEveryWriteIsAdmittedAgain(t *testing.T) {
	servers := startServers(t, 3, "--appendonly", "yes", "--appendfsync", "always")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	for _, s := range servers {
		run := c.Report()[0].RunID
		s.kill()
		s.start()
		awaitVoters(t, c, "123", "")
		if s == servers[0] && c.Report()[0].RunID == run {
			t.Error("the restart went unnoticed")
		}
		mustCycle(t, c)
	}
}

func TestServersThatAreNoMasterOfOursAreNamed(t *testing.T) {
	good := startServers(t, 2)
	tests := []struct {
		name, want string
		bad        func() *testServer
	}{
		{"replica", `its role is "slave"`, func() *testServer {
			s := startServer(t)
			s.must("REPLICAOF 127.0.0.1 1")
			return s
		}},
		{"cluster node", "cluster node", func() *testServer { return startServer(t, "--cluster-enabled", "yes") }},
		{"the same server twice", "same server as", func() *testServer {
			return &testServer{t: t, addr: strings.Replace(good[0].addr, "127.0.0.1", "localhost", 1)}
		}},
		{"password missing", "NOAUTH", func() *testServer { return startServer(t, "--requirepass", "secret") }},
		{"nobody there", "refused", func() *testServer {
			s := startServer(t)
			s.kill()
			return s
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.bad()
			c := openCluster(t, good[0], good[1], s)
			await(t, tt.want, func() bool { return strings.Contains(c.Report()[2].Reason, tt.want) })
		})
	}
}

func TestMasterWithUserAndPassword(t *testing.T) {
	s := startServer(t, "--user", "proxy", "on", ">secret", "~*", "+@all", "--user", "default", "off")
	for _, tt := range []struct{ password, votes, reason string }{{"secret", "1", ""}, {"wrong", "", "refuses the user or password"}} {
		c, err := Open(ClusterConfig{Masters: []MasterAddr{{Address: s.addr, Username: "proxy", Password: tt.password}}})
		if err != nil {
			t.Fatal(err)
		}
		awaitVoters(t, c, tt.votes, tt.reason)
		c.Close()
	}
}

func TestMasterThatForbidsLookingAround(t *testing.T) {
	s := startServer(t, "--rename-command", "CONFIG", "", "--rename-command", "CLIENT", "")
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	mustCycle(t, c)
}

func TestForgottenScriptIsLoadedAgain(t *testing.T) {
	s := startServer(t)
	c := openCluster(t, s)
	awaitVoters(t, c, "1", "")
	s.must("SCRIPT FLUSH")
	await(t, "the script is loaded again", func() bool { return decideOn(t, c, unlockSwap("k", "t")).Err == nil })
	mustCycle(t, c)
}

func TestDemotedMasterDoesNotVote(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	servers[0].must("REPLICAOF 127.0.0.1 1")
	mustCycle(t, c)
	awaitVoters(t, c, "23", "slave")
}

func TestStoppedMasterDelaysNobodyAndComesBack(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	servers[0].signal(syscall.SIGSTOP)
	stopped := time.Now()
	for range 50 {
		before := time.Now()
		mustCycle(t, c)
		if took := time.Since(before); took > 150*time.Millisecond {
			t.Errorf("three operations took %v", took)
		}
	}
	awaitVoters(t, c, "23", "")
	if took := time.Since(stopped); took > 2*time.Second {
		t.Errorf("noticed after %v", took)
	}
	mustCycle(t, c)
	servers[0].signal(syscall.SIGCONT)
	awaitVoters(t, c, "123", "")
	mustCycle(t, c)
	await(t, "the old connection is gone", func() bool {
		list, _ := do(t, servers[0].client(), "CLIENT", "LIST").ToString()
		return strings.Count(list, "name=redlock-proxy") == 1
	})
}

func TestRestartFasterThanAnyHealthCheck(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	stop := make(chan struct{})
	var load sync.WaitGroup
	for i := range 8 {
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					decideOn(t, c, lockSwap(fmt.Sprintf("load-%d-%d", i, n), "t"))
				}
			}
		})
	}
	servers[1].kill()
	servers[1].start()
	awaitVoters(t, c, "13", "restarted without its data")
	close(stop)
	load.Wait()
}

func TestEveryCallIsDeliveredWhenEverythingGoes(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	q, _ := c.DB(0)
	for _, s := range servers {
		s.signal(syscall.SIGSTOP)
	}
	var done sync.WaitGroup
	for i := range 5000 {
		done.Add(1)
		q.Start(&Op{Swap: lockSwap(fmt.Sprint(i), "t"), Done: func(*Op) { done.Done() }}, 0)
	}
	done.Wait()
	for _, s := range servers {
		s.kill()
	}
	await(t, "all queues are empty", func() bool {
		for _, m := range c.Report() {
			if m.Queue > 0 || m.State != "down" {
				return false
			}
		}
		return true
	})
}

func TestDatabasesAreApart(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	if _, err := c.DB(16); err == nil {
		t.Error("DB 16 exists")
	}
	if _, err := c.DB(-1); err == nil {
		t.Error("DB -1 exists")
	}
	q, err := c.DB(3)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "database 3 has a quorum", q.Ready)
	done := make(chan struct{}, 1)
	op := &Op{Swap: lockSwap("k", "t"), Done: func(*Op) { done <- struct{}{} }}
	q.Start(op, 0)
	<-done
	if !op.Outcome.Applied || !q.Claim(op) {
		t.Errorf("acquire in database 3: %+v", op.Outcome)
	}
	q.Settle(op)
	if out := decideOn(t, c, lockSwap("k", "other")); !out.Applied {
		t.Errorf("the lock of database 3 is seen in database 0: %+v", out)
	}
}

func TestEmbeddedMasters(t *testing.T) {
	c := openCluster(t)
	if got, _ := voters(c); got != "12345" {
		t.Errorf("%q vote, want five", got)
	}
	mustCycle(t, c)
	decideOn(t, c, lockSwap("k", "t"))
	if out := decideOn(t, c, Swap{Key: []byte("k"), Other: Leaf{Effect: Delete}, Wrong: Leaf{Effect: Delete}}); !out.Applied {
		t.Errorf("DEL: %+v", out)
	}
	if _, err := c.Admit(context.Background(), "ALL"); err == nil {
		t.Error("embedded masters were admitted")
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	servers := startServers(t, 3)
	before := runtime.NumGoroutine()
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	q, _ := c.DB(1)
	await(t, "database 1 has a quorum", q.Ready)
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > time.Second {
		t.Errorf("closing took %v", took)
	}
	if _, err := c.DB(2); err == nil {
		t.Error("a database was opened after Close")
	}
	await(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestMasterListedTwiceIsRefused(t *testing.T) {
	if _, err := Open(ClusterConfig{Masters: []MasterAddr{{Address: "a:1"}, {Address: "a:1"}}}); err == nil {
		t.Error("no error")
	}
}
