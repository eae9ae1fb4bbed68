package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
)

// openRedislock is bsm/redislock over go-redis, its only driver.
func openRedislock(t *testing.T, addr string) *redislock.Client {
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	return redislock.New(client)
}

func TestRedislock(t *testing.T) {
	forEachTarget(t, func(t *testing.T, addr string) {
		client := openRedislock(t, addr)
		redislockCalls(t, client).check(t, []string{
			"a obtains: yes",
			"b obtains: no, redislock: not obtained",
			"a has time: yes",
			"a refreshes: yes",
			"a obtains with its token: yes",
			"impostor refreshes: no, redislock: not obtained",
			"impostor releases: no, redislock: lock not held",
			"a releases: yes",
			"a releases again: no, redislock: lock not held",
			"a refreshes again: no, redislock: not obtained",
			"a has no time: yes",
			"b obtains: yes",
			"b releases: yes",
		})
		redislockLapse(t, client).check(t, []string{
			"c obtains: yes",
			"d obtains after c: yes",
			"c refreshes: no, redislock: not obtained",
			"c releases: no, redislock: lock not held",
			"d releases: yes",
		})
	})
}

const (
	tokenA = "aaaaaaaaaaaaaaaaaaaaaa"
	tokenB = "bbbbbbbbbbbbbbbbbbbbbb"
)

func redislockCalls(t *testing.T, client *redislock.Client) (tr transcript) {
	t.Helper()
	ctx := context.Background()
	obtain := func(call, token, metadata string) *redislock.Lock {
		lock, err := client.Obtain(ctx, "lock", 30*time.Second, &redislock.Options{Token: token, Metadata: metadata})
		tr.add(call, err == nil, err)
		return lock
	}
	does := func(call string, err error) { tr.add(call, err == nil, err) }
	a := obtain("a obtains", tokenA, "on host 1")
	obtain("b obtains", tokenB, "")
	ttl, err := a.TTL(ctx)
	tr.add("a has time", ttl > 29*time.Second && ttl <= 30*time.Second, err)
	does("a refreshes", a.Refresh(ctx, 40*time.Second, nil))
	a = obtain("a obtains with its token", tokenA, "on host 2")
	tr = append(tr, redislockImpostor(t, client)...)
	does("a releases", a.Release(ctx))
	does("a releases again", a.Release(ctx))
	does("a refreshes again", a.Refresh(ctx, time.Second, nil))
	ttl, err = a.TTL(ctx)
	tr.add("a has no time", ttl == 0, err)
	b := obtain("b obtains", tokenB, "")
	does("b releases", b.Release(ctx))
	return tr
}

// redislockImpostor is a caller whose lock on a key lapsed and was taken by
// another.
func redislockImpostor(t *testing.T, client *redislock.Client) (tr transcript) {
	t.Helper()
	ctx := context.Background()
	lost, err := client.Obtain(ctx, "lost", 100*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := obtainSoon(t, client, "lost")
	err = lost.Refresh(ctx, time.Second, nil)
	tr.add("impostor refreshes", err == nil, err)
	err = lost.Release(ctx)
	tr.add("impostor releases", err == nil, err)
	if err := taken.Release(ctx); err != nil {
		t.Errorf("the holder's release after an impostor's: %v", err)
	}
	return tr
}

// obtainSoon obtains a lock that is about to lapse.
func obtainSoon(t *testing.T, client *redislock.Client, key string) (lock *redislock.Lock) {
	t.Helper()
	eventually(t, soon, func() (err error) {
		lock, err = client.Obtain(context.Background(), key, 30*time.Second, nil)
		if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
			t.Fatal(err)
		}
		return err
	})
	return lock
}

func redislockLapse(t *testing.T, client *redislock.Client) (tr transcript) {
	t.Helper()
	ctx := context.Background()
	c, err := client.Obtain(ctx, "brief", 150*time.Millisecond, nil)
	tr.add("c obtains", err == nil, err)
	d := obtainSoon(t, client, "brief")
	tr.add("d obtains after c", true, nil)
	err = c.Refresh(ctx, time.Second, nil)
	tr.add("c refreshes", err == nil, err)
	err = c.Release(ctx)
	tr.add("c releases", err == nil, err)
	err = d.Release(ctx)
	tr.add("d releases", err == nil, err)
	return tr
}
