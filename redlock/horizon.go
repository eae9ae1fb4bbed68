package redlock

import (
	"context"
	"sync/atomic"
	"time"
)

// Every master holds a horizon: a key that lives at least as long as any lock
// that was granted. When masters have forgotten their locks and there are not
// enough others to read them from, the horizon says how long to wait until none
// of them can be left: the "delayed restart" of the Redlock page, with the delay
// known instead of guessed.
//
// It is raised in the batch that needs it, ahead of the lock itself, by an
// eighth more than needed, so rarely.

// horizonScript makes the key live at least ARGV[1] milliseconds. PEXPIRE comes
// first: it works on a master that is out of memory, too.
const horizonScript = `
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
  if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then redis.call('SET', KEYS[1], '', 'PX', ARGV[1]) end
end
return 0`

// horizon is a Clock time up to which something is known to live.
type horizon struct{ until atomic.Int64 }

func (h *horizon) get() time.Duration { return time.Duration(h.until.Load()) }

// raise moves the horizon forward, never back.
func (h *horizon) raise(to time.Duration) {
	for {
		old := h.until.Load()
		if int64(to) <= old || h.until.CompareAndSwap(old, int64(to)) {
			return
		}
	}
}

// maxHorizon bounds horizons, so that they can be added to a Clock time.
const maxHorizon = 100 * 365 * 24 * time.Hour

// horizonFor is the TTL, in milliseconds, to raise the horizon of a connection
// to before a batch whose longest TTL is longest; 0 if it is far enough.
func horizonFor(present, now time.Duration, longest int64) int64 {
	ttl := min(time.Duration(min(longest, int64(maxHorizon/time.Millisecond)))*time.Millisecond, maxHorizon)
	if longest <= 0 || now+ttl <= present {
		return 0
	}
	return (min(ttl+ttl/8, maxHorizon)).Milliseconds() + 1
}

// longestTTL is the longest TTL that a table may give a key.
func (s *Swap) longestTTL() int64 {
	longest := int64(0)
	for c := CaseAbsent; c <= CaseWrong; c++ {
		if l := s.Leaf(c); l.Effect == Set || l.Effect == Expire {
			longest = max(longest, l.TTL)
		}
	}
	for i := range s.And {
		longest = max(longest, s.And[i].Absent.TTL, s.And[i].Mine.TTL)
	}
	return longest
}

// readHorizon asks the master for its horizon and remembers it.
func (u *upstream) readHorizon(w *wire) error {
	command := w.client.B().Arbitrary("PTTL", horizonKey(u.shape.name)).Build()
	ttl, err := w.client.Do(context.Background(), command).AsInt64()
	if err != nil {
		return err
	}
	if ttl > 0 {
		u.memory.raise(u.clock.Now() + min(time.Duration(min(ttl, int64(maxHorizon/time.Millisecond)))*time.Millisecond, maxHorizon))
	}
	w.horizonRead.Store(true)
	return nil
}
