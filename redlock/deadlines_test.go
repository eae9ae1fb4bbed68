package redlock

import (
	"testing"
	"time"
)

// TestNobodyIsToldLate: operations that begin at any time, also between two
// ticks, are answered at their deadline, however long the op timeout is; an
// acquire behind an extend that is due later, too (pitfall 36).
func TestNobodyIsToldLate(t *testing.T) {
	for _, timeout := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, time.Second, 10 * time.Second} {
		h := newHandDriven(t, 3)
		h.q = New(Config{Masters: h.q.masters, OpTimeout: timeout, DriftPPM: 500, Clock: h})
		for i := range 40 {
			began, swap := h.now, extendOf("a")
			if i%2 == 1 {
				swap = acquireOf("a")
			}
			h.q.Start(&Op{Swap: swap, Done: func(op *Op) {
				h.done++
				if took := h.now - began; op.Outcome.Err == nil || took > timeout+10*time.Millisecond {
					t.Errorf("op timeout %v, operation %d: answered after %v, outcome %+v", timeout, i, took, op.Outcome)
				}
			}}, 0)
			h.pass(timeout/100 + 700*time.Microsecond)
		}
		h.pass(2 * timeout)
		h.wantDone(40)
	}
}
