package harness

import (
	"slices"
	"time"
)

// Latencies are measured durations.
type Latencies []time.Duration

// Quantile returns the duration below which the share q (0 to 1) of them lies;
// 0 if there are none. It sorts l.
func (l Latencies) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(int(q*float64(len(l))), len(l)-1)]
}
