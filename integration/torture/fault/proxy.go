//go:build linux

package fault

import "time"

// proxyFaults happen to a proxy.
func (d *Director) proxyFaults() []fault {
	faults := []fault{{name: "proxy stopped", run: func(t *turn, on *target) error {
		if !on.proxy.Freeze() {
			return nil // too busy for it
		}
		t.pause(30*time.Millisecond, 1200*time.Millisecond)
		on.proxy.Thaw()
		return nil
	}}, {name: "proxy stopped for a moment", run: func(t *turn, on *target) error {
		for range 3 + t.rand.IntN(6) {
			if on.proxy.Freeze() {
				t.pause(20*time.Millisecond, 150*time.Millisecond)
				on.proxy.Thaw()
			}
			t.pause(20*time.Millisecond, 150*time.Millisecond)
		}
		return nil
	}}}
	if d.cfg.AnyLoss {
		return faults // all memory of what was lost is theirs
	}
	return append(faults, fault{name: "proxy killed", run: func(t *turn, on *target) error {
		return on.proxy.Restart(func() { t.pause(0, 500*time.Millisecond) })
	}})
}
