package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	rueidispool "github.com/go-redsync/redsync/v4/redis/rueidis"
	redigolib "github.com/gomodule/redigo/redis"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// redsyncLibraries are redsync over its three drivers, each with both ways to
// extend.
func redsyncLibraries() (all []library) {
	for _, driver := range []struct {
		name string
		open func(addr string) (redis.Pool, func(), error)
	}{
		{"go-redis", goRedisPool}, {"redigo", redigoPool}, {"rueidis (DisableCache)", rueidisPool},
	} {
		for _, setNX := range []bool{false, true} {
			name := "redsync over " + driver.name
			if setNX {
				name += ", WithSetNXOnExtend"
			}
			all = append(all, library{
				name: name, module: "github.com/go-redsync/redsync/v4", short: 300 * time.Millisecond,
				open: func(addr string) (client, error) {
					pool, closePool, err := driver.open(addr)
					if err != nil {
						return nil, err
					}
					return &redsyncClient{redsync.New(pool), closePool, setNX}, nil
				},
			})
		}
	}
	return all
}

func goRedisPool(addr string) (redis.Pool, func(), error) {
	c := goredislib.NewClient(&goredislib.Options{Addr: addr})
	return goredis.NewPool(c), func() { c.Close() }, nil
}

func redigoPool(addr string) (redis.Pool, func(), error) {
	p := &redigolib.Pool{
		MaxIdle: 2, IdleTimeout: time.Minute,
		DialContext: func(ctx context.Context) (redigolib.Conn, error) { return redigolib.DialContext(ctx, "tcp", addr) },
	}
	return redigo.NewPool(p), func() { p.Close() }, nil
}

func rueidisPool(addr string) (redis.Pool, func(), error) {
	c, err := rueidis.NewClient(rueidisOption(addr))
	if err != nil {
		return nil, nil, err
	}
	return rueidispool.NewPool(rueidiscompat.NewAdapter(c)), c.Close, nil
}

// rueidisOption is how rueidis is used without its client-side cache, which
// needs CLIENT TRACKING.
func rueidisOption(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, Dialer: net.Dialer{Timeout: 5 * time.Second}}
}

type redsyncClient struct {
	*redsync.Redsync
	closePool func()
	setNX     bool
}

func (c *redsyncClient) close()                 { c.closePool() }
func (c *redsyncClient) key(name string) string { return name }

func (c *redsyncClient) lock(name string, ttl time.Duration) lock {
	options := []redsync.Option{
		redsync.WithExpiry(ttl), redsync.WithTries(100_000), redsync.WithTimeoutFactor(0.9),
		redsync.WithRetryDelayFunc(func(int) time.Duration { return retryDelay() }),
	}
	if c.setNX {
		options = append(options, redsync.WithSetNXOnExtend())
	}
	return &redsyncLock{c.NewMutex(name, options...), ttl, func(ttl time.Duration) *redsync.Mutex {
		return c.NewMutex(name, append(options, redsync.WithExpiry(ttl))...)
	}}
}

// retryDelay is how long callers wait between tries.
func retryDelay() time.Duration { return 5*time.Millisecond + rand.N(15*time.Millisecond) }

type redsyncLock struct {
	*redsync.Mutex
	ttl   time.Duration
	again func(ttl time.Duration) *redsync.Mutex // another one, for the same lock
}

func (l *redsyncLock) try() string  { return redsyncWord(true, l.TryLock(), acquired) }
func (l *redsyncLock) wait() string { return redsyncWord(true, l.Lock(), acquired) }

func (l *redsyncLock) release() string {
	ok, err := l.Unlock()
	return redsyncWord(ok, err, released)
}

// extend gives the mutex a new expiry: its own is fixed, so the value is handed
// to another one.
func (l *redsyncLock) extend(ttl time.Duration) string {
	m := l.again(ttl)
	redsync.WithValue(l.Value()).Apply(m)
	ok, err := m.Extend()
	return redsyncWord(ok, err, extended)
}

func (l *redsyncLock) query() string {
	ok, err := l.Valid()
	if err != nil {
		return redsyncWord(ok, err, "")
	}
	return fmt.Sprintf("valid: %v", ok)
}

// redsyncWord tells a refusal from an error of the server or the connection.
func redsyncWord(ok bool, err error, good string) string {
	var redisError *redsync.RedisError
	switch {
	case errors.As(err, &redisError):
		return "error: " + err.Error()
	case err != nil:
		return fmt.Sprintf("%v, %v", ok, err)
	case !ok:
		return "false"
	}
	return good
}
