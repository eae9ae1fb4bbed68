package main

import (
	"context"

	"github.com/redis/rueidis"
)

// rueidisLocker is a plain rueidis client with all callers on one connection.
type rueidisLocker struct {
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

func openRueidis(addrs []string, _ int) (locker, error) {
	client, err := newRueidis(addrs[0], -1)
	if err != nil {
		return nil, err
	}
	return rueidisLocker{client, rueidis.NewLuaScript(releaseScript)}, nil
}

func (l rueidisLocker) Acquire(ctx context.Context, key string) (release, error) {
	token := newToken()
	set := l.client.B().Set().Key(key).Value(token).Nx().Px(lockTTL).Build()
	switch err := l.client.Do(ctx, set).Error(); {
	case rueidis.IsRedisNil(err):
		return nil, errHeld
	case err != nil:
		return nil, err
	}
	return func(ctx context.Context) error {
		return released(l.script.Exec(ctx, l.client, []string{key}, []string{token}).AsInt64())
	}, nil
}

func (l rueidisLocker) Close() { l.client.Close() }

// released is the outcome of a release script.
func released(n int64, err error) error {
	if err == nil && n != 1 {
		err = errLost
	}
	return err
}
