package main

import (
	"context"
	"errors"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
)

// goRedisLocker is a plain go-redis client with a connection for each caller.
type goRedisLocker struct {
	client *goredis.Client
	script *goredis.Script
}

func newGoRedis(addr string, callers int) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: callers, MinIdleConns: callers})
}

func openGoRedis(addrs []string, callers int) (locker, error) {
	return goRedisLocker{newGoRedis(addrs[0], callers), goredis.NewScript(releaseScript)}, nil
}

func (l goRedisLocker) Acquire(ctx context.Context, key string) (release, error) {
	token := newToken()
	ok, err := l.client.SetNX(ctx, key, token, lockTTL).Result()
	if err == nil && !ok {
		err = errHeld
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return released(l.script.Run(ctx, l.client, []string{key}, token).Int64())
	}, nil
}

func (l goRedisLocker) Close() { l.client.Close() }

// redislockLocker is bsm/redislock.
type redislockLocker struct {
	client *goredis.Client
	locks  *redislock.Client
}

func openRedislock(addrs []string, callers int) (locker, error) {
	client := newGoRedis(addrs[0], callers)
	return redislockLocker{client, redislock.New(client)}, nil
}

func (l redislockLocker) Acquire(ctx context.Context, key string) (release, error) {
	lock, err := l.locks.Obtain(ctx, key, lockTTL, &redislock.Options{Token: newToken()})
	if errors.Is(err, redislock.ErrNotObtained) {
		err = errHeld
	}
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func (l redislockLocker) Close() { l.client.Close() }
