package redlock

import (
	"flag"
	"strings"
	"testing"
)

var (
	simSchedules = flag.Int("sim.schedules", defaultSchedules, "number of random schedules of the simulation")
	simSeed      = flag.Uint64("sim.seed", 0, "run only this schedule, and print it")
)

// TestSimulation runs random schedules of delays, losses, stalls, restarts and
// late deliveries: never two holders, never unknown reported as known.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		s := runSeed(*simSeed, func(c *simConfig) { c.verbose = true })
		t.Log(strings.Join(s.log, "\n"))
		report(t, *simSeed, s)
		return
	}
	var grants, undone, late, split, restored int
	for seed := uint64(1); seed <= uint64(*simSchedules) && !t.Failed(); seed++ {
		s := runSeed(seed, func(*simConfig) {})
		report(t, seed, s)
		grants += s.grants
		restored += s.restored
		for _, p := range s.proxies {
			undone += int(p.quorum.Stats.Undone.Load())
			late += int(p.quorum.Stats.LateCopies.Load())
			split += int(p.quorum.Stats.SplitRetries.Load())
		}
	}
	t.Logf("%d schedules: %d grants and extends, %d copies undone, %d late copies, %d split votes, %d masters resynchronised", *simSchedules, grants, undone, late, split, restored)
	if grants < 5**simSchedules || undone < *simSchedules || late == 0 || split == 0 || restored == 0 {
		t.Error("that is too little to test anything")
	}
}

func report(t *testing.T, seed uint64, s *sim) {
	for _, f := range s.faults {
		t.Errorf("seed %d (%+v): %s\nreplay: go test ./redlock -run 'TestSimulation$' -sim.seed=%d -v", seed, s.cfg, f, seed)
	}
}

// TestSimulationCatches switches one rule off at a time: the simulation is
// only worth something if it then finds a violation.
func TestSimulationCatches(t *testing.T) {
	tests := map[string]func(*simConfig){
		"blind undo by value":                 func(c *simConfig) { c.off.carefulUndo = true },
		"no generation and no identity check": func(c *simConfig) { c.blindVotes = true },
		"undo by value, whosever copy it is":  func(c *simConfig) { c.off.window = true },
		"removal without a look":              func(c *simConfig) { c.off.look, c.tokens = true, uniqueTokens },
		"late commands by value":              func(c *simConfig) { c.noDeadline = true },
		"no wait before resynchronisation":    func(c *simConfig) { c.noWait, c.flushes = true, true },
		"too few peers read":                  func(c *simConfig) { c.fewPeers = true },
		"emptied again while it is filled":    func(c *simConfig) { c.noMark, c.flushes = true, true },
		"no slack":                            func(c *simConfig) { c.off.slack = true },
		"unknown merged as absent":            func(c *simConfig) { c.off.unknown = true },
	}
	for name, off := range tests {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 20_000; seed++ {
				if s := runSeed(seed, off); len(s.faults) > 0 {
					t.Logf("found with seed %d: %s", seed, s.faults[0])
					return
				}
			}
			t.Error("20000 schedules found nothing")
		})
	}
}
