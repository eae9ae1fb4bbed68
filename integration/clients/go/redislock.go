package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	redislock93 "github.com/bsm/redislock93"
	redislock94 "github.com/bsm/redislock94"
	goredis "github.com/redis/go-redis/v9"
)

// heldLock is a lock of bsm/redislock, in any version.
type heldLock interface {
	Release(ctx context.Context) error
	TTL(ctx context.Context) (time.Duration, error)
}

// redislockAPI is what differs between its versions, in types at least.
type redislockAPI struct {
	obtain  func(ctx context.Context, name string, ttl time.Duration, wait bool) (heldLock, error)
	refresh func(ctx context.Context, l heldLock, ttl time.Duration) error
	refused func(error) bool // ErrNotObtained or ErrLockNotHeld
}

func redislockLibraries() []library {
	row := func(name, module string, api func(*goredis.Client) redislockAPI) library {
		return library{
			name: name, module: module, short: 300 * time.Millisecond,
			open: func(addr string) (client, error) {
				c := goredis.NewClient(&goredis.Options{Addr: addr})
				return &redislockClient{c, api(c)}, nil
			},
		}
	}
	return []library{
		row("bsm/redislock", "github.com/bsm/redislock93", redislock93API),
		row("bsm/redislock", "github.com/bsm/redislock94", redislock94API),
		row("bsm/redislock", "github.com/bsm/redislock", func(c *goredis.Client) redislockAPI { return redislockNewest(c, "") }),
		row("bsm/redislock, metadata", "github.com/bsm/redislock", func(c *goredis.Client) redislockAPI { return redislockNewest(c, "host-1") }),
		row("bsm/redislock, three keys", "github.com/bsm/redislock", redislockMulti),
	}
}

type redislockClient struct {
	*goredis.Client
	api redislockAPI
}

func (c *redislockClient) close()                 { c.Close() }
func (c *redislockClient) key(name string) string { return name }

func (c *redislockClient) lock(name string, ttl time.Duration) lock {
	return &redislockLock{api: c.api, name: name, ttl: ttl}
}

type redislockLock struct {
	api  redislockAPI
	name string
	ttl  time.Duration
	held heldLock // nil before the first one
}

func (l *redislockLock) try() string  { return l.obtain(false) }
func (l *redislockLock) wait() string { return l.obtain(true) }

func (l *redislockLock) obtain(wait bool) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	held, err := l.api.obtain(ctx, l.name, l.ttl, wait)
	if err == nil {
		l.held = held
	}
	return l.word(err, acquired)
}

func (l *redislockLock) release() string {
	return l.word(l.held.Release(context.Background()), released)
}

func (l *redislockLock) extend(ttl time.Duration) string {
	return l.word(l.api.refresh(context.Background(), l.held, ttl), extended)
}

// query is the remaining time in tenths of the TTL.
func (l *redislockLock) query() string {
	if l.held == nil {
		return "no lock yet"
	}
	ttl, err := l.held.TTL(context.Background())
	if err != nil {
		return l.word(err, "")
	}
	return fmt.Sprintf("%d tenths left", (ttl*10+l.ttl/2)/l.ttl)
}

func (l *redislockLock) word(err error, good string) string {
	switch {
	case err == nil:
		return good
	case l.api.refused(err):
		return err.Error()
	}
	return "error: " + err.Error()
}

func redislock93API(c *goredis.Client) redislockAPI {
	lib := redislock93.New(c)
	return redislockAPI{
		obtain: func(ctx context.Context, name string, ttl time.Duration, wait bool) (heldLock, error) {
			o := &redislock93.Options{}
			if wait {
				o.RetryStrategy = redislock93.LinearBackoff(retryDelay())
			}
			return lib.Obtain(ctx, name, ttl, o)
		},
		refresh: func(ctx context.Context, l heldLock, ttl time.Duration) error {
			return l.(*redislock93.Lock).Refresh(ctx, ttl, nil)
		},
		refused: func(err error) bool {
			return errors.Is(err, redislock93.ErrNotObtained) || errors.Is(err, redislock93.ErrLockNotHeld)
		},
	}
}

func redislock94API(c *goredis.Client) redislockAPI {
	lib := redislock94.New(c)
	return redislockAPI{
		obtain: func(ctx context.Context, name string, ttl time.Duration, wait bool) (heldLock, error) {
			o := &redislock94.Options{}
			if wait {
				o.RetryStrategy = redislock94.LinearBackoff(retryDelay())
			}
			return lib.Obtain(ctx, name, ttl, o)
		},
		refresh: func(ctx context.Context, l heldLock, ttl time.Duration) error {
			return l.(*redislock94.Lock).Refresh(ctx, ttl, nil)
		},
		refused: func(err error) bool {
			return errors.Is(err, redislock94.ErrNotObtained) || errors.Is(err, redislock94.ErrLockNotHeld)
		},
	}
}

func redislockNewest(c *goredis.Client, metadata string) redislockAPI {
	return redislockOf(c, metadata, func(name string) []string { return []string{name} })
}

// redislockMulti locks three keys at once.
func redislockMulti(c *goredis.Client) redislockAPI {
	return redislockOf(c, "", func(name string) []string { return []string{name, name + ":2", name + ":3"} })
}

func redislockOf(c *goredis.Client, metadata string, keys func(name string) []string) redislockAPI {
	lib := redislock.New(c)
	return redislockAPI{
		obtain: func(ctx context.Context, name string, ttl time.Duration, wait bool) (heldLock, error) {
			o := &redislock.Options{Metadata: metadata}
			if wait {
				o.RetryStrategy = redislock.LinearBackoff(retryDelay())
			}
			return lib.ObtainMulti(ctx, keys(name), ttl, o)
		},
		refresh: func(ctx context.Context, l heldLock, ttl time.Duration) error {
			return l.(*redislock.Lock).Refresh(ctx, ttl, nil)
		},
		refused: func(err error) bool {
			return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld)
		},
	}
}
