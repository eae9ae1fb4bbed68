//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// What the proxies are given, and what their memory may grow by: the buffers of
// all clients, twice for the garbage between two collections, and for each
// connection what is not counted among these, see the README.
const (
	password      = "correct horse battery staple"
	buffers       = 64 << 20
	perConnection = 48 << 10
	ownMemory     = 256 << 20
)

// stage is the masters, which all measurements share.
type stage struct {
	*plan
	masters []*harness.Redis
	addrs   []string
	self    string // this program
}

func openStage(p *plan, dir string) (*stage, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &stage{plan: p, self: self}
	for range 3 {
		r, err := harness.StartRedis(dir)
		if err != nil {
			s.close()
			return nil, err
		}
		s.masters, s.addrs = append(s.masters, r), append(s.addrs, r.Addr())
	}
	return s, nil
}

func (s *stage) close() {
	for _, r := range s.masters {
		r.Kill()
	}
}

// result is what was measured of one attack, and of its baseline.
type result struct {
	attack         *attack
	with, baseline []sample
	faults         []error
}

// sample is one measurement.
type sample struct {
	victims victims
	events  events
	memory  int64 // that the proxy grew by, at most
}

// measure runs an attack and its baseline, in turn. With -quick there is no
// baseline.
func (s *stage) measure(a *attack) result {
	r := result{attack: a}
	for round := range s.rounds {
		fmt.Fprintf(os.Stderr, "\r%-60s", fmt.Sprintf("round %d of %d: %s", round+1, s.rounds, a.name))
		with, err := s.sample(a, roleAttacker)
		if err == nil {
			err = a.check(with)
		}
		if err != nil {
			r.faults = append(r.faults, err)
		}
		r.with = append(r.with, with)
		if s.quick {
			continue
		}
		baseline, err := s.sample(a, roleNeighbour)
		if err != nil {
			r.faults = append(r.faults, fmt.Errorf("baseline: %w", err))
		}
		r.baseline = append(r.baseline, baseline)
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	return r
}

// sample runs victims against a new proxy while the other role is played, too.
func (s *stage) sample(a *attack, other string) (sample, error) {
	var result sample
	p, err := harness.StartProxy(s.binary, s.addrs, s.flags(a)...)
	if err != nil {
		return result, err
	}
	defer p.Kill()
	if err := p.WaitReady(10 * time.Second); err != nil {
		return result, err
	}
	before, _, err := p.Memory()
	if err != nil {
		return result, err
	}
	victim, err := s.start("0", roleVictim, p.Addr, a)
	if err != nil {
		return result, err
	}
	defer victim.Kill()
	attacker, err := s.start("1", other, p.Addr, a)
	if err != nil {
		return result, err
	}
	defer attacker.Kill()
	err = errors.Join(finish(victim, &result.victims), finish(attacker, &result.events))
	_, peak, memErr := p.Memory()
	result.memory = peak - before
	if !p.Alive() {
		err = errors.Join(err, fmt.Errorf("the proxy died:\n%s", p.Log()))
	}
	return result, errors.Join(err, memErr)
}

func (s *stage) flags(a *attack) []string {
	flags := []string{"--maxmemory-clients", strconv.Itoa(buffers), "--log-level", "error"}
	if s.quick {
		flags = append(flags, "--op-timeout", "10s") // it is not about how busy the machine is
	}
	if a.password {
		flags = append(flags, "--requirepass", password)
	}
	return flags
}

// start starts this program in another role, on one CPU.
func (s *stage) start(cpu, name, addr string, a *attack) (*harness.Process, error) {
	args := []string{"-c", cpu, s.self, "-role", name, "-attack", a.name, "-addr", addr, "-seconds", fmt.Sprint(s.seconds.Seconds()), "-scale", strconv.Itoa(s.scale())}
	if a.password {
		return harness.Start("taskset", args, passwordVariable+"="+password)
	}
	return harness.Start("taskset", args)
}

func (s *stage) scale() int {
	if s.quick {
		return 20
	}
	return 1
}

// finish waits for a role to end and reads what it has printed.
func finish(p *harness.Process, result any) error {
	code, err := p.Wait(2 * time.Minute)
	if err == nil && code == 0 {
		err = json.Unmarshal([]byte(p.Log()), result)
	}
	if err != nil || code != 0 {
		return fmt.Errorf("exit code %d, %w:\n%s", code, err, p.Log())
	}
	return nil
}
