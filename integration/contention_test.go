package integration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// locker takes a lock, waiting for it, and returns what releases it.
type locker func(ctx context.Context, key string) (unlock func() error, err error)

// lockers are the lock libraries, each polling fast.
var lockers = map[string]func(t *testing.T, addr string) locker{
	"redsync with go-redis": redsyncLocker("go-redis"),
	"redsync with redigo":   redsyncLocker("redigo"),
	"redsync with rueidis":  redsyncLocker("rueidis"),
	"redislock":             redislockLocker,
}

const (
	retryDelay = 2 * time.Millisecond
	work       = 300 * time.Microsecond // what a holder does with its lock
)

func redsyncLocker(driver string) func(t *testing.T, addr string) locker {
	return func(t *testing.T, addr string) locker {
		rs := redsync.New(redsyncPools[driver](t, addr))
		return func(ctx context.Context, key string) (func() error, error) {
			m := rs.NewMutex(key, redsync.WithTries(1<<20), redsync.WithRetryDelay(retryDelay))
			if err := m.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error {
				_, err := m.Unlock()
				return err
			}, nil
		}
	}
}

func redislockLocker(t *testing.T, addr string) locker {
	client := openRedislock(t, addr)
	return func(ctx context.Context, key string) (func() error, error) {
		opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(retryDelay)}
		lock, err := client.Obtain(ctx, key, 8*time.Second, opt)
		if err != nil {
			return nil, err
		}
		return func() error { return lock.Release(context.Background()) }, nil
	}
}

// contest lets callers take one lock again and again and reports when two of
// them have it.
type contest struct {
	inside   atomic.Int32 // callers that believe to hold the lock
	overlaps atomic.Int32
	done     atomic.Int32 // rounds
	atRound  int32        // when to call at, 0: never
	at       func()
}

// run makes rounds by each of the lockers, one caller each.
func (c *contest) run(t *testing.T, lockers []locker, rounds int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	for _, lock := range lockers {
		callers.Go(func() {
			for range rounds {
				if err := c.round(ctx, lock); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	if n := c.overlaps.Load(); n > 0 {
		t.Errorf("two callers held the lock at once, %d times", n)
	}
	if got, want := int(c.done.Load()), rounds*len(lockers); got != want {
		t.Errorf("%d rounds were won, want %d", got, want)
	}
}

func (c *contest) round(ctx context.Context, lock locker) error {
	unlock, err := lock(ctx, "contended")
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if c.inside.Add(1) != 1 {
		c.overlaps.Add(1)
	}
	if c.done.Add(1) == c.atRound {
		c.at()
	}
	time.Sleep(work)
	c.inside.Add(-1)
	if err := unlock(); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

// repeat is n times the same locker.
func repeat(n int, lock locker) []locker {
	all := make([]locker, n)
	for i := range all {
		all[i] = lock
	}
	return all
}

func TestCallersNeverHoldOneLockAtOnce(t *testing.T) {
	for name, open := range lockers {
		t.Run(name, func(t *testing.T) {
			forEachTarget(t, func(t *testing.T, addr string) {
				new(contest).run(t, repeat(8, open(t, addr)), 50)
			})
		})
	}
}

func TestCallersNeverHoldOneLockAtOnceWhileAMasterDies(t *testing.T) {
	for name, open := range lockers {
		for _, n := range []int{3, 5} {
			t.Run(fmt.Sprintf("%s, %d masters", name, n), func(t *testing.T) {
				m := startMasters(t, n)
				p := startProxy(t, m)
				c := contest{atRound: 200, at: m[n-1].Kill}
				// The others are still a majority, so nobody may see an error.
				c.run(t, repeat(8, open(t, p.Addr)), 50)
			})
		}
	}
}

func TestTwoProxiesNeverHaveTwoWinners(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("%d masters", n), func(t *testing.T) {
			m := startMasters(t, n)
			one, two := startProxy(t, m), startProxy(t, m)
			var callers []locker
			for name := range lockers {
				callers = append(callers, repeat(2, lockers[name](t, one.Addr))...)
				callers = append(callers, repeat(2, lockers[name](t, two.Addr))...)
			}
			new(contest).run(t, callers, 30)
			m.waitEmpty(t, soon)
		})
	}
}
