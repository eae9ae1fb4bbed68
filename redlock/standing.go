package redlock

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// This file is what the steward sees and changes of an upstream: its record
// and its standing.

// adopt notes the record that a batch showed, and reports whether admissions
// must be looked at again. A changed record that still admits this master by
// the admission in force does not end its vote: what has changed concerns
// others. But the votes of a master that has lost its own are void then: they
// must not be counted together with one of this batch, or a later one.
func (u *upstream) adopt(generation uint64, end suffix) bool {
	l := u.link
	if !end.ok || generation != l.generation {
		return false
	}
	look := !bytes.Equal(end.record, u.raw)
	u.raw = end.record
	if bytes.Equal(end.record, l.record) {
		return look
	}
	r, err := parseRecord(end.record, u.shape.name)
	if err != nil || u.in == nil || r.setName() != u.in.set {
		return true
	}
	for place := range u.admitted {
		if k := u.in.masters[place]; k != nobody && r.deposes(u.admitted, place) {
			u.quorum.Load().voids.void(k)
		}
	}
	// If this batch shows a step of the clock, this admission is older.
	l.lastSeen = max(l.lastSeen, r.own().Serial)
	if l.serial > 0 && r.own() == (admission{l.serial, l.id.String()}) {
		l.expect(generation, end.record)
	}
	return true
}

// connectingReason is why a master is not there whose first connection is still
// being opened.
const connectingReason = "connecting"

// untried reports whether nothing is known of the master yet.
func (v view) untried() bool { return !v.open && v.reason == connectingReason }

// view is what is known of the master at present.
func (u *upstream) view() view {
	u.mu.Lock()
	defer u.mu.Unlock()
	v := view{name: u.addr.Address, reason: u.down, stepped: u.link.stepped, lastSeen: u.link.lastSeen,
		claimed: u.claimed, gap: u.gap, claim: u.claim, claimAge: u.clock.Now() - u.claimSince,
		steadyAt: u.link.steadyAt, steppedAt: u.link.steppedAt, raw: u.raw}
	if v.reason == "" {
		v.reason = connectingReason
	}
	if u.wire != nil {
		f := u.wire.facts
		v.open, v.reason, v.generation = true, "", u.wire.generation
		v.id, v.keys, v.durable = f.id, f.keys, f.durable
		v.awaits = u.memory.get() > u.clock.Now()
	}
	return v
}

// revoke ends the vote until the next standing.
func (u *upstream) revoke(reason string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.link.admit(u.link.generation, 0, reason, u.clock.Now())
}

// stand puts a standing into force that was decided from a view, in a set of
// masters with these admissions.
func (u *upstream) stand(v *view, s standing, lost bool, in *seats, admitted []admission) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.in, u.admitted, u.taken = in, admitted, s.taken
	place := slices.Index(in.masters, u.number)
	u.member = place >= 0
	if u.member && admitted[place] != u.claim {
		u.claim, u.claimSince = admitted[place], u.clock.Now()
	}
	if s.serial != u.link.serial && u.wire != nil {
		u.wire.horizon.forget() // it may have lost it
	}
	if s.claim != (admission{}) {
		u.claimed, u.gap = s.claim.Identity, s.gap
	}
	u.link.expect(v.generation, v.raw)
	u.link.lost = u.link.lost || lost && v.generation == u.link.generation
	u.link.admit(v.generation, s.serial, s.reason, u.clock.Now())
}

// voteEnded reports whether the master's own record says that it is about to
// leave, or is gone. Until then a proxy that has not seen the other records
// lately counts its votes.
func (u *upstream) voteEnded() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.raw == nil {
		return u.wire != nil
	}
	r, err := parseRecord(u.raw, u.shape.name)
	return err == nil && r.own().Identity == leaving
}

// stands tells whether there is a connection, and whether it votes or why not.
func (u *upstream) stands() (open, votes bool, reason string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	votes, reason = u.link.votes()
	return u.wire != nil, votes, reason
}

// recordScript replaces the record if it is still the one that was seen (empty:
// none), and answers the one that is there then. "empty" makes it replace none
// in a database that holds anything, "marked" none where the second key, which
// it removes, is gone: what was restored there is gone, too.
const recordScript = `
local present = redis.call('GET', KEYS[1]) or ''
if present ~= ARGV[1] then return present end
if ARGV[3] == 'empty' and redis.call('DBSIZE') > 0 then return redis.error_reply('NOTEMPTY') end
if ARGV[3] == 'marked' and redis.call('DEL', KEYS[2]) == 0 then return redis.error_reply('EMPTIED') end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]`

// write replaces the record on the master, on the connection of the view.
// first asks for an empty database.
func (u *upstream) write(v *view, text []byte, first bool) error {
	p, ok := u.peer(v.generation)
	if !ok {
		return errNoRedial
	}
	w, key := p.w, recordKey(u.shape.name)
	marker := cmp.Or(v.marker, key) // a key that the proxy's user may touch
	command := w.client.B().Arbitrary("EVAL", recordScript, "2", key, marker).
		Args(string(v.raw), string(text), v.condition(first)).Build()
	present, err := w.client.Do(context.Background(), command).AsBytes()
	return u.wrote(w, v, text, present, err)
}

// condition is what recordScript is to insist on.
func (v *view) condition(first bool) string {
	switch {
	case first:
		return "empty"
	case v.marker != "":
		return "marked"
	}
	return ""
}

// wrote notes the record that is there after text was to be written.
func (u *upstream) wrote(w *wire, v *view, text, present []byte, err error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NOTEMPTY"):
		w.facts.keys = max(w.facts.keys, 1)
		return errors.New("the database is not empty any more")
	case err != nil && strings.HasPrefix(err.Error(), "EMPTIED"):
		return errors.New("it was emptied again while it was restored")
	case err != nil:
		return err
	case u.wire != w:
		return errNoRedial
	case len(present) == 0:
		present = nil
	}
	u.raw = present
	if !bytes.Equal(present, text) {
		return nil // another proxy was ahead, or it was emptied: that has to be looked at before anything votes by it
	}
	u.link.expect(w.generation, present)
	u.link.outdate(v.steppedAt, u.admissionIn(text))
	return nil
}

// admissionIn is the serial that a record has for this master.
func (u *upstream) admissionIn(text []byte) uint64 {
	r, err := parseRecord(text, u.shape.name)
	if err != nil {
		return 0
	}
	return r.own().Serial
}

// hasNoRecord reads the record again, on the connection of the view.
func (u *upstream) hasNoRecord(v *view) bool {
	p, ok := u.peer(v.generation)
	if !ok {
		return false
	}
	w := p.w
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	text, err := w.client.Do(ctx, w.suffix[1]).AsBytes()
	if err != nil {
		return rueidis.IsRedisNil(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.wire == w {
		u.raw = text
	}
	return false
}
