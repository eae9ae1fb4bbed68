package redlock

import "testing"

func severalKeys(c *simConfig) { c.several = true }

// TestSimulationOfSeveralKeys is TestSimulation for clients that lock two of
// three keys at once, all or nothing.
func TestSimulationOfSeveralKeys(t *testing.T) {
	n := max(*simSchedules/4, 1)
	c := simulate(t, n, severalKeys)
	if *simSeed != 0 || t.Failed() {
		return
	}
	t.Logf("%d schedules: %+v", n, c)
	if c.grants < 5*n || c.undone < n || c.resynced == 0 || c.waited == 0 || c.waitedAll == 0 {
		t.Error("that is too little to test anything")
	}
}

// TestSimulationOfSeveralKeysCatches is TestSimulationCatches for them.
func TestSimulationOfSeveralKeysCatches(t *testing.T) {
	tests := map[string]func(*simConfig){
		"blind undo by value":                 func(c *simConfig) { c.off.carefulUndo = true },
		"no generation and no identity check": func(c *simConfig) { c.skip.votes = true },
		"undo by value, whosever copy it is":  func(c *simConfig) { c.off.window = true },
		"no slack":                            func(c *simConfig) { c.off.slack = true },
		"unknown merged as absent":            func(c *simConfig) { c.off.unknown = true },
	}
	for name, off := range tests {
		tests[name] = func(c *simConfig) { severalKeys(c); off(c) }
	}
	catches(t, tests)
}
