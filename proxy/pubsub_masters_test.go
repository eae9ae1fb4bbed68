package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// Scripts that publish, after what the libraries do: Spring Integration's
// release in pub/sub mode, and simple-redis-mutex's.
const (
	springRelease = `EVAL "if redis.call('GET', KEYS[1]) == ARGV[1] then if redis.call('UNLINK', KEYS[1]) == 1 then ` +
		`redis.call('PUBLISH', ARGV[2], KEYS[1]) return 1 end end return nil" 1 reg:lock token reg-channel:reg:lock`
	mutexRelease = `EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], ARGV[1]) end" 2 lock channel token`
)

// pmessage is a message as a RESP2 subscriber to a pattern gets it.
func pmessage(pattern, channel, payload string) string {
	return fmt.Sprintf("*4\r\n$8\r\npmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(pattern), pattern, len(channel), channel, len(payload), payload)
}

// twoProxies are on the same masters.
func twoProxies(t *testing.T, masters []redlock.MasterAddr) (a, b string) {
	t.Helper()
	t.Cleanup(func() { checkGoroutines(t) })
	var addrs []string
	for range 2 {
		quiet := slog.New(slog.DiscardHandler)
		cluster, err := redlock.Open(redlock.ClusterConfig{Masters: masters, OpTimeout: 500 * time.Millisecond, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		s, err := NewServer(Config{Logger: quiet, Locks: cluster, OpTimeout: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		q, _ := cluster.DB(0)
		eventually(t, "a quorum votes", q.Ready)
		addrs = append(addrs, start(t, s))
	}
	return addrs[0], addrs[1]
}

func threeServers(t *testing.T) (masters []redlock.MasterAddr) {
	t.Helper()
	for range 3 {
		masters = append(masters, redlock.MasterAddr{Address: startRedis(t)})
	}
	return masters
}

// onAll waits until all masters answer so. A subscription is acknowledged when a
// quorum has it; what the last master sends first may be passed on twice.
func onAll(t *testing.T, masters []redlock.MasterAddr, line, want string) {
	t.Helper()
	for _, m := range masters {
		c := talk(t, m.Address)
		eventually(t, line+" on all masters", func() bool { return c.say(line) == want })
	}
}

func TestAReleaseWakesWhoWaitsAtAnotherProxy(t *testing.T) {
	masters := threeServers(t)
	a, b := twoProxies(t, masters)
	ear := talk(t, a, "PSUBSCRIBE reg-channel:*", "PSUBSCRIBE cha*")
	onAll(t, masters, "PUBSUB NUMPAT", ":2\r\n")
	waiter, holder := talk(t, a), talk(t, b)
	for i := range 20 {
		token := fmt.Sprint("token-", i)
		acquire := "SET reg:lock " + token + " NX PX 30000"
		if got := holder.say(acquire); got != "+OK\r\n" {
			t.Fatalf("acquire: %q", got)
		}
		waiting := "SET reg:lock waiter-" + token + " NX PX 30000"
		if got := waiter.say(waiting); got != "$-1\r\n" {
			t.Fatalf("acquire of a held lock: %q", got)
		}
		if got := holder.say(strings.Replace(springRelease, " token ", " other ", 1)); got != "$-1\r\n" {
			t.Fatalf("release with another token: %q", got)
		}
		if got := holder.say(strings.Replace(springRelease, " token ", " "+token+" ", 1)); got != ":1\r\n" {
			t.Fatalf("release: %q", got)
		}
		if got, want := ear.read(), pmessage("reg-channel:*", "reg-channel:reg:lock", "reg:lock"); got != want {
			t.Fatalf("message %d: %q, want %q", i, got, want)
		}
		// Whoever is woken up finds the lock free.
		if got := waiter.say(waiting); got != "+OK\r\n" {
			t.Fatalf("acquire after the message: %q", got)
		}
		holder, waiter = waiter, holder
		holder.say("DEL reg:lock")
	}
	holder.say("SET lock token NX PX 30000")
	if got := holder.say(mutexRelease); got != "$-1\r\n" {
		t.Errorf("release: %q", got)
	}
	if got, want := ear.read(), pmessage("cha*", "channel", "token"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ear.rest(); got != "" {
		t.Errorf("%q more", got)
	}
}

func TestMessagesPassBetweenProxies(t *testing.T) {
	masters := threeServers(t)
	a, b := twoProxies(t, masters)
	ear, mouth := talk(t, a, "HELLO 3", "SUBSCRIBE jobs"), talk(t, b)
	onAll(t, masters, "PUBSUB NUMSUB jobs", "*2\r\n$4\r\njobs\r\n:1\r\n")
	by := func(addr, line string) (*talker, string) { return talk(t, addr), line }
	for _, say := range []func() (*talker, string){
		func() (*talker, string) { return mouth, "PUBLISH jobs x" },
		func() (*talker, string) { return by(a, "PUBLISH jobs x") },
		func() (*talker, string) { return by(masters[2].Address, "PUBLISH jobs x") },
		func() (*talker, string) { return mouth, `EVAL "return redis.call('publish', 'jobs', 'x')" 0` },
	} {
		c, line := say()
		if got := c.say(line); got != ":1\r\n" && got != ":0\r\n" {
			t.Errorf("%s: %q", line, got)
		}
		if got, want := ear.read(), ">3\r\n$7\r\nmessage\r\n$4\r\njobs\r\n$1\r\nx\r\n"; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for _, line := range []string{"MULTI", "PUBLISH jobs y", "EXEC"} {
		mouth.send(line)
	}
	if got := mouth.read() + mouth.read() + mouth.read(); got != "+OK\r\n+QUEUED\r\n*1\r\n:0\r\n" {
		t.Errorf("a transaction: %q", got)
	}
	if got := ear.read(); !strings.HasSuffix(got, "\r\ny\r\n") {
		t.Errorf("%q", got)
	}
	if got := mouth.say("PUBLISH nobody x"); got != ":0\r\n" {
		t.Errorf("PUBLISH to nobody: %q", got)
	}
}

func TestASubscriptionSurvivesItsMasters(t *testing.T) {
	var masters []redlock.MasterAddr
	var servers []*exec.Cmd
	for range 3 {
		addr, server := runRedis(t)
		masters, servers = append(masters, redlock.MasterAddr{Address: addr}), append(servers, server)
	}
	a, b := twoProxies(t, masters)
	ear, mouth := talk(t, a, "HELLO 3", "SUBSCRIBE jobs"), talk(t, b)
	onAll(t, masters, "PUBSUB NUMSUB jobs", "*2\r\n$4\r\njobs\r\n:1\r\n")
	servers[0].Process.Kill()
	servers[0].Wait()
	for i := range 20 {
		if got := mouth.say(fmt.Sprint("PUBLISH jobs ", i)); got[0] != ':' {
			t.Errorf("PUBLISH: %q", got)
		}
		for want := fmt.Sprintf("\r\n%d\r\n", i); !strings.HasSuffix(ear.read(), want); {
		}
	}
	servers[1].Process.Kill()
	servers[1].Wait()
	eventually(t, "there is no quorum", func() bool { return mouth.say("PUBLISH jobs x")[0] == '-' })
	if got := mouth.say("PUBLISH jobs x"); !strings.HasPrefix(got, "-NOQUORUM PUBLISH: ") {
		t.Errorf("%q", got)
	}
	if got := talk(t, a, "HELLO 3").say("SUBSCRIBE more"); !strings.HasPrefix(got, ">3\r\n$9\r\nsubscribe") {
		t.Errorf("SUBSCRIBE without a quorum: %q", got)
	}
}

// What publishes when, without masters.

func published(s *Server, channel string) func() string {
	heard := make(chan string, 16)
	s.hub.bus.Subscribe(redlock.Topic{Name: channel}, func(m *redlock.Message) { heard <- m.Payload })
	return func() string {
		select {
		case payload := <-heard:
			return payload
		default:
			return ""
		}
	}
}

const setAndTell = `EVAL "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 30000) then redis.call('publish', 'c', 'set') return 1 end" 1 k token`

func TestWithoutAQuorumAScriptPublishesNothing(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	heard := published(s, "c")
	c := talk(t, addr)
	for _, line := range []string{setAndTell, strings.Replace(springRelease, "reg-channel:reg:lock", "c", 1)} {
		c.send(line)
		op := q.take(1)[0]
		op.Outcome = redlock.Outcome{Err: errors.New("nobody")}
		op.Done(op)
		if got := c.read(); got != "-NOQUORUM nobody\r\n" || heard() != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestAMessageOfAGrantWaitsUntilItIsClaimed(t *testing.T) {
	q := newFakeQuorum()
	claims := make(chan bool, 2)
	q.claim = func(_ *redlock.Op, again bool) bool { return <-claims }
	s, addr := serve(t, Config{}, q)
	heard := published(s, "c")
	c := talk(t, addr)
	c.send(setAndTell)
	op := q.take(1)[0]
	claims <- false // too late
	done(op)
	q.mu.Lock()
	q.states[op] = "started"
	q.mu.Unlock()
	if got := heard(); got != "" {
		t.Errorf("heard %q of a grant that came too late", got)
	}
	claims <- true
	done(op)
	if got := c.read(); got != ":1\r\n" || heard() != "set" || heard() != "" {
		t.Errorf("%q", got)
	}
}

// A release is not undone: whoever waits must hear of it, also if the client
// that sent it is gone or the replies before it are late.
func TestAMessageOfAReleaseWaitsForNobody(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	heard := published(s, "c")
	c := talk(t, addr)
	c.send("GET slow")
	c.send(strings.Replace(springRelease, "reg-channel:reg:lock", "c", 1))
	ops := q.take(2)
	ops[1].Outcome = redlock.Outcome{Applied: true, Case: redlock.CaseMine}
	ops[1].Done(ops[1])
	if got := heard(); got != "reg:lock" {
		t.Errorf("heard %q", got)
	}
	done(ops[0])
	if got := c.read() + c.read(); got != "$4\r\nslow\r\n:1\r\n" || heard() != "" {
		t.Errorf("%q", got)
	}

	c.send(strings.Replace(springRelease, "reg-channel:reg:lock", "c", 1))
	op := q.take(1)[0]
	c.conn.Close()
	for _, sess := range s.list() {
		sess.kill()
	}
	q.await(t, 2, 1)
	op.Outcome = redlock.Outcome{Applied: true, Case: redlock.CaseMine}
	op.Done(op)
	eventually(t, "the message", func() bool { return heard() == "reg:lock" })
}

func TestMessagesReachASubscriberWithinMilliseconds(t *testing.T) {
	masters := threeServers(t)
	a, b := twoProxies(t, masters)
	ear, mouth := talk(t, a, "SUBSCRIBE jobs"), talk(t, b)
	onAll(t, masters, "PUBSUB NUMSUB jobs", "*2\r\n$4\r\njobs\r\n:1\r\n")
	mouth.say("PUBLISH jobs first")
	ear.read()
	since := time.Now()
	const n = 100
	for range n {
		mouth.say("PUBLISH jobs x")
		ear.read()
	}
	each := time.Since(since) / n
	t.Logf("%v from PUBLISH to the message", each)
	if each > 50*time.Millisecond {
		t.Errorf("%v from PUBLISH to the message", each)
	}
}
