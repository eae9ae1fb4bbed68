package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

const (
	lockTTL = 30 * time.Second
	token   = "a-token-of-22-characters"

	releaseScript = `local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`
)

// errLost says that a cycle did not have its lock.
var errLost = errors.New("a lock on a key of its own was not granted, or was lost")

// cycler is one contestant ready to run. Cycle acquires and releases key; it
// is safe for concurrent use.
type cycler interface {
	Cycle(ctx context.Context, key string) error
	Close()
}

// where says which servers a contestant works on.
type where uint8

const (
	throughProxy where = iota
	onMasters          // directly, all of them
	onOne              // directly, one plain Redis
)

// contestant is a way of locking. open gets the address of the proxy or of the
// one Redis, or of all masters.
type contestant struct {
	name  string
	where where
	open  func(addrs []string, callers int) (cycler, error)
}

func contestants() []contestant {
	return []contestant{
		{"rueidis → redlock-proxy", throughProxy, openRueidis},
		{"go-redis → redlock-proxy", throughProxy, openGoRedis},
		{"redsync + rueidis → masters", onMasters, openRedsyncRueidis(0)},
		{"redsync + rueidis, one connection each → masters", onMasters, openRedsyncRueidis(-1)},
		{"redsync + go-redis → masters", onMasters, openRedsyncGoRedis},
		{"rueidis → one Redis", onOne, openRueidis},
		{"go-redis → one Redis", onOne, openGoRedis},
	}
}

// rueidisCycler is a plain rueidis client with all callers on one connection.
type rueidisCycler struct {
	client rueidis.Client
	script *rueidis.Lua
}

// newRueidis opens a client. multiplex is 0 for rueidis' default number of
// connections, which it chooses among at random, -1 for a single one.
func newRueidis(addr string, multiplex int) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{addr},
		DisableCache:      true,
		PipelineMultiplex: multiplex,
	})
}

func openRueidis(addrs []string, _ int) (cycler, error) {
	client, err := newRueidis(addrs[0], -1)
	if err != nil {
		return nil, err
	}
	return rueidisCycler{client, rueidis.NewLuaScript(releaseScript)}, nil
}

func (c rueidisCycler) Cycle(ctx context.Context, key string) error {
	set := c.client.B().Set().Key(key).Value(token).Nx().Px(lockTTL).Build()
	switch err := c.client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return errLost
	case err != nil:
		return fmt.Errorf("acquire: %w", err)
	}
	n, err := c.script.Exec(ctx, c.client, []string{key}, []string{token}).AsInt64()
	return released(n, err)
}

func (c rueidisCycler) Close() { c.client.Close() }

// released is the outcome of a release script.
func released(n int64, err error) error {
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if n != 1 {
		return errLost
	}
	return nil
}

// goRedisCycler is a plain go-redis client with a connection for each caller.
type goRedisCycler struct {
	client *goredis.Client
	script *goredis.Script
}

func newGoRedis(addr string, callers int) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: callers, MinIdleConns: callers})
}

func openGoRedis(addrs []string, callers int) (cycler, error) {
	return goRedisCycler{newGoRedis(addrs[0], callers), goredis.NewScript(releaseScript)}, nil
}

func (c goRedisCycler) Cycle(ctx context.Context, key string) error {
	ok, err := c.client.SetNX(ctx, key, token, lockTTL).Result()
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if !ok {
		return errLost
	}
	return released(c.script.Run(ctx, c.client, []string{key}, token).Int64())
}

func (c goRedisCycler) Close() { c.client.Close() }

// redsyncCycler is redsync over all masters. As for the others the token is
// always the same, so that nobody spends time on making one.
type redsyncCycler struct {
	rs    *redsync.Redsync
	close []func()
}

func openRedsyncRueidis(multiplex int) func(addrs []string, callers int) (cycler, error) {
	return func(addrs []string, _ int) (cycler, error) {
		var c redsyncCycler
		var pools []redis.Pool
		for _, addr := range addrs {
			client, err := newRueidis(addr, multiplex)
			if err != nil {
				c.Close()
				return nil, err
			}
			c.close = append(c.close, client.Close)
			pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)))
		}
		c.rs = redsync.New(pools...)
		return c, nil
	}
}

func openRedsyncGoRedis(addrs []string, callers int) (cycler, error) {
	var c redsyncCycler
	var pools []redis.Pool
	for _, addr := range addrs {
		client := newGoRedis(addr, callers)
		c.close = append(c.close, func() { client.Close() })
		pools = append(pools, redsyncgoredis.NewPool(client))
	}
	c.rs = redsync.New(pools...)
	return c, nil
}

func (c redsyncCycler) Cycle(ctx context.Context, key string) error {
	m := c.rs.NewMutex(key, redsync.WithExpiry(lockTTL), redsync.WithTries(1),
		redsync.WithGenValueFunc(func() (string, error) { return token, nil }))
	if err := m.LockContext(ctx); err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if ok, err := m.UnlockContext(ctx); err != nil || !ok {
		return fmt.Errorf("release: %w", errors.Join(err, errLost))
	}
	return nil
}

func (c redsyncCycler) Close() {
	for _, f := range c.close {
		f()
	}
}
