package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bsm/redislock"
	redigo "github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"redlock-proxy/integration/internal/harness"
)

// rollingDrain is long enough for the balancer, that asks every tenth of a
// second, on a busy machine.
const rollingDrain = 2 * time.Second

// rollingClients are clients as they are told to be behind a load balancer:
// those that do not look at a connection before they use it are told to, and
// one that shares a connection among callers lets it go in time by itself.
var rollingClients = map[string]func(addr string) (lockClient, error){
	"go-redis":        openGoRedis,
	"redislock":       openRedislockClient,
	"redigo, testing": openRedigoTesting,
	"rueidis, lifetime": func(addr string) (lockClient, error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, DisableCache: true, ConnLifetime: rollingDrain / 8, // before connections are parted from
		})
		if err != nil {
			return nil, err
		}
		return rueidisClient{client, rueidis.NewLuaScript(releaseScript)}, nil
	},
}

func openRedigoTesting(addr string) (lockClient, error) {
	pool := redigoPool(addr)
	pool.TestOnBorrow = func(c redigo.Conn, _ time.Time) error {
		_, err := c.Do("PING")
		return err
	}
	return redigoClient{pool, redigo.NewScript(1, releaseScript)}, nil
}

// redislockClient is a lock library over go-redis.
type redislockClient struct {
	goRedisClient
	locks *redislock.Client
	held  sync.Map // of *redislock.Lock, by key
}

func openRedislockClient(addr string) (lockClient, error) {
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	return &redislockClient{goRedisClient: goRedisClient{Client: client}, locks: redislock.New(client)}, nil
}

func (c *redislockClient) Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	lock, err := c.locks.Obtain(ctx, key, ttl, &redislock.Options{Token: fmt.Sprintf("%-22s", token)})
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	c.held.Store(key, lock)
	return err == nil, err
}

func (c *redislockClient) Release(ctx context.Context, key, _ string) (bool, error) {
	lock, _ := c.held.LoadAndDelete(key)
	err := lock.(*redislock.Lock).Release(ctx)
	return err == nil, err
}

// rollers are callers that take and give back locks of their own all the time.
type rollers struct {
	stop    chan struct{}
	callers sync.WaitGroup
	cycles  atomic.Int64

	mu     sync.Mutex
	faults []string
}

func (r *rollers) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(time.Now().Format("05.000 ")+format, args...))
}

// run is one caller: each lock is free and its own.
func (r *rollers) run(name string, n int, c lockClient) {
	ctx := context.Background()
	key := fmt.Sprintf("rolling:%s:%d", name, n)
	for i := 0; ; i++ {
		select {
		case <-r.stop:
			return
		case <-time.After(time.Duration(n) * time.Millisecond): // some with hardly a pause, some with a longer one
		}
		token := fmt.Sprint(name, n, ":", i)
		if ok, err := c.Acquire(ctx, key, token, time.Minute); err != nil || !ok {
			r.fault("%s: acquire: %v, %v", name, ok, err)
			return
		}
		if ok, err := c.Release(ctx, key, token); err != nil || !ok {
			r.fault("%s: release: %v, %v", name, ok, err)
			return
		}
		r.cycles.Add(1)
	}
}

// startRollers lets some callers of each client work until finish is called.
func startRollers(t *testing.T, addr string) *rollers {
	t.Helper()
	r := &rollers{stop: make(chan struct{})}
	for name, open := range rollingClients {
		c, err := open(addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for n := range 4 {
			r.callers.Go(func() { r.run(name, 1+3*n, c) })
		}
	}
	return r
}

func (r *rollers) finish(t *testing.T) {
	t.Helper()
	close(r.stop)
	r.callers.Wait()
	t.Logf("%d locks were taken and given back", r.cycles.Load())
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// TestNoClientNoticesARollingRestartOfTheProxies: two of them behind a balancer are replaced,
// one after the other, and twice, while real clients take and give back locks:
// none is answered anything but success. A lock taken before is held to the end.
func TestNoClientNoticesARollingRestartOfTheProxies(t *testing.T) {
	m := startMasters(t, 3)
	b, err := harness.StartBalancer(100 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	start := func() *harness.Proxy {
		// A pause of this machine is no answer of the proxy.
		p := startProxy(t, m, "--op-timeout", "2s", "--drain-time", rollingDrain.String())
		b.Add(p)
		eventually(t, 10*time.Second, func() error { // some connection has come
			if conn, err := net.Dial("tcp", b.Addr()); err == nil {
				conn.Close()
			}
			if b.Served(p) == 0 {
				return errors.New("the balancer gives the new proxy no connections")
			}
			return nil
		})
		return p
	}
	proxies := []*harness.Proxy{start(), start()}
	expect(t, dial(t, b.Addr()), "+OK", acquire("held", "mine", lockTTL)...)
	refused := b.Refused()
	callers := startRollers(t, b.Addr())
	for i := range 4 {
		old := proxies[i%2]
		proxies[i%2] = start()
		old.Signal(syscall.SIGTERM)
		if code, err := old.Wait(30 * time.Second); err != nil || code != 0 {
			t.Errorf("exit code %d, error %v, want 0", code, err)
		}
		if log := old.Log(); strings.Contains(log, "were cut") {
			t.Errorf("connections were cut:\n%s", tail(log, 10))
		}
	}
	callers.finish(t)
	if n := b.Refused() - refused; n > 0 {
		t.Errorf("%d connections were sent to a proxy that had ended", n)
	}
	c := dial(t, b.Addr())
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}
