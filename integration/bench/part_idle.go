package main

import (
	"fmt"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// runIdle measures the memory of connections that have locked something once
// and say nothing any more: what an operator sees some seconds later. The proxy
// gives back what it does not need only when it has been quiet for a while, so
// that is waited for, before there are connections as well as with them.
func (b *bench) runIdle() (s section, err error) {
	count, settling := 10000, longestSettling
	if b.quick {
		count, settling = 500, time.Second
	}
	idle := *b
	idle.flags = append(idle.flags[:len(idle.flags):len(idle.flags)], "--maxclients", "20000", "--op-timeout", "1s")
	f, err := idle.startField(3)
	if err != nil {
		return s, err
	}
	defer f.close()
	var conns []*harness.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	first, err := lockOnce(f.proxy.Addr, "first") // or what the first lock makes would count for the connections
	if err != nil {
		return s, err
	}
	conns = append(conns, first)
	before, err := f.settledMemory(settling)
	for i := 0; i < count && err == nil; i++ {
		say("opening connection %d of %d", i+1, count)
		var c *harness.Conn
		if c, err = lockOnce(f.proxy.Addr, fmt.Sprintf("idle:%d", i)); err == nil {
			conns = append(conns, c)
		}
	}
	if say(""); err != nil {
		return s, err
	}
	after, err := f.settledMemory(settling)
	if err != nil {
		return s, err
	}
	per := float64(after-before) / float64(count) / 1024
	s.Numbers = map[string]float64{"connections": float64(count), "resident_kb_before": float64(before) / 1024, "resident_kb_after": float64(after) / 1024, "kb_per_connection": per}
	s.tables = []table{{head: []string{"connections", "resident before, MB", "after, MB", "KB per connection"},
		rows: [][]string{{fmt.Sprint(count), fmt.Sprintf("%.1f", float64(before)/(1<<20)), fmt.Sprintf("%.1f", float64(after)/(1<<20)), fmt.Sprintf("%.1f", per)}}}}
	if !b.quick {
		s.goals = []goal{atMost("KB of memory per idle connection", 6, per)}
	}
	return s, nil
}

// lockOnce opens a connection and acquires and releases one lock over it.
func lockOnce(addr, key string) (*harness.Conn, error) {
	c, err := harness.Dial(addr)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		command []string
		want    string
	}{
		{[]string{"SET", key, "token", "NX", "PX", "30000"}, "+OK"},
		{[]string{"EVAL", releaseScript, "1", key, "token"}, ":1"},
	} {
		reply, err := c.Do(step.command...)
		if err == nil && reply != step.want {
			err = fmt.Errorf("%s: %s, want %s", step.command[0], reply, step.want)
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// longestSettling is longer than the proxy has to be quiet before it gives memory
// back.
const longestSettling = 10 * time.Second

// settledMemory is what the proxy has resident when that has not become less
// for as long as settling.
func (f *field) settledMemory(settling time.Duration) (int64, error) {
	least, _, err := f.proxy.Memory()
	for since := time.Now(); err == nil && time.Since(since) < settling; {
		time.Sleep(100 * time.Millisecond)
		var now int64
		if now, _, err = f.proxy.Memory(); now < least {
			least, since = now, time.Now()
		}
	}
	return least, err
}
