package redlock

import (
	"strings"
	"testing"
)

// severalKeys lets clients lock two keys at once; masters that lost something
// stay out, because the simulated resynchronisation knows one key only.
func severalKeys(c *simConfig) { c.several, c.restores = true, false }

// TestSimulationOfSeveralKeys is TestSimulation for clients that lock two of
// three keys at once, all or nothing.
func TestSimulationOfSeveralKeys(t *testing.T) {
	if *simSeed != 0 {
		s := runSeed(*simSeed, func(c *simConfig) { c.verbose = true; severalKeys(c) })
		t.Log(strings.Join(s.log, "\n"))
		report(t, *simSeed, s)
		return
	}
	schedules := *simSchedules / 4
	grants, undone := 0, 0
	for seed := uint64(1); seed <= uint64(schedules) && !t.Failed(); seed++ {
		s := runSeed(seed, severalKeys)
		report(t, seed, s)
		grants += s.grants
		for _, p := range s.proxies {
			undone += int(p.quorum.Stats.Undone.Load())
		}
	}
	t.Logf("%d schedules: %d grants and extends, %d copies undone", schedules, grants, undone)
	if grants < 5*schedules || undone < schedules {
		t.Error("that is too little to test anything")
	}
}

// TestSimulationOfSeveralKeysCatches is TestSimulationCatches for them.
func TestSimulationOfSeveralKeysCatches(t *testing.T) {
	for name, off := range map[string]func(*simConfig){
		"blind undo by value":                 func(c *simConfig) { c.off.carefulUndo = true },
		"no generation and no identity check": func(c *simConfig) { c.blindVotes = true },
		"undo by value, whosever copy it is":  func(c *simConfig) { c.off.window = true },
		"no slack":                            func(c *simConfig) { c.off.slack = true },
		"unknown merged as absent":            func(c *simConfig) { c.off.unknown = true },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 20_000; seed++ {
				if s := runSeed(seed, func(c *simConfig) { severalKeys(c); off(c) }); len(s.faults) > 0 {
					t.Logf("found with seed %d: %s", seed, s.faults[0])
					return
				}
			}
			t.Error("20000 schedules found nothing")
		})
	}
}
