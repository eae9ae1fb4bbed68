package proxy

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/resp"
)

// talker is a connection whose replies are read as a whole.
type talker struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	n    int
}

func talk(t *testing.T, addr string, lines ...string) *talker {
	t.Helper()
	conn := dial(t, addr).TCPConn
	c := &talker{t: t, conn: conn, r: bufio.NewReader(conn)}
	for _, line := range lines {
		c.say(line)
	}
	return c
}

// send sends one command.
func (c *talker) send(line string) {
	c.t.Helper()
	args := words(c.t, line)
	b := resp.AppendArray(nil, len(args))
	for _, arg := range args {
		b = resp.AppendBulk(b, arg)
	}
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// read reads one reply or message.
func (c *talker) read() string {
	c.t.Helper()
	reply, err := readReply(c.r)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply
}

// say sends a command and returns all that comes up to the reply of a PING
// behind it.
func (c *talker) say(line string) string {
	c.t.Helper()
	c.send(line)
	return c.rest()
}

// rest returns all that comes up to the reply of a PING.
func (c *talker) rest() (all string) {
	c.t.Helper()
	c.n++
	mark := fmt.Sprint("mark", c.n)
	c.send("PING " + mark)
	for {
		reply := c.read()
		if strings.HasSuffix(reply, "\r\n"+mark+"\r\n") {
			return all
		}
		all += reply
	}
}

// subscriberLines are said on one connection; after "other:" comes what another
// one says.
var subscriberLines = []string{
	"SUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "UNSUBSCRIBE a", "PUNSUBSCRIBE a b", "PSUBSCRIBE",
	"SUBSCRIBE a", "SUBSCRIBE a", "SUBSCRIBE b a c b", `SUBSCRIBE "" "x\r\ny\x00\xff"`, "PSUBSCRIBE x* a?",
	"other:PUBLISH a hello", `other:PUBLISH a ""`, `other:PUBLISH "" e`, `other:PUBLISH b "\r\n\x00\xff"`, "other:PUBLISH xyz p", "other:PUBLISH ab p", "other:PUBLISH nobody p",
	"other:PUBLISH a", "other:PUBLISH a b c", `other:EVAL "return redis.call('publish', 'a', ARGV[1])" 0 script`, `other:EVAL "redis.call('publish', 'nobody', 1) return 7" 0`,
	"other:PUBSUB NUMSUB a b nobody", "other:PUBSUB NUMSUB", "other:PUBSUB NUMPAT", "other:PUBSUB CHANNELS [b]", "other:PUBSUB CHANNELS nobody", "other:PUBSUB CHANNELS a b",
	"other:PUBSUB NUMPAT x", "other:PUBSUB SHARDNUMSUB 0", "other:PUBSUB SHARDNUMSUB", "other:PUBSUB SHARDCHANNELS", "other:PUBSUB SHARDCHANNELS a b", "other:PUBSUB NOPE", "other:PUBSUB",
	"PING", "PING x", "PING x y", "PING", "UNSUBSCRIBE nobody", "UNSUBSCRIBE b", "other:PUBLISH b gone", "UNSUBSCRIBE c a", "PUNSUBSCRIBE x*", "other:PUBLISH xyz gone",
	"NOPE", "NOPE a", "CONFIG NOPE", "GET a b", "CONFIG GET", "CLIENT", "MULTI x",
}

// forbiddenLines are refused in RESP2 while subscribed.
var forbiddenLines = []string{
	"GET a", "get a", "SET a b", "HSET a b c", "CONFIG GET x", "CLIENT ID", "client id", "HELLO 3", "HELLO", "SELECT 1", "MULTI", "EXEC", "WATCH a", "PUBLISH a b", "PUBSUB NUMPAT",
	"EVAL x 0", "AUTH x", "ECHO x", "COMMAND", "COMMAND COUNT", "INFO", "SCRIPT LOAD x", "DBSIZE", "KEYS *", "TIME", "WAIT 0 0", "BLPOP a 0",
}

func TestSubscribersHearWhatRedisTells(t *testing.T) {
	redis, proxy := startRedis(t), serveEmbedded(t)
	for _, proto := range []string{"2", "3"} {
		t.Run("RESP"+proto, func(t *testing.T) {
			real, ours := talk(t, redis, "HELLO "+proto), talk(t, proxy, "HELLO "+proto)
			real2, ours2 := talk(t, redis), talk(t, proxy)
			lines := slices.Clone(subscriberLines)
			if proto == "2" {
				lines = append(lines, forbiddenLines...)
			}
			lines = append(lines, `UNSUBSCRIBE "" "x\r\ny\x00\xff"`, "other:PUBLISH a gone", "PUNSUBSCRIBE", "GET nothing", "UNSUBSCRIBE",
				"SUBSCRIBE a", "PSUBSCRIBE a*", "RESET", "other:PUBLISH a gone", "GET nothing", "PING", "other:PUBSUB NUMPAT", "SUBSCRIBE again", "UNSUBSCRIBE", "ECHO x")
			for _, line := range lines {
				var want, got string
				if other, ok := strings.CutPrefix(line, "other:"); ok {
					want, got = real2.say(other)+real.rest(), ours2.say(other)+ours.rest()
				} else {
					want, got = real.say(line), ours.say(line)
				}
				if got != want {
					t.Errorf("%s\nredis %q\nproxy %q", line, want, got)
				}
			}
		})
	}
}

func TestRESP3SubscribersMayAskEverything(t *testing.T) {
	c := talk(t, serveEmbedded(t), "HELLO 3", "SUBSCRIBE a")
	for _, tt := range []struct{ line, want string }{
		{"SET lock token NX PX 30000", "+OK\r\n"},
		{"GET lock", "$5\r\ntoken\r\n"},
		{"PING", "+PONG\r\n"},
		{"ECHO x", "$1\r\nx\r\n"},
		{"PUBLISH a self", ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$4\r\nself\r\n:1\r\n"},
	} {
		if got := c.say(tt.line); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
	if got := c.say("HELLO 2"); !strings.HasPrefix(got, "*14\r\n") {
		t.Errorf("HELLO 2: %q", got)
	}
	if got := c.say("GET lock"); !strings.HasPrefix(got, "-ERR Can't execute 'get'") {
		t.Errorf("GET after HELLO 2: %q", got)
	}
}

func TestStackExchangeRedisSubscribes(t *testing.T) {
	c := talk(t, serveEmbedded(t), "CLIENT SETNAME host(SE.Redis-v2.10)", "CLIENT ID", "ECHO 0123456789abcdef")
	if got, want := c.say("SUBSCRIBE __Booksleeve_MasterChanged"), "*3\r\n$9\r\nsubscribe\r\n$26\r\n__Booksleeve_MasterChanged\r\n:1\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.say("PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n"; got != want {
		t.Errorf("PING: %q, want %q", got, want)
	}
}

func TestSubscribersAreListed(t *testing.T) {
	addr := serveEmbedded(t)
	talk(t, addr, "CLIENT SETNAME ear", "SUBSCRIBE a b", "PSUBSCRIBE c*")
	c := talk(t, addr, "CLIENT SETNAME mouth")
	for line, want := range map[string]string{
		"CLIENT LIST TYPE pubsub": "name=ear", "CLIENT LIST TYPE normal": "name=mouth",
		"CLIENT LIST": "flags=P db=0 sub=2 psub=1 ssub=0",
	} {
		if got := c.say(line); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", line, got, want)
		}
	}
}

func TestSubscribingNeedsAPassword(t *testing.T) {
	_, addr := serve(t, Config{RequirePass: "secret"}, newFakeQuorum())
	c := dial(t, addr)
	c.send("SUBSCRIBE a", "PUBLISH a b", "PUBSUB NUMPAT", "AUTH secret", "SUBSCRIBE a")
	c.want("-NOAUTH Authentication required.", "-NOAUTH Authentication required.", "-NOAUTH Authentication required.", "+OK", "*3")
}

func TestShardChannelsAreRefused(t *testing.T) {
	c := talk(t, serveEmbedded(t), "SUBSCRIBE a")
	for _, line := range []string{"SSUBSCRIBE a", "SUNSUBSCRIBE a"} {
		name, _, _ := strings.Cut(line, " ")
		if got, want := c.say(line), "-"+notServed(name, whySharded)+"\r\n"; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// An acknowledgement waits for the replies before it; so do messages.
func TestAcknowledgementsTakeTheirPlaceInLine(t *testing.T) {
	q := newFakeQuorum()
	s, addr := serve(t, Config{}, q)
	c := dial(t, addr)
	c.send("HELLO 3")
	for range 26 {
		c.r.ReadString('\n')
	}
	c.send("GET k", "SUBSCRIBE a", "GET k2")
	ops := q.take(2)
	eventually(t, "subscribed", func() bool { return s.hub.receivers("a") == 1 })
	s.hub.bus.Publish("a", "too early", nil)
	done(ops[1])
	done(ops[0])
	c.want("$1", "k", ">3", "$9", "subscribe", "$1", "a", ":1", "$2", "k2")
	c.send("GET k3")
	ops = q.take(1)
	s.hub.bus.Publish("a", "now", nil)
	c.want(">3", "$7", "message", "$1", "a", "$3", "now")
	done(ops[0])
	c.want("$2", "k3")
}

func TestNoMessageComesAfterUnsubscribe(t *testing.T) {
	addr := serveEmbedded(t)
	stop := make(chan struct{})
	var publishers sync.WaitGroup
	defer publishers.Wait()
	defer close(stop)
	for range 2 {
		p := talk(t, addr)
		publishers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.say("PUBLISH a x")
				}
			}
		})
	}
	c := talk(t, addr)
	for range 500 {
		c.send("SUBSCRIBE a")
		c.send("UNSUBSCRIBE")
		c.send("ECHO end")
		for reply := c.read(); !strings.Contains(reply, "unsubscribe"); reply = c.read() {
			if !strings.HasPrefix(reply, "*3\r\n") {
				t.Fatalf("%q", reply)
			}
		}
		if got := c.read(); got != "$3\r\nend\r\n" {
			t.Fatalf("%q after UNSUBSCRIBE", got)
		}
	}
}

func TestASubscriberThatDoesNotReadIsCutOff(t *testing.T) {
	addr := serveEmbedded(t)
	slow, quick, p := talk(t, addr, "SUBSCRIBE a"), talk(t, addr, "SUBSCRIBE a"), talk(t, addr)
	payload := strings.Repeat("x", 100_000)
	for range 200 {
		since := time.Now()
		p.say("PUBLISH a " + payload)
		if took := time.Since(since); took > time.Second {
			t.Fatalf("PUBLISH took %v", took)
		}
		if got := quick.read(); !strings.HasSuffix(got, "x\r\n") {
			t.Fatalf("the other subscriber got %.60q", got)
		}
	}
	eventually(t, "the slow one is gone", func() bool { return p.say("PUBLISH a y") == ":1\r\n" })
	for {
		if _, err := readReply(slow.r); err != nil {
			break // what had been written before is still readable
		}
	}
	if got := p.say("PUBSUB NUMSUB a"); got != "*2\r\n$1\r\na\r\n:1\r\n" {
		t.Errorf("NUMSUB: %q", got)
	}
}

func TestOneLargeMessageIsNoReasonToCutOff(t *testing.T) {
	addr := serveEmbedded(t)
	c, p := talk(t, addr, "SUBSCRIBE a"), talk(t, addr)
	const size = 8<<20 + 1 // past the default of MaxPushed
	p.say("PUBLISH a " + strings.Repeat("x", size))
	if got := c.read(); len(got) < size {
		t.Errorf("%.60q", got)
	}
}

func TestSubscriptionsEndWithTheirConnection(t *testing.T) {
	addr := serveEmbedded(t)
	p := talk(t, addr)
	for _, end := range []func(c *talker){
		func(c *talker) { c.conn.Close() },
		func(c *talker) { c.send("QUIT") },
		func(c *talker) { c.conn.(*net.TCPConn).SetLinger(0); c.conn.Close() },
		func(c *talker) { c.send("RESET") },
		func(c *talker) { c.conn.Write([]byte("*1\r\n$-5\r\n")) },
	} {
		c := talk(t, addr, "SUBSCRIBE a b", "PSUBSCRIBE c*")
		if got := p.say("PUBSUB NUMSUB a") + p.say("PUBSUB NUMPAT"); got != "*2\r\n$1\r\na\r\n:1\r\n:1\r\n" {
			t.Errorf("%q", got)
		}
		end(c)
		eventually(t, "nothing is left", func() bool {
			return p.say("PUBSUB NUMSUB a")+p.say("PUBSUB NUMPAT")+p.say("PUBSUB CHANNELS") == "*2\r\n$1\r\na\r\n:0\r\n:0\r\n*0\r\n"
		})
	}
}

func TestSubscribersAreNotIdle(t *testing.T) {
	_, addr := serve(t, Config{IdleTimeout: 30 * time.Millisecond}, newFakeQuorum())
	c, idle := dial(t, addr), dial(t, addr)
	c.send("SUBSCRIBE a")
	c.want("*3", "$9", "subscribe", "$1", "a", ":1")
	idle.wantEnd()
	time.Sleep(60 * time.Millisecond)
	p := dial(t, addr)
	p.send("PUBLISH a x")
	c.want("*3", "$7", "message", "$1", "a", "$1", "x")
}

func TestSubscriptionsAreBounded(t *testing.T) {
	s, addr := serve(t, Config{}, newFakeQuorum())
	c := talk(t, addr, "HELLO 3")
	var line strings.Builder
	for i := range maxListening {
		fmt.Fprintf(&line, " c%d", i)
	}
	c.say("SUBSCRIBE" + line.String())
	for _, command := range []string{"SUBSCRIBE one-more", "PSUBSCRIBE one-more"} {
		if got := c.say(command); !strings.HasPrefix(got, "-ERR redlock-proxy: a connection may subscribe to at most 10000 ") {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := c.say("UNSUBSCRIBE c1"); !strings.HasSuffix(got, ":9999\r\n") {
		t.Errorf("%q", got)
	}
	if got := c.say("SUBSCRIBE one-more"); !strings.HasSuffix(got, ":10000\r\n") {
		t.Errorf("%q", got)
	}
	if s.hub.hasRoom(maxTopics-maxListening+1, 0) || s.hub.hasRoom(0, maxTopicBytes) || !s.hub.hasRoom(maxTopics-maxListening, 1000) {
		t.Error("the bound of all clients together")
	}
	c.say("RESET")
	if !s.hub.hasRoom(maxTopics, maxTopicBytes) {
		t.Error("something is left")
	}
}

func TestManySubscribersEachHearOnce(t *testing.T) {
	addr := serveEmbedded(t)
	var ears []*talker
	for i := range 50 {
		ears = append(ears, talk(t, addr, fmt.Sprint("HELLO ", 2+i%2), "SUBSCRIBE a", "PSUBSCRIBE [a]"))
	}
	p := talk(t, addr)
	if got := p.say("PUBLISH a x"); got != ":100\r\n" {
		t.Errorf("PUBLISH: %q", got)
	}
	for _, c := range ears {
		if got := c.read() + c.read(); strings.Count(got, "message") != 2 || strings.Count(got, "pmessage") != 1 {
			t.Errorf("%q", got)
		}
		if got := c.rest(); got != "" {
			t.Errorf("%q more", got)
		}
	}
}
