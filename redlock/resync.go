package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
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
//     over one connection, and still do when they were read: they see every
//     lock that a majority held.
//  3. They are merged only then. The same value everywhere it exists counts,
//     with the largest remaining TTL; otherwise the key is unresolved.
//  4. What the master has is never shortened; another value on it leaves the key
//     unresolved. Unresolved keys are read again: leftovers of failed attempts go
//     away. Until none is left it does not vote.
//  5. All of it happens in one generation of the master's connection.
//  6. Nothing is overwritten or removed on a master that has a record, so that
//     somebody may have counted it: what is superfluous there dies by its TTL.
//
// A master that came back empty has no record until it is admitted, and what it
// holds is in nobody's count. There a lock that was released, or taken by
// somebody else, while it was copied is put right: else the next master to
// restart would get the copy, too, and a majority hold a lock that nobody has.

// found is a key as the peers have it.
type found struct {
	value    string
	ttl      int64 // milliseconds, the largest
	disputed bool  // different values
}

// A master does nothing else while it reads or takes a batch, so a batch is a
// fraction of a millisecond of its time: lock operations go on meanwhile.
const (
	syncBatch  = 256       // keys per SCAN, dump and copy
	syncBytes  = 128 << 10 // of keys and values per dump and copy, but for one that is larger
	sameMargin = 2000      // milliseconds that a copy gets more which is there already, see copyScript
	copyMargin = 2         // milliseconds that a copied TTL may have lost while being read
)

// dumpScript answers value and remaining TTL of each key; false for one that is
// not there or not a string. It ends early when the values have more bytes than
// ARGV[1].
const dumpScript = `
local out, room = {}, tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  if room < 0 then break end
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then value = false end
  out[2 * i - 1] = value
  out[2 * i] = redis.call('PTTL', key)
  if value then room = room - #value end
end
return out`

// The scripts below get the key of the record ahead of the others, and value and
// TTL of each of these behind a word of their own.

// copyScript gives the master each key with value and TTL, and answers the
// places of those that it holds with another value. "bare" says that the master
// must have no record, "again" that another value is to be overwritten, too.
//
// What holds the value already may be the copy of a failed attempt that used
// the same token, with its undo under way: two seconds more than needed, longer
// than any answer is waited for, make it another copy than the one to be undone.
const copyScript = `
if ARGV[1] ~= '' and redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('ADMITTED') end
local disputed = {}
for i = 2, #KEYS do
  local key, value, ttl = KEYS[i], ARGV[2 * i - 2], ARGV[2 * i - 1]
  local held = redis.pcall('GET', key)
  if not held or held ~= value and ARGV[1] == 'again' then
    redis.call('SET', key, value, 'PX', ttl)
  elseif held ~= value then
    disputed[#disputed + 1] = i - 1
  else
    local left = redis.call('PTTL', key)
    if left >= 0 then redis.call('PEXPIRE', key, string.format('%.0f', math.max(left, tonumber(ttl)) + 2000)) end
  end
end
return disputed`

// lackScript answers the places of the keys that a peer does not hold with these
// values. It must have its record: else it may have lost them.
const lackScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('EMPTIED') end
local lacks = {}
for i = 2, #KEYS do
  if redis.pcall('GET', KEYS[i]) ~= ARGV[2 * i - 2] then lacks[#lacks + 1] = i - 1 end
end
return lacks`

// dropScript removes the keys that hold these values from a master that has no
// record.
const dropScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('ADMITTED') end
for i = 2, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[2 * i - 2] then redis.call('DEL', KEYS[i]) end
end
return {}`

// errAdmitted says that another proxy has restored the master meanwhile.
var errAdmitted = errors.New("it was admitted meanwhile")

// errMoved says that a connection or a vote changed while it was needed.
var errMoved = errors.New("a connection was lost meanwhile")

// peer is a master that is read from, over one connection.
type peer struct {
	u *upstream
	w *wire
}

// steady reports whether the connection is still the same one.
func (p *peer) steady() bool {
	p.u.mu.Lock()
	defer p.u.mu.Unlock()
	return p.u.wire == p.w
}

// vouch reports whether what was read from a peer counts. As for votes, the
// record and the time that it shows afterwards decide: it may have been emptied
// just before it was read, and nobody has noticed.
func (p *peer) vouch(ctx context.Context) bool {
	sent := p.u.clock.Now()
	end := readSuffix(p.w.client.DoMulti(ctx, p.w.suffix...))
	received := p.u.clock.Now()
	p.u.mu.Lock()
	look := p.u.adopt(p.w.generation, end)
	votes, _ := p.u.link.judge(p.w.generation, sent, received, end)
	p.u.mu.Unlock()
	if look || !votes {
		p.u.changed()
	}
	return votes
}

// bare reports whether the master has no record.
func (p *peer) bare() bool {
	p.u.mu.Lock()
	defer p.u.mu.Unlock()
	return p.u.raw == nil
}

// resync copies all keys of the peers to a master and returns how many.
func resync(ctx context.Context, to peer, peers []peer, m *meter) (int, error) {
	bare := to.bare()
	keys, err := readPeers(ctx, peers, m)
	if err != nil {
		return 0, err
	}
	given := keys
	for try := 0; ; try++ {
		if !vouch(ctx, peers) {
			return 0, errMoved
		}
		if err := to.raiseHorizon(ctx, keys); err != nil {
			return 0, err
		}
		left, err := to.copyAll(ctx, keys, word(bare, try), m)
		if err != nil {
			return 0, err
		}
		if len(left) == 0 {
			break
		}
		m.differ(len(left), len(given))
		if err := sleep(ctx, 20*time.Millisecond<<min(try, 3)); err != nil {
			return 0, err
		}
		if keys, err = readAgain(ctx, peers, left); err != nil {
			return 0, err
		}
		maps.Copy(given, keys)
	}
	if bare {
		return len(given), tidy(ctx, to, peers, given)
	}
	return len(given), nil
}

// word is the one for copyScript.
func word(bare bool, try int) string {
	switch {
	case !bare:
		return ""
	case try == 0:
		return "bare"
	}
	return "again"
}

// vouch reports whether what was read from all peers counts.
func vouch(ctx context.Context, peers []peer) bool {
	return !slices.ContainsFunc(peers, func(p peer) bool { return !p.vouch(ctx) })
}

// tidy removes what was copied and is held by none of the peers any more.
func tidy(ctx context.Context, to peer, peers []peer, given map[string]found) error {
	for i := range peers {
		lacks, err := peers[i].each(ctx, lackScript, "", given, nil)
		if err != nil {
			return err
		}
		rest := make(map[string]found)
		for _, name := range lacks {
			rest[name] = given[name]
		}
		given = rest
	}
	if !vouch(ctx, peers) {
		return errMoved
	}
	_, err := to.each(ctx, dropScript, "", given, nil)
	return err
}

// readPeers reads all keys of all peers, of each at the same time: in which order
// they answer makes no difference to what is merged.
func readPeers(ctx context.Context, peers []peer, m *meter) (map[string]found, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		keys = make(map[string]found)
	)
	read := func(names []string, result *rueidis.RedisResult) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		n, err := mergeDump(keys, names, result)
		m.read(len(keys))
		return n, err
	}
	for i := range peers {
		all.Go(func() {
			if err := peers[i].readAll(ctx, read); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	return keys, context.Cause(ctx)
}

// merger takes what dumpScript answered for some names, and returns for how many of
// them it did.
type merger func(names []string, result *rueidis.RedisResult) (int, error)

// readAll reads all keys of a peer, and gives each batch of names to merge with
// what dumpScript answers for it. A page of names is asked for together with the
// values of earlier ones.
func (p *peer) readAll(ctx context.Context, merge merger) error {
	var names []string // those whose values have not been read
	for cursor, begun := uint64(0), false; !begun || cursor != 0; begun = true {
		n := batchOf(names)
		results := p.w.client.DoMulti(ctx, p.scan(cursor), p.dump(names[:n]))
		page, err := results[0].AsScanEntry()
		if err != nil {
			return err
		}
		read, err := merge(names[:n], &results[1])
		if err != nil {
			return err
		}
		names, cursor = append(names[read:], withoutOwn(page.Elements)...), page.Cursor
	}
	return p.read(ctx, names, merge)
}

func (p *peer) scan(cursor uint64) rueidis.Completed {
	return p.w.client.B().Arbitrary("SCAN", strconv.FormatUint(cursor, 10), "COUNT", strconv.Itoa(syncBatch)).Build()
}

func (p *peer) dump(names []string) rueidis.Completed {
	return p.script(dumpScript, names, []string{strconv.Itoa(syncBytes)})
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
	merge := func(names []string, result *rueidis.RedisResult) (int, error) { return mergeDump(again, names, result) }
	for i := range peers {
		if err := peers[i].read(ctx, keys, merge); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// read reads some keys of a peer, as readAll.
func (p *peer) read(ctx context.Context, names []string, merge merger) error {
	for len(names) > 0 {
		n := batchOf(names)
		result := p.w.client.Do(ctx, p.dump(names[:n]))
		n, err := merge(names[:n], &result)
		if err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// batchOf is how many of some keys make a batch.
func batchOf(names []string) (n int) {
	for size := 0; n < len(names) && n < syncBatch && size < syncBytes; n++ {
		size += len(names[n])
	}
	return n
}

// mergeDump adds what dumpScript answered for some keys, and returns for how
// many of them it did.
func mergeDump(keys map[string]found, names []string, result *rueidis.RedisResult) (int, error) {
	values, err := result.ToArray()
	if err != nil {
		return 0, err
	}
	n := len(values) / 2
	if n > len(names) || n == 0 && len(names) > 0 {
		return 0, fmt.Errorf("%d values of %d keys were answered", n, len(names))
	}
	for i, name := range names[:n] {
		value, err := values[2*i].ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		ttl, err2 := values[2*i+1].AsInt64()
		if err = errors.Join(err, err2); err != nil {
			return 0, err
		}
		if ttl < 0 {
			ttl = keepTTLDefault // not stored by a proxy
		}
		merge(keys, name, value, ttl)
	}
	return n, nil
}

// merge adds a key as a peer has it.
func merge(keys map[string]found, name, value string, ttl int64) {
	f, known := keys[name]
	f.disputed = f.disputed || known && f.value != value
	f.value, f.ttl = value, max(f.ttl, ttl+copyMargin)
	keys[name] = f
}

// copyAll gives the master what is not disputed. It returns the keys that are,
// among the peers or with what it has.
func (p *peer) copyAll(ctx context.Context, keys map[string]found, word string, m *meter) ([]string, error) {
	m.copied = 0
	disputed, err := p.each(ctx, copyScript, word, keys, func(n int) { m.copy(n, len(keys)) })
	if err != nil {
		return nil, err
	}
	for name, f := range keys {
		if f.disputed {
			disputed = append(disputed, name)
		}
	}
	if !p.steady() {
		return nil, errMoved
	}
	return disputed, nil
}

// each runs a script on all keys that are not disputed, in batches, and returns
// those whose places it answers. batch, if not nil, is told the size of each.
func (p *peer) each(ctx context.Context, script, word string, keys map[string]found, batch func(n int)) (answered []string, err error) {
	record := recordKey(p.u.shape.name)
	names, args, size := []string{record}, []string{word}, 0
	run := func() error {
		places, err := p.w.client.Do(ctx, p.script(script, names, args)).AsIntSlice()
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "ADMITTED"):
			return errAdmitted
		case err != nil:
			return err
		case batch != nil:
			batch(len(names) - 1)
		}
		for _, i := range places {
			answered = append(answered, names[i])
		}
		names, args, size = names[:1], args[:1], 0
		return nil
	}
	for name, f := range keys {
		if f.disputed {
			continue
		}
		names, args = append(names, name), append(args, f.value, strconv.FormatInt(min(f.ttl, maxTTL), 10))
		if size += len(name) + len(f.value); len(names) > syncBatch || size > syncBytes {
			if err := run(); err != nil {
				return nil, err
			}
		}
	}
	if len(names) > 1 {
		err = run()
	}
	return answered, err
}

func (p *peer) script(text string, keys, args []string) rueidis.Completed {
	return p.w.client.B().Arbitrary("EVAL", text, strconv.Itoa(len(keys))).Args(keys...).Args(args...).Build()
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
