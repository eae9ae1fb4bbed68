package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis/rueidislock"
)

// rueidislockLibrary is rueidislock as it has to be set up behind a quorum
// proxy: without CLIENT TRACKING, and with one key instead of three.
func rueidislockLibrary() library {
	const automatic = "it extends by itself; the scenario extend-own waits for that"
	return library{
		name: "rueidislock (DisableCache, KeyMajority 1)", module: "github.com/redis/rueidis", short: 400 * time.Millisecond,
		lacks: map[string]string{
			"extend-after-lapse": automatic,
			"query-owned":        "it has no query",
		},
		open: func(addr string) (client, error) { return &rueidislockClient{addr: addr}, nil },
	}
}

type rueidislockClient struct {
	addr    string
	lockers []rueidislock.Locker
}

func (c *rueidislockClient) key(name string) string { return "rueidislock:0:" + name }

func (c *rueidislockClient) close() {
	for _, l := range c.lockers {
		l.Close()
	}
}

// lock makes a locker for each lock: the TTL is the locker's.
func (c *rueidislockClient) lock(name string, ttl time.Duration) lock {
	return &rueidislockLock{client: c, name: name, ttl: ttl}
}

type rueidislockLock struct {
	client *rueidislockClient
	locker rueidislock.Locker
	name   string
	ttl    time.Duration
	cancel context.CancelFunc
	held   context.Context
}

// TryNextAfter is how long the library waits for a reply, and how often it polls
// for a lock that is held. Its default is 20 ms.
const (
	patient = 200 * time.Millisecond
	polling = 25 * time.Millisecond
)

// open makes the locker. One whose lock is to lapse does not extend it.
func (l *rueidislockLock) open(interval, tryNextAfter time.Duration) error {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidisOption(l.client.addr), KeyMajority: 1,
		KeyValidity: l.ttl, ExtendInterval: interval, TryNextAfter: tryNextAfter,
	})
	if err == nil {
		l.locker = locker
		l.client.lockers = append(l.client.lockers, locker)
	}
	return err
}

func (l *rueidislockLock) try() string {
	return l.acquire(patient, func() (context.Context, context.CancelFunc, error) {
		return l.locker.TryWithContext(context.Background(), l.name)
	})
}

func (l *rueidislockLock) wait() string {
	return l.acquire(polling, func() (context.Context, context.CancelFunc, error) {
		return l.locker.WithContext(context.Background(), l.name)
	})
}

func (l *rueidislockLock) acquire(tryNextAfter time.Duration, f func() (context.Context, context.CancelFunc, error)) string {
	if l.locker == nil {
		if err := l.open(time.Hour, tryNextAfter); err != nil {
			return "error: " + err.Error()
		}
	}
	held, cancel, err := f()
	switch {
	case err == nil:
		l.held, l.cancel = held, cancel
		return acquired
	case errors.Is(err, rueidislock.ErrNotLocked):
		return rueidislock.ErrNotLocked.Error()
	}
	return "error: " + err.Error()
}

// release always succeeds: the library does not say whether it did.
func (l *rueidislockLock) release() string {
	l.cancel()
	return released
}

// extend acquires again with a locker that extends by itself, and sees that one
// with a short TTL does.
func (l *rueidislockLock) extend(time.Duration) string {
	l.cancel()
	if err := l.open(l.ttl/4, patient); err != nil {
		return "error: " + err.Error()
	}
	if word := l.try(); word != acquired {
		return word
	}
	if l.ttl < lockTTL {
		sleep(l.ttl)
	}
	if err := l.held.Err(); err != nil {
		return "lost: " + err.Error()
	}
	return extended
}

func (l *rueidislockLock) query() string { return "" }
