//go:build linux

package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// The load of the victims: little, so that it is not themselves they wait for.
const (
	victimConns = 4
	victimPause = 20 * time.Millisecond // from one cycle of a connection to its next
)

const releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

// victims is what they measured of their cycles, in microseconds.
type victims struct {
	Cycles, Failed int
	P50, P99, Max  float64
	Fault          string // the first
}

// suffer acquires and releases locks for as long as the role lasts.
func (r *role) suffer() (victims, error) {
	var mu sync.Mutex
	var all harness.Latencies
	var v victims
	var wg sync.WaitGroup
	for i := range victimConns {
		c, err := dialIn(r.addr)
		if err != nil {
			return v, err
		}
		wg.Go(func() {
			times, failed, fault := cycles(c, fmt.Sprint("victim:", i), r.seconds)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			v.Failed += failed
			if v.Fault == "" {
				v.Fault = fault
			}
		})
	}
	wg.Wait()
	v.Cycles = len(all)
	v.P50, v.P99, v.Max = micros(all.Quantile(.5)), micros(all.Quantile(.99)), micros(all.Quantile(1))
	return v, nil
}

// dialIn connects, and logs in where there is a password.
func dialIn(addr string) (*harness.Conn, error) {
	c, err := harness.Dial(addr)
	if err != nil {
		return nil, err
	}
	if password := os.Getenv(passwordVariable); password != "" {
		if got, err := c.Do("AUTH", password); err != nil || got != "+OK" {
			return nil, fmt.Errorf("AUTH: %s, %w", got, err)
		}
	}
	return c, nil
}

// cycles runs cycles on one connection. Each is due at a fixed time, and
// measured from then.
func cycles(c *harness.Conn, key string, length time.Duration) (times harness.Latencies, failed int, fault string) {
	start := time.Now()
	for due := start; due.Sub(start) < length; due = due.Add(victimPause) {
		time.Sleep(time.Until(due))
		err := expect(c, "+OK", "SET", key, "token", "NX", "PX", "30000")
		if err == nil {
			err = expect(c, ":1", "EVAL", releaseScript, "1", key, "token")
		}
		if err != nil {
			failed++
			fault = err.Error()
			c.Do("EVAL", releaseScript, "1", key, "token")
		}
		times = append(times, time.Since(due))
	}
	return times, failed, fault
}

func expect(c *harness.Conn, want string, args ...string) error {
	got, err := c.Do(args...)
	if err == nil && got != want {
		err = fmt.Errorf("%s: got %s, want %s", args[0], got, want)
	}
	return err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
