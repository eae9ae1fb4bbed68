package main

import (
	"fmt"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// field is the servers that one number of masters is measured with. All run
// all the time; who is not in use is idle.
type field struct {
	masters []*harness.Redis
	one     *harness.Redis
	proxy   *harness.Proxy
	serial  int // measurements so far: no key is ever used twice
}

func startField(p plan, dir string, n int) (*field, error) {
	f := &field{}
	var addrs []string
	for range n {
		r, err := harness.StartRedis(dir)
		if err != nil {
			f.close()
			return nil, err
		}
		f.masters = append(f.masters, r)
		addrs = append(addrs, r.Addr())
	}
	var err error
	if f.one, err = harness.StartRedis(dir); err == nil {
		f.proxy, err = harness.StartProxy(p.binary, addrs, p.flags...)
	}
	if err == nil {
		err = f.proxy.WaitReady(10 * time.Second)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *field) close() {
	if f.proxy != nil {
		f.proxy.Kill()
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
	case onOne:
		return []string{f.one.Addr()}
	}
	var addrs []string
	for _, r := range f.masters {
		addrs = append(addrs, r.Addr())
	}
	return addrs
}

// usage is what the servers have used since they started.
type usage struct {
	proxy, masters time.Duration
	mallocs        float64 // by the proxy, of all time
}

func (f *field) usage(w where) (u usage, err error) {
	servers := f.masters
	switch w {
	case onOne:
		servers = []*harness.Redis{f.one}
	case throughProxy:
		if u.proxy, err = f.proxy.CPU(); err != nil {
			return u, err
		}
		if u.mallocs, err = f.proxy.Metric("go_memstats_mallocs_total"); err != nil {
			return u, err
		}
	}
	for _, r := range servers {
		cpu, err := r.CPU()
		if err != nil {
			return u, fmt.Errorf("CPU of master %s: %w", r.Addr(), err)
		}
		u.masters += cpu
	}
	return u, nil
}
