package main

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	lockTTL = 30 * time.Second

	releaseScript = `local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`
)

var (
	// errHeld says that somebody else has the lock.
	errHeld = errors.New("the lock is held by somebody else")
	// errLost says that a lock was gone when it was released.
	errLost = errors.New("the lock was lost")
)

var tokens atomic.Uint64

// newToken returns a token that nobody else has. It costs next to nothing, so
// that the making of tokens is not what is measured.
func newToken() string { return "a-token-" + strconv.FormatUint(1e15+tokens.Add(1), 10) }

// locker is a client that locks. It is safe for concurrent use.
type locker interface {
	// Acquire returns how to release the lock, or an error, which is errHeld if
	// somebody else has it.
	Acquire(ctx context.Context, key string) (release, error)
	Close()
}

// release gives a lock back.
type release func(context.Context) error

// where says which servers a contestant works on.
type where uint8

const (
	throughProxy where = iota
	throughOther       // a proxy by another program
	onMasters          // directly, all of them
	onOne              // directly, one plain Redis
	onStore            // servers of its own
)

// contestant is a way of locking. open gets the address of the proxy or of the
// one Redis, or those of all masters or nodes.
type contestant struct {
	name  string
	where where
	open  func(addrs []string, callers int) (locker, error)
	raw   bool // a client without callers, see pipeline; open is nil
}

// The names of contestants that goals speak of.
const (
	rueidisProxy   = "rueidis → redlock-proxy"
	goRedisProxy   = "go-redis → redlock-proxy"
	rawProxy       = "raw pipeline → redlock-proxy"
	redsyncRueidis = "redsync + rueidis → masters"
	redsyncGoRedis = "redsync + go-redis → masters"
)

var (
	viaProxy  = []contestant{{name: rueidisProxy, open: openRueidis}, {name: goRedisProxy, open: openGoRedis}}
	viaMaster = []contestant{
		{name: redsyncRueidis, where: onMasters, open: openRedsyncRueidis(0)},
		{name: redsyncGoRedis, where: onMasters, open: openRedsyncGoRedis},
	}
	viaOne = []contestant{
		{name: "rueidis → one Redis", where: onOne, open: openRueidis},
		{name: "go-redis → one Redis", where: onOne, open: openGoRedis},
		{name: "redislock → one Redis", where: onOne, open: openRedislock},
	}
)
