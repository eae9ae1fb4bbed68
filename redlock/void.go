package redlock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// voids are votes that do not count any more in rounds that are under way,
// because the master has lost its vote since. A master that is gone can not be
// told so, and one whose address leads elsewhere by now may go on answering: a
// vote that it has given must not be counted together with one that another
// master gives later.
type voids struct {
	before []atomic.Int64 // by master: votes in rounds from before this Clock time are void
	latest atomic.Int64   // of them

	mu   sync.Mutex
	made uint64
}

func newVoids(masters int) *voids { return &voids{before: make([]atomic.Int64, masters)} }

// untilDecided is later than any time: votes are void until the steward has
// decided about the master.
const untilDecided = math.MaxInt64

// void makes all votes of master k void until the next decision.
func (v *voids) void(k int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.made++
	v.before[k].Store(untilDecided)
	v.latest.Store(untilDecided)
}

// count is how many have been made.
func (v *voids) count() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.made
}

// decided says that whoever lost its vote has none from now on, as far as was
// known when so many had been made: rounds that begin now need no voids for it.
func (v *voids) decided(made uint64, now time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made != made {
		return
	}
	latest := int64(0)
	for k := range v.before {
		if v.before[k].Load() == untilDecided {
			v.before[k].Store(int64(now))
		}
		latest = max(latest, v.before[k].Load())
	}
	v.latest.Store(latest)
}

// since reports whether votes of any of these masters have become void since a
// Clock time.
func (v *voids) since(masters bitset, at time.Duration) bool {
	if v.latest.Load() <= int64(at) {
		return false
	}
	for k := range v.before {
		if masters.has(k) && v.before[k].Load() > int64(at) {
			return true
		}
	}
	return false
}

// reasonVoid is why a vote does not count any more.
const reasonVoid = "it has lost its vote since"

// dropVoid takes back the votes of the round that are void.
func (r *round) dropVoid() {
	v := r.f.q.voids
	if v.latest.Load() <= int64(r.started) {
		return
	}
	for i, k := range r.seats.masters {
		if a := &r.votes[i]; r.voted[i] && a.Votes && k != nobody && v.before[k].Load() > int64(r.started) {
			a.Votes, a.Reason = false, reasonVoid
		}
	}
}
