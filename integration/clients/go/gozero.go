package main

import (
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// goZeroLibrary is go-zero's RedisLock. It extends by acquiring again; its TTL
// is half a second more than the seconds that were set.
//
// Its circuit breaker, one for each address, counts NOSCRIPT as a failure of the
// server. A server that knows none of its scripts fails the first call of every
// scenario at once, which opens the breaker now and then; so the scripts are there
// before.
func goZeroLibrary() library {
	logx.Disable() // it logs to stdout
	return library{
		name: "go-zero RedisLock", module: "github.com/zeromicro/go-zero", short: 500 * time.Millisecond,
		lacks: map[string]string{"query-owned": "it has no query"},
		open: func(addr string) (client, error) {
			r, err := redis.NewRedis(redis.RedisConf{Host: addr, Type: redis.NodeType})
			return &goZeroClient{r}, err
		},
		prepare: func(addr string) error {
			r, err := redis.NewRedis(redis.RedisConf{Host: addr, Type: redis.NodeType})
			if err != nil {
				return err
			}
			l := redis.NewRedisLock(r, "lock:prepare")
			l.SetExpire(1)
			if ok, err := l.Acquire(); !ok || err != nil {
				return fmt.Errorf("acquire: %t, %v", ok, err)
			}
			if ok, err := l.Release(); !ok || err != nil {
				return fmt.Errorf("release: %t, %v", ok, err)
			}
			return nil
		},
	}
}

type goZeroClient struct{ *redis.Redis }

func (c *goZeroClient) close()                 {} // it keeps one for each address
func (c *goZeroClient) key(name string) string { return name }

func (c *goZeroClient) lock(name string, ttl time.Duration) lock {
	l := &goZeroLock{redis.NewRedisLock(c.Redis, name)}
	l.SetExpire(int(ttl / time.Second))
	return l
}

type goZeroLock struct{ *redis.RedisLock }

func (l *goZeroLock) try() string {
	ok, err := l.Acquire()
	return goZeroWord(ok, err, acquired)
}

func (l *goZeroLock) wait() string {
	for {
		if word := l.try(); word != "false" {
			return word
		}
		time.Sleep(retryDelay())
	}
}

func (l *goZeroLock) release() string {
	ok, err := l.Release()
	return goZeroWord(ok, err, released)
}

func (l *goZeroLock) extend(ttl time.Duration) string {
	l.SetExpire(int(ttl / time.Second))
	ok, err := l.Acquire()
	return goZeroWord(ok, err, extended)
}

func (l *goZeroLock) query() string { return "" }

func goZeroWord(ok bool, err error, good string) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !ok:
		return "false"
	}
	return good
}
