//go:build linux

// Package stage runs what is tested: real masters, real proxies, and between
// each two of them a network of its own.
package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"redlock-proxy/integration/internal/harness"
)

// Config is what to run.
type Config struct {
	Binary           string
	Masters, Proxies int
	Flags            []string // of the proxies
	Namespaces       bool     // each proxy has a network of its own
}

// Stage is what runs.
type Stage struct {
	Masters []*Master
	Proxies []*Proxy

	cfg  Config
	dir  string
	shim string

	mu      sync.Mutex
	servers int       // begun so far
	spares  []*Server // all of them
}

// Start starts everything, and waits until locks can be had.
func Start(cfg Config) (*Stage, error) {
	s := &Stage{cfg: cfg}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) start() (err error) {
	if s.dir, err = os.MkdirTemp("", "redlock-torture"); err != nil {
		return err
	}
	if s.shim, err = harness.BuildClockShim(s.dir); err != nil {
		return err
	}
	for i := range s.cfg.Masters {
		// Some persist every write, others nothing.
		m := &Master{Place: i, Durable: i%2 == 1, stage: s}
		if m.server, err = s.Spare(m.Durable); err != nil {
			return err
		}
		s.Masters = append(s.Masters, m)
	}
	for i := range s.cfg.Proxies {
		p, err := s.newProxy(i)
		if err != nil {
			return err
		}
		s.Proxies = append(s.Proxies, p)
	}
	return nil
}

// Spare starts a server that no proxy knows of yet.
func (s *Stage) Spare(durable bool) (*Server, error) {
	s.mu.Lock()
	s.servers++
	number := s.servers
	s.mu.Unlock()
	dir := filepath.Join(s.dir, fmt.Sprintf("server%d", number))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	clock, err := harness.NewClock(s.shim, dir+".clock")
	if err != nil {
		return nil, err
	}
	args := []string{"--repl-diskless-sync-delay", "0"}
	if durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	redis, err := harness.StartRedisWith(clock.Env(), dir, args...)
	if err != nil {
		return nil, err
	}
	server := &Server{Redis: redis, Clock: clock, dir: dir, monitor: &monitor{}}
	go server.monitor.run(redis.Addr())
	s.mu.Lock()
	s.spares = append(s.spares, server)
	s.mu.Unlock()
	return server, nil
}

// Close ends everything.
func (s *Stage) Close() error {
	var failed []error
	for _, p := range s.Proxies {
		failed = append(failed, p.close())
	}
	for _, server := range s.spares {
		server.End()
		failed = append(failed, server.Clock.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(s.dir))...)
}
