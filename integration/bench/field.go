package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// field is the servers that one number of masters is measured with. All run
// all the time; who is not in use is idle.
type field struct {
	masters []*harness.Redis
	one     *harness.Redis
	proxy   *harness.Proxy
	other   *harness.Proxy // nil if there is none
	serial  int            // measurements so far: no key is ever used twice
}

// startField starts n masters with further arguments, one plain Redis, and the
// proxy.
func (b *bench) startField(n int, redisArgs ...string) (*field, error) {
	f := &field{}
	var err error
	var addrs []string
	for i := 0; i < n && err == nil; i++ {
		var r *harness.Redis
		if r, err = b.startRedis(redisArgs); err == nil {
			f.masters = append(f.masters, r)
			addrs = append(addrs, r.Addr())
		}
	}
	if err == nil {
		f.one, err = b.startRedis(redisArgs)
	}
	if err == nil {
		f.proxy, err = harness.StartProxy(b.binary, addrs, b.flags...)
	}
	if err == nil {
		err = f.proxy.WaitReady(10 * time.Second)
	}
	if err == nil && b.other != "" {
		f.other, err = harness.StartProxy(b.other, addrs, b.flags...)
	}
	if err == nil && f.other != nil {
		err = f.other.WaitReady(10 * time.Second)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// startRedis starts a server with a directory of its own.
func (b *bench) startRedis(args []string) (*harness.Redis, error) {
	dir, err := os.MkdirTemp(b.dir, "redis")
	if err != nil {
		return nil, err
	}
	return harness.StartRedis(dir, args...)
}

func (f *field) close() {
	for _, p := range []*harness.Proxy{f.proxy, f.other} {
		if p != nil {
			p.Kill()
		}
	}
	for _, r := range append(f.masters, f.one) {
		if r != nil {
			r.Kill()
		}
	}
}

// addrs are the servers that a contestant works on.
func (f *field) addrs(w where) []string {
	switch w {
	case throughProxy:
		return []string{f.proxy.Addr}
	case throughOther:
		return []string{f.other.Addr}
	case onOne:
		return []string{f.one.Addr()}
	}
	var addrs []string
	for _, r := range f.masters {
		addrs = append(addrs, r.Addr())
	}
	return addrs
}

// sample runs one contestant for a while, after a short warm-up. disturb, if
// there is one, is called in between.
func (f *field) sample(c contestant, what load, callers int, length time.Duration, disturb func()) (sample, error) {
	run, end, err := c.ready(f.addrs(c.where), callers, what)
	if err != nil {
		return sample{}, err
	}
	defer end()
	f.serial++
	prefix := strconv.Itoa(f.serial) + ":"
	if _, err := run(prefix+"warm:", min(length/5, 500*time.Millisecond)); err != nil {
		return sample{}, fmt.Errorf("warm-up: %w", err)
	}
	return measure(func() (usage, error) { return f.usage(c.where) }, func() (outcome, error) {
		if disturb != nil {
			disturb()
		}
		return run(prefix, length)
	})
}

// ready opens the client of a contestant. run lets it play a while with keys
// that have a prefix.
func (c contestant) ready(addrs []string, callers int, what load) (run func(prefix string, length time.Duration) (outcome, error), end func(), err error) {
	if c.raw {
		p, err := openPipeline(addrs[0])
		if err != nil {
			return nil, nil, err
		}
		return func(prefix string, length time.Duration) (outcome, error) { return p.play(prefix, callers, length) }, p.Close, nil
	}
	l, err := c.open(addrs, callers)
	if err != nil {
		return nil, nil, err
	}
	return func(prefix string, length time.Duration) (outcome, error) {
		return play(l, what, prefix, callers, length)
	}, l.Close, nil
}

// measure runs something and notes what it used.
func measure(used func() (usage, error), run func() (outcome, error)) (sample, error) {
	before, err := used()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	o, err := run()
	took := time.Since(start)
	if err != nil {
		return sample{}, err
	}
	after, err := used()
	return newSample(o, took, before, after), err
}

func (f *field) usage(w where) (u usage, err error) {
	servers := f.masters
	switch w {
	case onOne:
		servers = []*harness.Redis{f.one}
	case throughProxy:
		u.proxy, err = f.proxy.CPU()
	case throughOther:
		u.proxy, err = f.other.CPU()
	}
	if err != nil {
		return u, err
	}
	for _, r := range servers {
		cpu, err := r.CPU()
		if err != nil {
			return u, fmt.Errorf("CPU of master %s: %w", r.Addr(), err)
		}
		u.masters += cpu
	}
	if u.sets, err = setsOf(servers[0]); err != nil {
		return u, err
	}
	u.client, err = clientCPU()
	return u, err
}

// setsOf is how many SET commands a server has executed.
func setsOf(r *harness.Redis) (float64, error) {
	info, err := harness.Do(r.Addr(), "INFO", "commandstats")
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(info, "cmdstat_set:calls=")
	if !found {
		return 0, nil // none so far
	}
	calls, _, _ := strings.Cut(rest, ",")
	return strconv.ParseFloat(calls, 64)
}
