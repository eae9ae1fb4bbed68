//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"redlock-proxy/integration/internal/harness"
	"redlock-proxy/integration/torture/plant"
)

// options are what was asked for.
type options struct {
	length    time.Duration
	seed      uint64
	masters   int
	proxies   int
	anyLoss   bool
	complete  bool // go on until each kind of fault has happened
	only      string
	opTimeout time.Duration
	binary    string
	reports   string
	verbose   bool
	bug       bool // one was planted: nothing is to be seen after the first violation
}

// errFound says that something was violated, or a planted bug was not noticed.
var errFound = errors.New("not as it should be")

func main() {
	switch err := run(); {
	case errors.Is(err, errFound):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
}

func run() error {
	var o options
	seconds := flag.Float64("seconds", 60, "length of the faults")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "what decides the order of faults; the run itself is never the same twice")
	flag.IntVar(&o.masters, "masters", 3, "number of masters")
	flag.IntVar(&o.proxies, "proxies", 2, "number of proxies")
	flag.BoolVar(&o.anyLoss, "any-loss", false, "masters lose their memory in any number at once, and proxies do not end")
	flag.StringVar(&o.only, "fault", "", "of the faults of masters, only those whose name contains this")
	flag.BoolVar(&o.complete, "complete", false, "go on until each kind of fault has happened")
	flag.DurationVar(&o.opTimeout, "op-timeout", 50*time.Millisecond, "--op-timeout of the proxies")
	flag.StringVar(&o.binary, "binary", "", "redlock-proxy program; empty: build it from the parent directory")
	flag.StringVar(&o.reports, "reports", filepath.Join(os.TempDir(), "redlock-torture-reports"), "where to write what led to a violation")
	flag.BoolVar(&o.verbose, "v", false, "show each fault as it happens")
	planted := flag.Bool("planted", false, "plant bugs in the product, one after the other, and see whether each is noticed")
	only := flag.String("bug", "", "with -planted: only bugs whose name contains this")
	quick := flag.Bool("quick", false, "for CI: about a minute and a half in all, each kind of fault, and a few planted bugs")
	flag.Parse()
	o.length = time.Duration(*seconds * float64(time.Second))

	dir, err := os.MkdirTemp("", "redlock-torture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *planted {
		return o.plantAll(dir, *only)
	}
	if o.binary == "" {
		if o.binary, err = harness.Build("..", dir); err != nil {
			return err
		}
	}
	if *quick {
		return o.quick(dir)
	}
	return o.honest()
}

// honest is a trial of the product as it is.
func (o options) honest() error {
	r, err := o.try()
	if err != nil {
		return err
	}
	r.print(os.Stdout)
	if len(r.violations) > 0 {
		return errFound
	}
	return nil
}

func (o options) try() (*result, error) {
	t, err := newTrial(o)
	if err != nil {
		return nil, err
	}
	return t.run()
}

// quick is a bit of everything.
func (o options) quick(dir string) error {
	o.length, o.masters, o.complete = 20*time.Second, 5, true
	if err := o.honest(); err != nil {
		return err
	}
	o.length, o.masters, o.anyLoss = 8*time.Second, 3, true
	if err := o.honest(); err != nil {
		return err
	}
	o.anyLoss = false
	for _, b := range plant.Bugs[:3] {
		if err := o.plant(dir, b); err != nil {
			return err
		}
	}
	return nil
}

// mostForBug is how long a planted bug may stay unnoticed.
const mostForBug = 90 * time.Second

// plantAll tries all bugs, also when one was not noticed.
func (o options) plantAll(dir, only string) error {
	var failed []error
	for _, b := range plant.Bugs {
		if b.Matches(only) {
			failed = append(failed, o.plant(dir, b))
		}
	}
	return errors.Join(failed...)
}

// plant is a trial of the product with a bug, which has to be noticed.
func (o options) plant(dir string, b plant.Bug) (err error) {
	if o.binary, err = plant.Build("..", dir, b); err != nil {
		return err
	}
	o.length, o.anyLoss, o.complete, o.bug = mostForBug, b.AnyLoss, false, true
	start := time.Now()
	r, err := o.try()
	switch {
	case err != nil:
		return err
	case len(r.violations) == 0:
		fmt.Printf("NOT NOTICED in %v: %s\n", o.length, b.Name)
		r.print(os.Stdout)
		return errFound
	}
	fmt.Printf("noticed after %v: %s\n  %s\n", time.Since(start).Round(time.Second/10), b.Name, r.violations[0].What)
	return nil
}
