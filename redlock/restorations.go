package redlock

import "sync/atomic"

// Way is how a master that may have lost locks came to vote again.
type Way uint8

// The ways. Zero is none.
const (
	Persisted      Way = iota + 1 // it persists every write and kept its record
	Resynchronised                // it was given the locks of its peers
	Outwaited                     // every lock that it may have forgotten has ended
	ByOperator                    // REDLOCK ADMIT
	Ways
)

// String is the way in a word.
func (w Way) String() string {
	return [...]string{"none", "persisted", "resynchronised", "outwaited", "operator"}[w]
}

// Restorations counts how masters that may have lost locks came to vote again.
type Restorations struct {
	Admitted [Ways]uint64 // admissions that this proxy has recorded, by way
	Failed   uint64       // resynchronisations that had to be begun again
	Keys     uint64       // given to masters, by those that failed too
}

// restorations are the counters of one steward.
type restorations struct {
	admitted [Ways]atomic.Uint64
	failed   atomic.Uint64
	keys     atomic.Uint64
}

// Restorations is the sum over all databases in use.
func (c *Cluster) Restorations() (sum Restorations) {
	for _, d := range c.inUse() {
		if d == nil || d.steward == nil {
			continue
		}
		r := &d.steward.counted
		for way := range sum.Admitted {
			sum.Admitted[way] += r.admitted[way].Load()
		}
		sum.Failed += r.failed.Load()
		sum.Keys += r.keys.Load()
	}
	return sum
}

// inUse are the databases, nil where one is not in use.
func (c *Cluster) inUse() [maxDatabases]*database {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.databases
}
