package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A master that lost its locks gets them back from its peers. Each rule below
// was found necessary by a model checker; without it a second holder appears
// (design §5):
//
//  1. First rounds that may have counted the master's old votes must have
//     ended: the largest op timeout in the records, plus drift.
//  2. All keys are read from at least N−q+1 other masters that vote here, each
//     over one connection: they see every lock that a majority held.
//  3. They are merged only then. The same value everywhere it exists counts,
//     with the largest remaining TTL; otherwise the key is unresolved.
//  4. What the master has is never shortened and never overwritten; another
//     value on it leaves the key unresolved. Unresolved keys are read again:
//     leftovers of failed attempts go away. Until none is left it does not vote.
//  5. All of it happens in one generation of the master's connection.
//  6. Nothing is removed again: what is superfluous dies by its TTL.

// found is a key as the peers have it.
type found struct {
	value    string
	ttl      int64 // milliseconds, the largest
	disputed bool  // different values
}

const (
	syncBatch  = 512 // keys per SCAN, DUMP and copy
	copyMargin = 2   // milliseconds that a copied TTL may have lost while being read
)

// dumpScript answers value and remaining TTL of each key; false for one that is
// not there or not a string.
const dumpScript = `
local out = {}
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then value = false end
  out[2 * i - 1] = value
  out[2 * i] = redis.call('PTTL', key)
end
return out`

// copyScript gives the master each key with value and TTL, and answers the
// places of those that it holds with another value.
//
// What holds the value already may be the copy of a failed attempt that used
// the same token, with its undo under way: two seconds more than needed, longer
// than any answer is waited for, make it another copy than the one to be undone.
const copyScript = `
local disputed = {}
for i, key in ipairs(KEYS) do
  local value, ttl = ARGV[2 * i - 1], ARGV[2 * i]
  local held = redis.pcall('GET', key)
  if not held then
    redis.call('SET', key, value, 'PX', ttl)
  elseif held ~= value then
    disputed[#disputed + 1] = i
  else
    local left = redis.call('PTTL', key)
    if left >= 0 then redis.call('PEXPIRE', key, string.format('%.0f', math.max(left, tonumber(ttl)) + 2000)) end
  end
end
return disputed`

// errMoved says that a connection or a vote changed while it was needed.
var errMoved = errors.New("a connection was lost meanwhile")

// peer is a master that is read from, over one connection.
type peer struct {
	u *upstream
	w *wire
}

// steady reports whether the connection is the same one and votes, or need not.
func (p *peer) steady(voting bool) bool {
	p.u.mu.Lock()
	defer p.u.mu.Unlock()
	votes, _ := p.u.link.votes()
	return p.u.wire == p.w && (votes || !voting)
}

// resync copies all keys of the peers to a master and returns how many.
func resync(ctx context.Context, to peer, peers []peer, report func(string)) (int, error) {
	keys := make(map[string]found)
	for i := range peers {
		if err := peers[i].readAll(ctx, keys, to.u.shape.name); err != nil {
			return 0, err
		}
	}
	total := len(keys)
	for try := 0; ; try++ {
		for i := range peers {
			if !peers[i].steady(true) {
				return 0, errMoved
			}
		}
		left, err := to.copyAll(ctx, keys)
		if err != nil {
			return 0, err
		}
		if len(left) == 0 {
			return total, nil
		}
		report(fmt.Sprintf("resynchronising, %d of %d keys differ between masters", len(left), total))
		if err := sleep(ctx, 20*time.Millisecond<<min(try, 6)); err != nil {
			return 0, err
		}
		if keys, err = readAgain(ctx, peers, left); err != nil {
			return 0, err
		}
	}
}

// readAll adds all keys of a peer.
func (p *peer) readAll(ctx context.Context, keys map[string]found, quorum string) error {
	for cursor := "0"; ; {
		reply, err := p.w.client.Do(ctx, p.w.client.B().Arbitrary("SCAN", cursor, "COUNT", strconv.Itoa(syncBatch)).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		if err := p.read(ctx, withoutOwn(reply.Elements), keys); err != nil {
			return err
		}
		if cursor = strconv.FormatUint(reply.Cursor, 10); cursor == "0" {
			return nil
		}
	}
}

func withoutOwn(keys []string) []string {
	kept := keys[:0]
	for _, key := range keys {
		if !strings.HasPrefix(key, OwnKeys) {
			kept = append(kept, key)
		}
	}
	return kept
}

// readAgain reads some keys from all peers.
func readAgain(ctx context.Context, peers []peer, keys []string) (map[string]found, error) {
	again := make(map[string]found)
	for i := range peers {
		for rest := keys; len(rest) > 0; {
			n := min(len(rest), syncBatch)
			if err := peers[i].read(ctx, rest[:n], again); err != nil {
				return nil, err
			}
			rest = rest[n:]
		}
	}
	return again, nil
}

// read merges what a peer has at some keys.
func (p *peer) read(ctx context.Context, names []string, keys map[string]found) error {
	if len(names) == 0 {
		return nil
	}
	values, err := p.eval(ctx, dumpScript, names, nil).ToArray()
	if err != nil {
		return err
	}
	if len(values) != 2*len(names) {
		return errMoved
	}
	for i, name := range names {
		value, err := values[2*i].ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		ttl, err2 := values[2*i+1].AsInt64()
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		if ttl < 0 {
			ttl = keepTTLDefault // not stored by a proxy
		}
		f, known := keys[name]
		f.disputed = f.disputed || known && f.value != value
		f.value, f.ttl = value, max(f.ttl, ttl+copyMargin)
		keys[name] = f
	}
	return nil
}

// copyAll gives the master what is not disputed. It returns the keys that are,
// among the peers or with what it has.
func (p *peer) copyAll(ctx context.Context, keys map[string]found) (disputed []string, err error) {
	names, args := make([]string, 0, syncBatch), make([]string, 0, 2*syncBatch)
	flush := func() error {
		if len(names) == 0 {
			return nil
		}
		places, err := p.eval(ctx, copyScript, names, args).AsIntSlice()
		for _, i := range places {
			disputed = append(disputed, names[i-1])
		}
		names, args = names[:0], args[:0]
		return err
	}
	for name, f := range keys {
		if f.disputed {
			disputed = append(disputed, name)
			continue
		}
		names, args = append(names, name), append(args, f.value, strconv.FormatInt(min(f.ttl, maxTTL), 10))
		if len(names) == syncBatch {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	if !p.steady(false) {
		return nil, errMoved
	}
	return disputed, nil
}

func (p *peer) eval(ctx context.Context, script string, keys, args []string) rueidis.RedisResult {
	return p.w.client.Do(ctx, p.w.client.B().Arbitrary("EVAL", script, strconv.Itoa(len(keys))).Args(keys...).Args(args...).Build())
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
