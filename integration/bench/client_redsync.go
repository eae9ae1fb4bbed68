package main

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// redsyncLocker is redsync over all masters.
type redsyncLocker struct {
	rs    *redsync.Redsync
	close []func()
}

func openRedsyncRueidis(multiplex int) func(addrs []string, callers int) (locker, error) {
	return func(addrs []string, _ int) (locker, error) {
		var l redsyncLocker
		var pools []redis.Pool
		for _, addr := range addrs {
			client, err := newRueidis(addr, multiplex)
			if err != nil {
				l.Close()
				return nil, err
			}
			l.close = append(l.close, client.Close)
			pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)))
		}
		l.rs = redsync.New(pools...)
		return l, nil
	}
}

func openRedsyncGoRedis(addrs []string, callers int) (locker, error) {
	var l redsyncLocker
	var pools []redis.Pool
	for _, addr := range addrs {
		client := newGoRedis(addr, callers)
		l.close = append(l.close, func() { client.Close() })
		pools = append(pools, redsyncgoredis.NewPool(client))
	}
	l.rs = redsync.New(pools...)
	return l, nil
}

func (l redsyncLocker) Acquire(ctx context.Context, key string) (release, error) {
	m := l.rs.NewMutex(key, redsync.WithExpiry(lockTTL), redsync.WithTries(1),
		redsync.WithGenValueFunc(func() (string, error) { return newToken(), nil }))
	if err := m.LockContext(ctx); err != nil {
		return nil, refusal(err)
	}
	return func(ctx context.Context) error {
		ok, err := m.UnlockContext(ctx)
		if err == nil && !ok {
			err = errLost
		}
		return err
	}, nil
}

// refusal is errHeld if masters said that somebody has the lock, and none failed.
func refusal(err error) error {
	var failed *redsync.RedisError
	var taken *redsync.ErrTaken
	var one *redsync.ErrNodeTaken
	if !errors.As(err, &failed) && (errors.As(err, &taken) || errors.As(err, &one)) {
		return errHeld
	}
	return err
}

func (l redsyncLocker) Close() {
	for _, f := range l.close {
		f()
	}
}
