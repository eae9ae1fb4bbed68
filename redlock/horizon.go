package redlock

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
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

// forget is for a master that lost its horizon with everything else.
func (h *horizon) forget() { h.until.Store(0) }

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

// horizonOver is the TTL, in milliseconds, of a horizon over copied keys.
func horizonOver(keys map[string]found) int64 {
	longest := int64(0)
	for _, f := range keys {
		longest = max(longest, f.ttl)
	}
	return min(longest, maxHorizon.Milliseconds())
}

// readHorizon asks the master for its horizon and remembers it.
func (u *upstream) readHorizon(w *wire) error {
	command := w.client.B().Arbitrary("PTTL", horizonKey(u.shape.name)).Build()
	sent := u.clock.Now()
	results := w.client.DoMulti(context.Background(), append([]rueidis.Completed{command}, w.suffix...)...)
	ttl, err := results[0].AsInt64()
	if err != nil {
		return err
	}
	u.heard(w, ttl, sent, readSuffix(results[1:]))
	return nil
}

// heard notes the PTTL of the horizon that a master has told, in a batch with
// this end. It stands for the master only if that has lost nothing.
func (u *upstream) heard(w *wire, ttl int64, sent time.Duration, end suffix) {
	now := u.clock.Now()
	if ttl > 0 {
		left := min(time.Duration(min(ttl, int64(maxHorizon/time.Millisecond)))*time.Millisecond, maxHorizon)
		u.memory.raise(now + left)
		u.longest.raise(left)
	}
	u.judge(w, nil, true, nil, nil, sent, now, end)
	u.mu.Lock()
	defer u.mu.Unlock()
	if intact, _ := u.link.intact(w.generation, end); intact {
		w.horizonReadAt.Store(int64(sent))
	}
}

// raiseHorizon makes a master's horizon reach as far as what it is to be given.
func (p *peer) raiseHorizon(ctx context.Context, keys map[string]found) error {
	ttl := horizonFor(0, 0, horizonOver(keys))
	if ttl == 0 {
		return nil
	}
	ttl += sameMargin // that copyScript may give
	sent := p.u.clock.Now()
	if err := p.w.client.Do(ctx, p.script(horizonScript, []string{horizonKey(p.u.shape.name)}, []string{strconv.FormatInt(ttl, 10)})).Error(); err != nil {
		return err
	}
	p.u.raised(p.w, ttl, sent, p.u.clock.Now())
	return nil
}

// raised notes that a batch has raised the horizon to a TTL in milliseconds.
func (u *upstream) raised(w *wire, ttl int64, sent, received time.Duration) {
	w.horizon.raise(sent + time.Duration(ttl)*time.Millisecond)
	u.memory.raise(received + time.Duration(ttl)*time.Millisecond)
	u.longest.raise(time.Duration(ttl) * time.Millisecond)
}
