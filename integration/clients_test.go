package integration

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// lockClient is a plain client as a program without a lock library uses it.
// Errors are of the transport or the server; "held" and "not mine" are false.
type lockClient interface {
	Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error)
	Release(ctx context.Context, key, token string) (bool, error)
	Get(ctx context.Context, key string) (value string, err error) // "" if absent
	Close()
}

// lockClients opens each kind of client.
var lockClients = map[string]func(addr string) (lockClient, error){
	"go-redis": openGoRedis,
	"redigo":   openRedigo,
	"rueidis":  openRueidis,
}

type goRedisClient struct {
	*goredis.Client
	script *goredis.Script
}

func openGoRedis(addr string) (lockClient, error) {
	return goRedisClient{
		goredis.NewClient(&goredis.Options{Addr: addr}),
		goredis.NewScript(releaseScript),
	}, nil
}

func (c goRedisClient) Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	return c.SetNX(ctx, key, token, ttl).Result()
}

func (c goRedisClient) Release(ctx context.Context, key, token string) (bool, error) {
	n, err := c.script.Run(ctx, c.Client, []string{key}, token).Int64()
	return n == 1, err
}

func (c goRedisClient) Get(ctx context.Context, key string) (string, error) {
	value, err := c.Client.Get(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		return "", nil
	}
	return value, err
}

func (c goRedisClient) Close() { c.Client.Close() }

type redigoClient struct {
	pool   *redigo.Pool
	script *redigo.Script
}

func openRedigo(addr string) (lockClient, error) {
	return redigoClient{redigoPool(addr), redigo.NewScript(1, releaseScript)}, nil
}

func redigoPool(addr string) *redigo.Pool {
	return &redigo.Pool{
		MaxIdle:     64,
		DialContext: func(ctx context.Context) (redigo.Conn, error) { return redigo.DialContext(ctx, "tcp", addr) },
	}
}

func (c redigoClient) Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	conn := c.pool.Get()
	defer conn.Close()
	_, err := redigo.String(redigo.DoContext(conn, ctx, "SET", key, token, "NX", "PX", ttl.Milliseconds()))
	if errors.Is(err, redigo.ErrNil) {
		return false, nil
	}
	return err == nil, err
}

func (c redigoClient) Release(ctx context.Context, key, token string) (bool, error) {
	conn := c.pool.Get()
	defer conn.Close()
	n, err := redigo.Int64(c.script.DoContext(ctx, conn, key, token))
	return n == 1, err
}

func (c redigoClient) Get(ctx context.Context, key string) (string, error) {
	conn := c.pool.Get()
	defer conn.Close()
	value, err := redigo.String(redigo.DoContext(conn, ctx, "GET", key))
	if errors.Is(err, redigo.ErrNil) {
		return "", nil
	}
	return value, err
}

func (c redigoClient) Close() { c.pool.Close() }

type rueidisClient struct {
	rueidis.Client
	script *rueidis.Lua
}

// openRueidis leaves everything at its default, the probe for a cluster
// included; only client-side caching is off, as nothing pushes invalidations.
func openRueidis(addr string) (lockClient, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		return nil, err
	}
	return rueidisClient{client, rueidis.NewLuaScript(releaseScript)}, nil
}

func (c rueidisClient) Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	set := c.B().Set().Key(key).Value(token).Nx().Px(ttl).Build()
	held, err := c.Do(ctx, set).AsBool()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return held, err
}

func (c rueidisClient) Release(ctx context.Context, key, token string) (bool, error) {
	n, err := c.script.Exec(ctx, c.Client, []string{key}, []string{token}).AsInt64()
	return n == 1, err
}

func (c rueidisClient) Get(ctx context.Context, key string) (string, error) {
	value, err := c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	return value, err
}

func TestPlainClients(t *testing.T) {
	for name, open := range lockClients {
		t.Run(name, func(t *testing.T) {
			forEachTarget(t, func(t *testing.T, addr string) { testLockClient(t, addr, open) })
		})
	}
}

func testLockClient(t *testing.T, addr string, open func(string) (lockClient, error)) {
	c, err := open(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	binaryToken := "\x00\r\n\xff$5\r\n"
	steps := []struct {
		what string
		do   func() (bool, error)
		want bool
	}{
		{"acquire", func() (bool, error) { return c.Acquire(ctx, "k", "a", 30*time.Second) }, true},
		{"contend", func() (bool, error) { return c.Acquire(ctx, "k", "b", 30*time.Second) }, false},
		{"contend, odd time", func() (bool, error) { return c.Acquire(ctx, "k", "b", 1234*time.Millisecond) }, false},
		{"release another's", func() (bool, error) { return c.Release(ctx, "k", "b") }, false},
		{"holder is a", func() (bool, error) { v, err := c.Get(ctx, "k"); return v == "a", err }, true},
		{"release", func() (bool, error) { return c.Release(ctx, "k", "a") }, true},
		{"release again", func() (bool, error) { return c.Release(ctx, "k", "a") }, false},
		{"absent", func() (bool, error) { v, err := c.Get(ctx, "k"); return v == "", err }, true},
		{"binary token", func() (bool, error) { return c.Acquire(ctx, "k\x00\xfe", binaryToken, 1234*time.Millisecond) }, true},
		{"binary holder", func() (bool, error) { v, err := c.Get(ctx, "k\x00\xfe"); return v == binaryToken, err }, true},
		{"binary release", func() (bool, error) { return c.Release(ctx, "k\x00\xfe", binaryToken) }, true},
	}
	for _, s := range steps {
		if got, err := s.do(); got != s.want || err != nil {
			t.Errorf("%s: got %v, error %v, want %v", s.what, got, err, s.want)
		}
	}
}

// TestGoRedisPipeline: a pipeline's replies belong to its commands.
func TestGoRedisPipeline(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		defer client.Close()
		ctx := context.Background()
		var got []bool
		cmds, err := client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, key := range []string{"a", "a", "b", "a", "b"} {
				p.SetNX(ctx, key, "token", 10*time.Second)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, cmd := range cmds {
			got = append(got, cmd.(*goredis.BoolCmd).Val())
		}
		if want := []bool{true, false, true, false, false}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
