package redlock

import (
	"bytes"
	"context"
	"errors"
	"strings"
)

// This file is what the steward sees and changes of an upstream: its record
// and its standing.

// adopt notes the record that a batch showed, and reports whether admissions
// must be looked at again. A changed record that still admits this master by
// the admission in force does not end its vote: what has changed concerns
// others.
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
	r, err := parseRecord(end.record, u.shape.name, u.shape.size, u.place)
	if err == nil {
		// If this batch shows a step of the clock, this admission is older.
		l.lastSeen = max(l.lastSeen, r.Admitted[u.place].Serial)
	}
	if err == nil && l.serial > 0 && r.Admitted[u.place] == (admission{l.serial, l.id.String()}) {
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
		steadyAt: u.link.steadyAt, steppedAt: u.link.steppedAt, raw: u.raw}
	if v.reason == "" {
		v.reason = connectingReason
	}
	if u.wire != nil {
		f := u.wire.facts
		v.open, v.reason, v.generation = true, "", u.wire.generation
		v.id, v.keys, v.durable = f.id, f.keys, f.durable
	}
	return v
}

// stand puts a standing into force that was decided from a view.
func (u *upstream) stand(v *view, s standing) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.link.expect(v.generation, v.raw)
	u.link.admit(v.generation, s.serial, s.reason)
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
	u.mu.Lock()
	w := u.wire
	u.mu.Unlock()
	if w == nil || w.generation != v.generation {
		return errNoRedial
	}
	condition := ""
	switch {
	case first:
		condition = "empty"
	case v.marker != "":
		condition = "marked"
	}
	command := w.client.B().Arbitrary("EVAL", recordScript, "2", recordKey(u.shape.name), v.marker).
		Args(string(v.raw), string(text), condition).Build()
	present, err := w.client.Do(context.Background(), command).AsBytes()
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
	u.link.expect(w.generation, present)
	return nil
}
