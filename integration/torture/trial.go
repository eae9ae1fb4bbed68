//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"redlock-proxy/integration/internal/harness"
	"redlock-proxy/integration/torture/caller"
	"redlock-proxy/integration/torture/fault"
	"redlock-proxy/integration/torture/ledger"
	"redlock-proxy/integration/torture/stage"
)

// trial is one run: callers work while faults happen, then everything is
// repaired and must be as if nothing had been.
type trial struct {
	options
	noNamespaces string // why proxies have no network of their own
	ledger       *ledger.Ledger
	stage        *stage.Stage
	crew         *caller.Crew
	director     *fault.Director

	mu     sync.Mutex
	events []string
}

// mostPatience is how much longer a trial may take that waits for each kind of
// fault: on a busy machine, a master that forgot takes its time to vote again.
const mostPatience = 90 * time.Second

func newTrial(o options) (*trial, error) {
	t := &trial{options: o, noNamespaces: harness.NoNamespaces()}
	if t.noNamespaces != "" && os.Getenv("CI") != "" {
		return nil, fmt.Errorf("no partitions: %s", t.noNamespaces)
	}
	if t.noNamespaces == "" {
		if err := harness.RemoveStaleNamespaces(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// run is the whole trial. The error is of the harness, not of what it tests.
func (t *trial) run() (_ *result, err error) {
	t.stage, err = stage.Start(stage.Config{
		Binary: t.binary, Masters: t.masters, Proxies: t.proxies, Namespaces: t.noNamespaces == "",
		Flags: []string{"--op-timeout", t.opTimeout.String(), "--default-ttl", caller.DefaultTTL.String()},
	})
	if err != nil {
		return nil, err
	}
	defer t.stage.Close()
	t.ledger = ledger.New()
	t.crew = &caller.Crew{Ledger: t.ledger, Seed: t.seed, OpTimeout: t.opTimeout, Histories: !t.anyLoss}
	for _, p := range t.stage.Proxies {
		t.crew.Proxies = append(t.crew.Proxies, p.Addr)
	}
	t.director = fault.New(t.stage, fault.Config{Seed: t.seed, AnyLoss: t.anyLoss, Only: t.only, Events: t.event})

	if err := t.disturb(); err != nil {
		return nil, err
	}
	if t.bug && len(t.ledger.Violations()) > 0 {
		return t.result(), nil
	}
	t.checkRecovery()
	if missing := t.director.Missing(); t.complete && len(missing) > 0 && len(t.ledger.Violations()) == 0 {
		return nil, fmt.Errorf("faults that never happened in %v: %s", t.length+mostPatience, strings.Join(missing, ", "))
	}
	r := t.result()
	if len(r.violations) > 0 {
		err = t.writeReport(r)
	}
	return r, err
}

// disturb lets callers work while faults happen, until the time is over or
// something was violated.
func (t *trial) disturb() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	working, stop := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	callers.Go(func() { t.crew.Run(working) })
	go t.untilOver(ctx, cancel)
	err := t.director.Run(ctx)
	// They go on for a while, when everything is repaired.
	time.Sleep(time.Second)
	stop()
	callers.Wait()
	return err
}

// untilOver ends the faults when the time is over, or something was violated.
func (t *trial) untilOver(ctx context.Context, cancel func()) {
	for ctx.Err() == nil {
		now := t.ledger.Now()
		over := now > t.length && (!t.complete || len(t.director.Missing()) == 0) || now > t.length+mostPatience
		if over || len(t.ledger.Violations()) > 0 {
			cancel()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (t *trial) event(format string, args ...any) {
	line := fmt.Sprintf("%9.4f %s", t.ledger.Now().Seconds(), fmt.Sprintf(format, args...))
	if t.verbose {
		fmt.Println(line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, line)
}
