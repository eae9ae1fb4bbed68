package integration

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"redlock-proxy/integration/internal/harness"
)

// TestManyRepliesOverTLS makes replies wait for a client that reads late, in
// records that do not fit its socket.
func TestManyRepliesOverTLS(t *testing.T) {
	p := newPKI(t)
	_, addr := startTLSProxy(t, p)
	c := dialTLS(t, addr, p.config(t, p.client))
	const n = 3000
	value := strings.Repeat("x", 3000)
	go func() {
		for range n {
			c.Queue("ECHO", value)
			c.Queue("PING")
		}
		c.Flush()
	}()
	time.Sleep(200 * time.Millisecond) // the sockets are full
	for i := range n {
		for _, want := range []string{strconv.Quote(value), "+PONG"} {
			if got, err := c.Read(); err != nil || got != want {
				t.Fatalf("reply %d: got %.40s, %v", i, got, err)
			}
		}
	}
}

// TestAcquireOverTLSOfAClientThatHungUp is
// TestAcquireOfAClientThatHungUpIsGoneWithItsRelease with TLS, which ends a
// connection in a way of its own.
func TestAcquireOverTLSOfAClientThatHungUp(t *testing.T) {
	p := newPKI(t)
	m := startMasters(t, 3)
	addr := freeAddr(t)
	startProxy(t, m, p.flags(addr, "--op-timeout", "2s")...)
	for _, closing := range []func(*harness.Conn){
		func(c *harness.Conn) { c.Close() },
		func(c *harness.Conn) { c.Conn.(*tls.Conn).NetConn().Close() },
	} {
		m[0].Freeze()
		m[1].Freeze()
		a := dialTLS(t, addr, p.config(t, p.client))
		a.Queue(acquire("k", "t", lockTTL)...)
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // it is on its way to the masters
		closing(a)
		b := dialTLS(t, addr, p.config(t, p.client))
		b.Queue(release("k", "t")...)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		m[0].Thaw()
		m[1].Thaw()
		if _, err := b.Read(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // a retry of the acquire would be over
		expect(t, b, "$-1", "GET", "k")
	}
}

// TestMastersWithTLS asks masters for locks and messages that want a
// certificate, and each a password of its own.
func TestMastersWithTLS(t *testing.T) {
	p := newPKI(t)
	var urls []string
	for i := range 3 {
		port, err := harness.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("master-%d", i)
		pair := issue(t, p.Authority, name, time.Hour)
		startRedis(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", pair.Cert, "--tls-key-file", pair.Key,
			"--tls-ca-cert-file", p.File, "--user", "proxy", "on", ">pass-"+strconv.Itoa(i), "~*", "&*", "+@all", "--user", "default", "off")
		urls = append(urls, fmt.Sprintf("rediss://proxy:pass-%d@127.0.0.1:%d?server-name=%s", i, port, name))
	}
	flags := []string{"--masters-tls-ca-cert-file", p.File, "--masters-tls-cert-file", p.client.Cert, "--masters-tls-key-file", p.client.Key}
	a, b := startProxyOn(t, urls, flags...), startProxyOn(t, urls, flags...)
	listener := dial(t, b.Addr)
	expect(t, listener, `["subscribe" "c" :1]`, "SUBSCRIBE", "c")
	if got := do(t, a.Addr, acquire("k", "t", lockTTL)...); got != "+OK" {
		t.Fatal(got)
	}
	if got := do(t, b.Addr, acquire("k", "u", lockTTL)...); got != "$-1" {
		t.Fatal(got)
	}
	do(t, a.Addr, "PUBLISH", "c", "m")
	if got, err := listener.Read(); err != nil || got != `["message" "c" "m"]` {
		t.Fatalf("got %s, %v", got, err)
	}
	wrong := slices.Clone(urls)
	wrong[0] = strings.Replace(wrong[0], "server-name=master-0", "server-name=master-1", 1)
	refused := startProxyOn(t, wrong, flags...)
	if status := do(t, refused.Addr, "REDLOCK", "STATUS"); !strings.Contains(status, "certificate is valid for master-0, not master-1") {
		t.Errorf("a master with the certificate of another: %s", status)
	}
}

// TestClientLibrariesWithTLSAsUsers lets them take and release a lock.
func TestClientLibrariesWithTLSAsUsers(t *testing.T) {
	p := newPKI(t)
	addr := freeAddr(t)
	startUsersProxy(t, "user app on >secret ~app:* &app:* +@all -@admin -@dangerous\n", p.flags(addr)...)
	config := p.config(t, p.client)
	const unlock = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"

	goRedis := redis.NewClient(&redis.Options{Addr: addr, Username: "app", Password: "secret", TLSConfig: config})
	defer goRedis.Close()
	if ok, err := goRedis.SetNX(t.Context(), "app:1", "t", time.Minute).Result(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if n, err := redis.NewScript(unlock).Run(t.Context(), goRedis, []string{"app:1"}, "t").Int(); n != 1 || err != nil {
		t.Errorf("go-redis released %d, %v", n, err)
	}
	if err := goRedis.SetNX(t.Context(), "other", "t", time.Minute).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
		t.Errorf("go-redis took a lock of somebody else: %v", err)
	}

	ruei, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, Username: "app", Password: "secret", TLSConfig: config, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ruei.Close()
	if err := ruei.Do(t.Context(), ruei.B().Set().Key("app:2").Value("t").Nx().PxMilliseconds(60000).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if n, err := rueidis.NewLuaScript(unlock).Exec(t.Context(), ruei, []string{"app:2"}, []string{"t"}).AsInt64(); n != 1 || err != nil {
		t.Errorf("rueidis released %d, %v", n, err)
	}
}
