//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// plan is what to run.
type plan struct {
	seconds time.Duration // of one measurement
	rounds  int
	quick   bool
	only    string // part of an attack's name
	binary  string
}

func main() {
	var p plan
	var r role
	seconds := flag.Float64("seconds", 5, "length of one measurement")
	flag.IntVar(&p.rounds, "rounds", 3, "measurements of each attack and baseline, of which the median is shown")
	flag.BoolVar(&p.quick, "quick", false, "each attack for a moment, to see that it works and breaks nothing")
	flag.StringVar(&p.only, "only", "", "only attacks whose name contains this")
	flag.StringVar(&p.binary, "binary", "", "redlock-proxy program; empty: build it from the parent directory")
	flag.StringVar(&r.name, "role", "", "for the processes that this program starts itself")
	flag.StringVar(&r.attack, "attack", "", "with -role: the attack")
	flag.StringVar(&r.addr, "addr", "", "with -role: where the proxy is")
	flag.IntVar(&r.scale, "scale", 1, "with -role: divides numbers of connections")
	flag.Parse()
	p.seconds = time.Duration(*seconds * float64(time.Second))
	r.seconds = p.seconds
	var err error
	if r.name != "" {
		err = r.play()
	} else {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func (p *plan) run() error {
	if p.quick {
		p.seconds, p.rounds = 400*time.Millisecond, 1
	}
	dir, err := os.MkdirTemp("", "redlock-attack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if p.binary == "" {
		if p.binary, err = harness.Build("..", dir); err != nil {
			return err
		}
	}
	s, err := openStage(p, dir)
	if err != nil {
		return err
	}
	defer s.close()
	var all []result
	for _, a := range attacks {
		if strings.Contains(a.name, p.only) {
			all = append(all, s.measure(&a))
		}
	}
	s.report(os.Stdout, all)
	return faults(all)
}

// faults is what must not have happened.
func faults(all []result) error {
	var errs []error
	for _, r := range all {
		for _, err := range r.faults {
			errs = append(errs, fmt.Errorf("%s: %w", r.attack.name, err))
		}
	}
	return errors.Join(errs...)
}
