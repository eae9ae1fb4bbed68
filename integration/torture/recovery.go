//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
	"redlock-proxy/integration/torture/caller"
)

// When everything is repaired …
const (
	votesWithin = 30 * time.Second // … all masters vote again, and
	// every lock can be had: a clock that was set back by half a minute keeps
	// keys for so much longer.
	locksWithin = caller.LongestTTL + 45*time.Second
	// Nothing grows with time.
	mostMemory     = 200 << 20
	mostGoroutines = 400
)

// checkRecovery looks whether faults have left anything behind.
func (t *trial) checkRecovery() {
	t.check("votes", votesWithin, func() error {
		for _, m := range t.stage.Masters {
			if err := m.Votes(); err != nil {
				return err
			}
		}
		return nil
	})
	for _, key := range t.ledger.Keys() {
		t.check(key, locksWithin, func() error { return t.lockOnce(key) })
	}
	for _, m := range t.stage.Masters {
		t.check("keys", locksWithin, func() error { return onlyOwnKeys(m.Server().Addr()) })
	}
	for _, p := range t.stage.Proxies {
		t.check("proxies", 0, func() error { return bounded(p.Process()) })
	}
}

func (t *trial) check(what string, within time.Duration, check func() error) {
	if err := harness.Eventually(within, check); err != nil {
		t.ledger.Violate(what, "after all faults were repaired: "+err.Error())
	}
}

// lockOnce acquires and releases a lock through each proxy.
func (t *trial) lockOnce(key string) error {
	for i, p := range t.stage.Proxies {
		token := fmt.Sprintf("recovery/%d/%d", i, time.Now().UnixNano())
		reply, err := harness.Do(p.Addr, "SET", key, token, "NX", "PX", "2000")
		if err != nil || reply != "+OK" {
			return fmt.Errorf("acquire of %s through proxy %d: %s, %v", key, i+1, reply, err)
		}
		if reply, err = harness.Do(p.Addr, "DELEX", key, "IFEQ", token); err != nil || reply != ":1" {
			return fmt.Errorf("release of %s through proxy %d: %s, %v", key, i+1, reply, err)
		}
	}
	return nil
}

// onlyOwnKeys reports, as an error or nil, whether a master holds no locks, and
// no key for ever but the record.
func onlyOwnKeys(addr string) error {
	c, err := harness.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	keys, err := c.Do("KEYS", "*")
	if err != nil {
		return err
	}
	for _, quoted := range strings.Fields(strings.Trim(keys, "[]")) {
		key := strings.Trim(quoted, `"`)
		ttl, err := c.Do("PTTL", key)
		switch own := strings.HasPrefix(key, "redlock-proxy:{"); {
		case err != nil:
			return err
		case ttl == ":-1" && !strings.HasSuffix(key, "}:record"):
			return fmt.Errorf("%s on master %s stays for ever", key, addr)
		case ttl != ":-2" && !own:
			return fmt.Errorf("%s on master %s is left for %s ms", key, addr, ttl[1:])
		}
	}
	return nil
}

// bounded reports, as an error or nil, whether a proxy has kept its size.
func bounded(p *harness.Proxy) error {
	memory, err := p.Metric("process_resident_memory_bytes")
	if err != nil {
		return err
	}
	goroutines, err := p.Metric("go_goroutines")
	switch {
	case err != nil:
		return err
	case memory > mostMemory:
		return fmt.Errorf("proxy %s has %.0f bytes of memory", p.Addr, memory)
	case goroutines > mostGoroutines:
		return fmt.Errorf("proxy %s has %.0f goroutines", p.Addr, goroutines)
	}
	for _, bad := range []string{"panic", "fatal error"} {
		if strings.Contains(p.Log(), bad) {
			return fmt.Errorf("the log of proxy %s speaks of a %s", p.Addr, bad)
		}
	}
	return nil
}
