//go:build linux

package fault

import (
	"time"

	"redlock-proxy/integration/internal/harness"
)

// networkFaults happen between one proxy and one master.
func (d *Director) networkFaults() []fault {
	faults := []fault{
		network("slow network", func(t *turn, r *harness.Relay) {
			r.Delay(time.Duration(5+t.rand.IntN(120)) * time.Millisecond)
			t.pause(200*time.Millisecond, 2*time.Second)
			r.Delay(0)
		}),
		network("network late by seconds", func(t *turn, r *harness.Relay) {
			r.Delay(time.Duration(300+t.rand.IntN(800)) * time.Millisecond)
			t.pause(200*time.Millisecond, 2*time.Second)
			r.Delay(0)
		}),
		network("connection cut", func(t *turn, r *harness.Relay) {
			for range 1 + t.rand.IntN(3) {
				r.Cut()
				t.pause(0, 200*time.Millisecond)
			}
		}),
		network("replies lost", func(t *turn, r *harness.Relay) {
			r.LoseReplies(true)
			t.pause(50*time.Millisecond, 2500*time.Millisecond)
			r.LoseReplies(false)
		}),
		network("requests lost", func(t *turn, r *harness.Relay) {
			r.LoseRequests(true)
			t.pause(50*time.Millisecond, 2500*time.Millisecond)
			r.LoseRequests(false)
		}),
		network("half-open connection", func(t *turn, r *harness.Relay) {
			r.HalfOpen()
			t.pause(100*time.Millisecond, 2*time.Second)
		}),
		network("replies lost, then cut", func(t *turn, r *harness.Relay) {
			r.LoseReplies(true)
			t.pause(5*time.Millisecond, 200*time.Millisecond)
			r.LoseReplies(false)
			r.Cut()
		}),
	}
	if d.stage.Proxies[0].Namespace == nil {
		return faults
	}
	return append(faults,
		fault{name: "partition", run: func(t *turn, on *target) error {
			if err := on.proxy.Partition(on.master.Place); err != nil {
				return err
			}
			t.pause(300*time.Millisecond, 3*time.Second)
			return on.proxy.Namespace.Heal()
		}},
		fault{name: "partition from all masters", run: func(t *turn, on *target) error {
			for _, m := range t.stage.Masters {
				if err := on.proxy.Partition(m.Place); err != nil {
					return err
				}
			}
			t.pause(300*time.Millisecond, 3*time.Second)
			return on.proxy.Namespace.Heal()
		}},
	)
}

func network(name string, run func(*turn, *harness.Relay)) fault {
	return fault{name: name, run: func(t *turn, on *target) error {
		run(t, on.proxy.Networks[on.master.Place])
		return nil
	}}
}
