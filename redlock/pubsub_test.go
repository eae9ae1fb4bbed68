package redlock

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// ear collects the messages of a subscription.
type ear struct {
	sub *Subscription

	mu  sync.Mutex
	got []string
}

// subscribe waits until the subscription is ready.
func subscribe(t *testing.T, c *Cluster, topic Topic) *ear {
	t.Helper()
	e := &ear{}
	e.sub = c.Bus().Subscribe(topic, func(m *Message) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.got = append(e.got, m.Channel+"="+m.Payload)
	})
	ready := make(chan struct{})
	e.sub.WhenReady(func() { close(ready) })
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		t.Fatal("never ready")
	}
	return e
}

func (e *ear) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.got, " ")
}

// subscribeAll is subscribe, and waits until all masters have the topic.
func subscribeAll(t *testing.T, c *Cluster, topic Topic) *ear {
	t.Helper()
	e := subscribe(t, c, topic)
	awaitTopic(t, c, topic)
	return e
}

func awaitTopic(t *testing.T, c *Cluster, topic Topic) {
	t.Helper()
	b := c.Bus()
	await(t, "all masters have the topic", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, l := range b.links {
			if since, asked := l.acked[topic]; !asked || since < 0 {
				return false
			}
		}
		return true
	})
}

// awaitLinks waits until messages can be published on all masters.
func awaitLinks(t *testing.T, c *Cluster) {
	t.Helper()
	b := c.Bus()
	b.begin()
	await(t, "connections to all masters", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, l := range b.links {
			if !l.up {
				return false
			}
		}
		return true
	})
}

// publish waits for the result.
func publish(c *Cluster, channel, payload string) (receivers int64, err error) {
	done := make(chan struct{})
	c.Bus().Publish(channel, payload, func(n int64, e error) {
		receivers, err = n, e
		close(done)
	})
	<-done
	return receivers, err
}

// hears publishes a last message, after which nothing of before can come, and
// compares what was heard up to it.
func (e *ear) hears(t *testing.T, from *Cluster, want string) {
	t.Helper()
	end := fmt.Sprint("end", rand.Uint32())
	if _, err := publish(from, e.sub.topic.Name, end); err != nil {
		t.Fatal(err)
	}
	tail := e.sub.topic.Name + "=" + end
	await(t, "the last message", func() bool { return strings.Contains(e.heard(), tail) })
	got, _, _ := strings.Cut(e.heard(), tail)
	if got = strings.TrimSpace(got); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = nil
}

func TestMessagesOfOneProxyReachAnother(t *testing.T) {
	servers := startServers(t, 3)
	a, b := openCluster(t, servers...), openCluster(t, servers...)
	channel, pattern := subscribeAll(t, a, Topic{Name: "jobs"}), subscribeAll(t, a, Topic{Name: "job?", Pattern: true})
	n, err := publish(b, "jobs", "one")
	if n != 2 || err != nil {
		t.Errorf("PUBLISH = %d, %v, want 2 receivers", n, err)
	}
	for _, payload := range []string{"", "two", "two", "\x00\r\n\xff"} {
		publish(b, "jobs", payload)
	}
	publish(b, "other", "x")
	channel.hears(t, b, "jobs=one jobs= jobs=two jobs=two jobs=\x00\r\n\xff")
	await(t, "the pattern", func() bool { return strings.Contains(pattern.heard(), "\xff") })
	if got, want := pattern.heard(), "jobs=one jobs= jobs=two jobs=two jobs=\x00\r\n\xff"; !strings.HasPrefix(got, want) {
		t.Errorf("the pattern heard %q, want %q", got, want)
	}
}

func TestMessagesOfOtherPublishersArePassedOn(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	e := subscribeAll(t, c, Topic{Name: "jobs"})
	servers[1].must("PUBLISH jobs by-hand")
	await(t, "the message", func() bool { return e.heard() != "" })
	e.hears(t, c, "jobs=by-hand")
}

func TestMessagesArriveWhileAQuorumIsUp(t *testing.T) {
	servers := startServers(t, 3)
	a, b := openCluster(t, servers...), openCluster(t, servers...)
	e := subscribe(t, a, Topic{Name: "jobs"})
	for i, s := range servers {
		awaitTopic(t, a, Topic{Name: "jobs"})
		awaitLinks(t, b)
		s.kill()
		for n := range 20 {
			if _, err := publish(b, "jobs", fmt.Sprint(n)); err != nil {
				t.Fatalf("master %d down: %v", i, err)
			}
		}
		await(t, "the messages", func() bool { return strings.Contains(e.heard(), "jobs=19") })
		for n := range 20 {
			if !strings.Contains(e.heard()+" ", fmt.Sprintf("jobs=%d ", n)) {
				t.Errorf("master %d down: %d is missing in %q", i, n, e.heard())
			}
		}
		e.mu.Lock()
		e.got = nil
		e.mu.Unlock()
		s.start()
	}
}

// numsub is what PUBSUB NUMSUB jobs says.
func numsub(t *testing.T, s *testServer) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUBSUB NUMSUB jobs\r\nQUIT\r\n")
	var b strings.Builder
	buf := make([]byte, 256)
	for n := 1; n > 0; {
		n, _ = conn.Read(buf)
		b.Write(buf[:n])
	}
	return b.String()
}

func TestWithoutAQuorumPublishingSaysSo(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	e := subscribe(t, c, Topic{Name: "jobs"})
	servers[0].kill()
	servers[2].kill()
	await(t, "the loss", func() bool {
		_, err := publish(c, "jobs", "x")
		return err != nil
	})
	_, err := publish(c, "jobs", "y")
	if err == nil || !strings.Contains(err.Error(), "of 3 masters took the message, 2 needed; 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
	await(t, "what one master took", func() bool { return strings.Contains(e.heard(), "jobs=y") })
	since := time.Now()
	subscribe(t, c, Topic{Name: "more"})
	if took := time.Since(since); took > readyTimeout/2 {
		t.Errorf("with two masters known to be down a subscription took %v", took)
	}
	servers[0].start()
	await(t, "the return", func() bool {
		_, err := publish(c, "jobs", "z")
		return err == nil
	})
}

func TestASilentMasterDelaysNobody(t *testing.T) {
	servers := startServers(t, 3)
	r := startRelay(t, servers[0].addr, nil)
	c := openCluster(t, &testServer{addr: r.ln.Addr().String()}, servers[1], servers[2])
	e := subscribeAll(t, c, Topic{Name: "jobs"})
	r.block()
	since := time.Now()
	for i := range 10 {
		if _, err := publish(c, "jobs", fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
	}
	subscribe(t, c, Topic{Name: "more"})
	e.hears(t, c, "jobs=0 jobs=1 jobs=2 jobs=3 jobs=4 jobs=5 jobs=6 jobs=7 jobs=8 jobs=9")
	if took := time.Since(since); took > publishTimeout/2 {
		t.Errorf("it took %v", took)
	}
	n := r.accepted.Load()
	r.unblock()
	await(t, "new connections to the silent master", func() bool { return r.accepted.Load() >= n+2 })
	await(t, "subscribed again", func() bool { return strings.Contains(numsub(t, servers[0]), ":1") })
}

func TestClosedSubscriptionsAreTakenOffTheMasters(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	keep := subscribe(t, c, Topic{Name: "keep"})
	for range 3 {
		e := subscribe(t, c, Topic{Name: "jobs"})
		p := subscribe(t, c, Topic{Name: "jobs*", Pattern: true})
		for _, s := range servers {
			await(t, "subscribed", func() bool { return strings.Contains(numsub(t, s), ":1") && s.must("PUBSUB NUMPAT") == ":1" })
		}
		e.sub.Close()
		p.sub.Close()
		for _, s := range servers {
			await(t, "not subscribed", func() bool { return strings.Contains(numsub(t, s), ":0") && s.must("PUBSUB NUMPAT") == ":0" })
		}
		publish(c, "jobs", "nobody")
	}
	keep.hears(t, c, "")
}

func TestThousandsOfTopicsComeAndGo(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	var subs []*Subscription
	for i := range 3000 {
		subs = append(subs, c.Bus().Subscribe(Topic{Name: fmt.Sprint("t", i)}, func(*Message) {}))
	}
	last := subscribe(t, c, Topic{Name: "last"})
	servers[1].kill()
	servers[1].start()
	for _, s := range servers {
		await(t, "all topics", func() bool { return channels(s) == 3001 })
	}
	for _, s := range subs {
		s.Close()
	}
	for _, s := range servers {
		await(t, "one topic", func() bool { return channels(s) == 1 })
	}
	last.hears(t, c, "")
}

func channels(s *testServer) (n int) {
	fmt.Sscanf(s.try("PUBSUB CHANNELS"), "*%d", &n)
	return n
}

func TestTheBusLogsInAndUsesTLS(t *testing.T) {
	server := startServer(t, "--requirepass", "secret")
	cert, pool := selfSigned(t)
	r := startRelay(t, server.addr, &tls.Config{Certificates: []tls.Certificate{cert}})
	cfg := ClusterConfig{Masters: []MasterAddr{{Address: r.ln.Addr().String(), Password: "secret", TLS: func() *tls.Config { return &tls.Config{RootCAs: pool} }}}}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	subscribe(t, c, Topic{Name: "jobs"}).hears(t, c, "")
}

func TestMastersWithoutRESP3WillDo(t *testing.T) {
	server := startServer(t, "--rename-command", "HELLO", "")
	c := openCluster(t, server)
	e := subscribe(t, c, Topic{Name: "jobs"})
	subscribe(t, c, Topic{Name: "more"}).sub.Close()
	publish(c, "jobs", "one")
	e.hears(t, c, "jobs=one")
	e.sub.Close()
	await(t, "not subscribed", func() bool { return channels(server) == 0 })
	e = subscribe(t, c, Topic{Name: "jobs"})
	e.hears(t, c, "")
}

func TestAUserWithoutChannelsIsToldSo(t *testing.T) {
	servers := startServers(t, 3)
	var log bytes.Buffer
	cfg := ClusterConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	for _, s := range servers {
		s.must("ACL SETUSER proxy on >secret ~* resetchannels +@all")
		cfg.Masters = append(cfg.Masters, MasterAddr{Address: s.addr, Username: "proxy", Password: "secret"})
	}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	subscribe(t, c, Topic{Name: "jobs"})
	if took := time.Since(since); took > readyTimeout/2 {
		t.Errorf("it took %v", took)
	}
	if _, err := publish(c, "jobs", "x"); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("PUBLISH: %v", err)
	}
	c.Close()
	if n := strings.Count(log.String(), "ACL SETUSER"); n < 2 || n > 3 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
}

func TestClosingWaitsForPublications(t *testing.T) {
	servers := startServers(t, 3)
	a, b := openCluster(t, servers...), openCluster(t, servers...)
	e := subscribe(t, a, Topic{Name: "jobs"})
	for i := range 100 {
		b.Bus().Publish("jobs", fmt.Sprintf("x%dx", i), nil)
	}
	b.Close()
	await(t, "all messages, each at least once", func() bool {
		for heard, i := e.heard(), 0; i < 100; i++ {
			if !strings.Contains(heard, fmt.Sprintf("x%dx", i)) {
				return false
			}
		}
		return true
	})
}

func TestAClosedBusLeavesNothingBehind(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	subscribe(t, c, Topic{Name: "jobs"}).hears(t, c, "")
	servers[0].kill()
	c.Close()
	if _, err := publish(c, "jobs", "x"); err == nil {
		t.Error("published after Close")
	}
	buf := make([]byte, 1<<20)
	await(t, "no goroutines", func() bool {
		all := string(buf[:runtime.Stack(buf, true)])
		return !strings.Contains(all, "busLink") && !strings.Contains(all, "rueidis")
	})
	unused := openCluster(t, servers...)
	unused.Close()
	if _, err := publish(unused, "jobs", "x"); err == nil {
		t.Error("published after Close")
	}
}

func TestMastersInMemoryDeliverAtOnce(t *testing.T) {
	c, err := Open(ClusterConfig{Embedded: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	channel, pattern := subscribe(t, c, Topic{Name: "jobs"}), subscribe(t, c, Topic{Name: "j*", Pattern: true})
	for range 2 {
		publish(c, "jobs", "x")
	}
	if channel.heard() != "jobs=x jobs=x" || pattern.heard() != "jobs=x jobs=x" {
		t.Errorf("heard %q and %q", channel.heard(), pattern.heard())
	}
	channel.sub.Close()
	publish(c, "jobs", "y")
	if channel.heard() != "jobs=x jobs=x" || pattern.heard() != "jobs=x jobs=x jobs=y" {
		t.Errorf("heard %q and %q", channel.heard(), pattern.heard())
	}
}

func TestCopiesAreTold(t *testing.T) {
	tests := []struct {
		name string
		// "m@t": master m sends the same message at t ms; "m+t": it has the
		// topic since then; "!": a connection is lost
		sent, passed string
	}{
		{"one message", "0@0 1@1 2@2", "0@0"},
		{"two in a row, one master after the other", "0@0 0@0 1@1 1@1 2@2 2@2", "0@0 0@0"},
		{"two in a row, interleaved", "0@0 1@0 1@1 2@1 2@2 0@2", "0@0 1@1"},
		{"a master that missed the first", "0@0 1@0 0@5 2@6 1@7", "0@0 0@5"},
		{"late copies are passed on", "0@0 1@50 2@51", "0@0 2@51"},
		{"one master alone", "0@0 0@1 0@2", "0@0 0@1 0@2"},
		{"a master that was asked later owes nothing", "0@0 1+1 1@2 0@3", "0@0 1@2"},
		{"what is owed is forgotten", "0@0 ! 1@1 2@1", "0@0 1@1"},
	}
	for _, tt := range tests {
		var c copies
		c.init(50 * time.Millisecond)
		since := map[int]int{}
		var passed []string
		for _, event := range strings.Fields(tt.sent) {
			var master, at int
			if event == "!" {
				c.forget()
				continue
			}
			if n, _ := fmt.Sscanf(event, "%d+%d", &master, &at); n == 2 {
				since[master] = at
				continue
			}
			fmt.Sscanf(event, "%d@%d", &master, &at)
			if c.isFirst(time.Duration(at)*time.Millisecond, master, time.Duration(since[master])*time.Millisecond, &Message{Channel: "c", Payload: "p"}) {
				passed = append(passed, event)
			}
		}
		if got := strings.Join(passed, " "); got != tt.passed {
			t.Errorf("%s: %s passed on of %s, want %s", tt.name, got, tt.sent, tt.passed)
		}
	}
}

func TestDifferentMessagesAreNoCopies(t *testing.T) {
	var c copies
	c.init(time.Second)
	for i, m := range []Message{
		{Topic{"c", false}, "c", "p"}, {Topic{"c", true}, "c", "p"}, {Topic{"c", false}, "c", ""}, {Topic{"c*", true}, "c", "p"}, {Topic{"c*", true}, "cp", ""},
	} {
		if !c.isFirst(0, i, 0, &m) {
			t.Errorf("%+v was taken for a copy", m)
		}
	}
}

func TestRememberedMessagesAreBounded(t *testing.T) {
	var c copies
	c.init(time.Hour)
	for i := range 3 * maxPassed {
		c.isFirst(0, 0, 0, &Message{Payload: fmt.Sprint(i % (2 * maxPassed))})
	}
	if len(c.all) > maxPassed || len(c.byText) > maxPassed {
		t.Errorf("%d and %d remembered", len(c.all), len(c.byText))
	}
	c.isFirst(3*time.Hour, 0, 0, &Message{})
	if len(c.all) != 1 || len(c.byText) != 1 {
		t.Errorf("%d and %d remembered after the window", len(c.all), len(c.byText))
	}
}

func TestPatternsAreLikeRealRedis(t *testing.T) {
	client := startServer(t).client()
	names := []string{"", "a", "b", "ab", "abc", "aab", "a*", "[", "]", "a]", "\\", "-", "^", "ba-", "a\nb"}
	random := func(letters string, most int) string {
		b := make([]byte, rand.IntN(most))
		for i := range b {
			b[i] = letters[rand.IntN(len(letters))]
		}
		return string(b)
	}
	for range 300 {
		names = append(names, random("aabc[]^-*?\\", 7))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	ear, cancel := client.Dedicate()
	defer cancel()
	ear.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	if err := ear.Do(t.Context(), ear.B().Subscribe().Channel(names...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	patterns := []string{"**", "a**", "[^]*", "[]a", "[a-]", "[c-a]", "[\\]]", "\\", "*\\", "[", "[^", "*[", "[a", "?"}
	for range 3000 {
		patterns = append(patterns, random("aabc**?[]^-\\", 9))
	}
	for _, pattern := range patterns {
		want, err := do(t, client, "PUBSUB", "CHANNELS", pattern).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range names {
			if (Topic{pattern, true}).Matches(name) {
				got = append(got, name)
			}
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("%q matches %q, in Redis %q", pattern, got, want)
		}
	}
}
