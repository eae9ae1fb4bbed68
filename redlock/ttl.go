package redlock

import (
	"math"
	"math/bits"
	"sort"
	"time"
)

// minSlack is the least slack of a grant in milliseconds.
const minSlack = 10

// padding is how much longer than the client's TTL a copy lives on a master,
// so that a client is entitled to its whole TTL counted from the moment the
// reply is handed to its socket.
type padding struct {
	ppm      int64 // clock drift, parts per million
	maxSlack int64 // milliseconds, the op timeout
	off      bool  // only in tests: store what the client asked for
}

// slack is how late after the first send a grant of ttl milliseconds may still
// be claimed: a tenth of the TTL, at least 10 ms, at most the op timeout.
func (p padding) slack(ttl int64) int64 {
	return min(max(ttl/10, minSlack), p.maxSlack)
}

// pad turns a client's TTL into the one to be stored: TTL + drift + slack.
// The sum saturates instead of overflowing.
func (p padding) pad(ttl int64) int64 {
	if p.off {
		return ttl
	}
	hi, lo := bits.Mul64(uint64(ttl), uint64(p.ppm))
	drift, _ := bits.Div64(hi, lo, 1_000_000) // ppm < 1e6, so hi < divisor
	return addSaturated(addSaturated(ttl, int64(drift)+3), p.slack(ttl))
}

// unpad is the largest client TTL whose padded value fits into remaining, at
// least 1.
func (p padding) unpad(remaining int64) int64 {
	if remaining == NoTTL {
		return NoTTL
	}
	if p.off {
		return max(remaining, 1)
	}
	// What pad adds hardly depends on the TTL where the slack is at its most.
	if t := remaining - (p.pad(remaining) - remaining); t >= 1 && p.pad(t) <= remaining && p.pad(t+1) > remaining {
		return t
	}
	// pad(t) - t is below 1/10 + 1/1000000·ppm of t plus constants, so the
	// answer lies between remaining/2 and remaining; search there.
	low := remaining/2 - p.maxSlack - 3
	low = max(low, 1)
	n := sort.Search(int(max(remaining-low, 0)), func(i int) bool {
		return p.pad(low+int64(i)+1) > remaining
	})
	return low + int64(n)
}

// atMost turns a client's TTL into the longest remaining time that a copy may
// have which is not newer. Copies of one lock are created up to an op timeout
// apart, and masters answer about as far apart.
func (p padding) atMost(ttl int64) int64 {
	if ttl == 0 {
		return 0
	}
	return addSaturated(p.pad(ttl), p.maxSlack+2)
}

// validity is slack as a duration.
func (p padding) validity(ttl int64) time.Duration {
	return time.Duration(p.slack(ttl)) * time.Millisecond
}

func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
