package redlock

import (
	"bytes"
	"fmt"
	"time"
)

// clockTolerance is how far a master's clock may move against ours, beyond
// drift, before its votes end.
const clockTolerance = 2 * time.Millisecond

// reasonRecordChanged is why answers are no votes that were sent before an
// admission or a change of the set of masters became known.
const reasonRecordChanged = "its record has changed"

// identity tells one life of a master from the next: the run_id changes when
// the server restarts, the replication id when another server's data took its
// place.
type identity struct {
	run         string
	replication string
}

// suffix is what the end of a batch showed: the master's TIME, its record and
// its replication id, read after everything else in the batch was executed. ok
// is false if any could not be read. record is nil if there is none, replication
// is empty if the server is no master.
type suffix struct {
	timeMicros  int64
	record      []byte
	replication string
	ok          bool
}

// link is what is known of the connection to one master: whether an answer that
// came over it may be counted. It does no I/O and has no lock; times are Clock
// times.
type link struct {
	drift      int64 // parts per million
	generation uint64
	open       bool
	id         identity
	record     []byte // what the end of every batch must show
	clock      clockOffset

	serial uint64 // of the admission in force, 0 for none
	lost   bool   // it may have lost locks since the last one
	// since is when the admission came into force, if it was not the first: what
	// had begun before has no vote. A release may have taken the lock away at
	// other masters before they were read for this one.
	since    time.Duration
	refusal  string // why there is none
	lastSeen uint64 // the newest serial it was ever admitted with here
	stepped  string // how the clock stepped, empty if it did not
	// When a batch was sent whose TIME was as expected, the last one, and when
	// the step was noticed.
	steadyAt, steppedAt time.Duration

	steps    uint64        // how often it stepped
	lastStep time.Duration // by how far the last time
}

func newLink(driftPPM int) *link {
	return &link{drift: int64(driftPPM), refusal: "not verified yet"}
}

// opened begins a new generation: a connection to id is open, verified, and
// showed end between sent and received. It is not admitted yet. What is known
// of the clock stays: a step while the server restarted is a step.
func (l *link) opened(id identity, sent, received time.Duration, end suffix) (generation uint64) {
	l.generation++
	l.open, l.id, l.record = true, id, end.record
	l.serial, l.refusal = 0, "not admitted yet"
	l.watchClock(sent, received, end)
	return l.generation
}

// closed ends the generation: nothing that is still on its way can vote.
func (l *link) closed() {
	l.open = false
	l.serial, l.refusal = 0, "connection lost"
}

// admit puts the admission with this serial number in force, or none if serial
// is 0; reason says why not. It is ignored for any generation but the present.
// After a step of the clock only a newer admission helps.
func (l *link) admit(generation, serial uint64, reason string, now time.Duration) {
	if generation != l.generation || !l.open {
		return
	}
	if serial > 0 && serial != l.serial && (l.generation > 1 || l.serial > 0 || l.lost) {
		l.since, l.lost = now, false
	}
	if l.stepped != "" && serial > l.lastSeen {
		l.stepped = "" // the clock is known as it was seen since
	}
	l.serial, l.refusal = serial, reason
	l.lastSeen = max(l.lastSeen, serial)
}

// counts tells whether a vote counts for a round that began at a time, and if
// not, why.
func (l *link) counts(started time.Duration) (bool, string) {
	if started < l.since {
		return false, "it got its vote back since"
	}
	return true, ""
}

// outdate notes that the admission with this serial was decided when the last
// step of the clock that was known of was the one at steppedAt: a later one
// invalidates it.
func (l *link) outdate(steppedAt time.Duration, serial uint64) {
	if l.steppedAt > steppedAt {
		l.lastSeen = max(l.lastSeen, serial)
	}
}

// expect changes the record that the end of a batch must show.
func (l *link) expect(generation uint64, record []byte) {
	if generation == l.generation {
		l.record = record
	}
}

// votes tells whether an answer may be counted at present, and if not, why.
func (l *link) votes() (bool, string) {
	switch {
	case !l.open:
		return false, l.refusal
	case l.stepped != "":
		return false, l.stepped
	case l.serial == 0:
		return false, l.refusal
	}
	return true, ""
}

// judge tells whether the answers of a batch may be counted that was sent in a
// generation at one time and answered completely at another.
func (l *link) judge(generation uint64, sent, received time.Duration, end suffix) (bool, string) {
	if generation == l.generation && l.open && !l.replaced(end) {
		l.watchClock(sent, received, end)
	}
	if intact, reason := l.intact(generation, end); !intact {
		return false, reason
	}
	return l.votes()
}

// intact tells whether the end of a batch shows what the connection began with,
// and if not, what is wrong.
func (l *link) intact(generation uint64, end suffix) (bool, string) {
	switch {
	case generation != l.generation || !l.open:
		return false, "connection lost"
	case !end.ok:
		return false, "no time or record at the end of the batch"
	case l.replaced(end):
		return false, reasonReplaced
	case bytes.Equal(end.record, l.record):
		return l.stepped == "", l.stepped
	case end.record == nil:
		return false, "its record is gone"
	}
	return false, reasonRecordChanged
}

// reasonReplaced is why a connection ends whose server follows another one, or
// has followed one: another server's data took the place of its own, perhaps
// with a record of ours, in the same process and over the same connection.
const reasonReplaced = "it was made a replica meanwhile"

// replaced reports whether that has happened before the end of a batch.
func (l *link) replaced(end suffix) bool {
	return end.ok && end.replication != l.id.replication && end.replication != neverReplica
}

// watchClock compares TIME, read between sent and received, with what is known.
func (l *link) watchClock(sent, received time.Duration, end suffix) {
	if !end.ok {
		return
	}
	step := l.clock.observe(end.timeMicros, sent, received, l.drift)
	if step == 0 {
		l.steadyAt = max(l.steadyAt, sent)
		return
	}
	l.steppedAt = received
	l.steps, l.lastStep = l.steps+1, step
	if l.stepped == "" {
		l.stepped = fmt.Sprintf("clock stepped by %v", step.Round(time.Millisecond/10))
	}
}

// expiry bounds the absolute expiry time, on the master's clock, of a key that
// a batch gave a TTL of ttl milliseconds.
func (l *link) expiry(sent, received time.Duration, end suffix, ttl int64) Window {
	last := end.timeMicros / 1000
	if !end.ok {
		last = l.clock.latest(received, l.drift).Milliseconds()
	}
	return Window{
		From: addSaturated(l.clock.earliest(sent, l.drift).Milliseconds(), ttl),
		To:   addSaturated(last+1, ttl),
	}
}

// clockOffset is an interval that the offset of a master's wall clock against
// our monotonic one must meet. It widens by drift and narrows by each
// observation to that ± clockTolerance. So over any span of time a clock can
// move unnoticed by no more than drift × span + clockTolerance, plus the time
// the observations took; small steps do not add up to a large one.
type clockOffset struct {
	known  bool
	at     time.Duration // when lo and hi held
	lo, hi time.Duration
}

// observe takes a TIME that was read between sent and received. It returns by
// how far it is off, 0 if it fits. An observation that does not fit begins
// anew.
func (c *clockOffset) observe(timeMicros int64, sent, received time.Duration, ppm int64) (step time.Duration) {
	wall := time.Duration(timeMicros) * time.Microsecond
	lo, hi := wall-received, wall+time.Microsecond-sent
	fresh := clockOffset{known: true, at: received, lo: lo - clockTolerance, hi: hi + clockTolerance}
	if !c.known {
		*c = fresh
		return 0
	}
	c.advance(received, ppm)
	switch {
	case lo > c.hi:
		step = lo - c.hi + clockTolerance
	case hi < c.lo:
		step = hi - c.lo - clockTolerance
	default:
		c.lo, c.hi = max(c.lo, fresh.lo), min(c.hi, fresh.hi)
		return 0
	}
	*c = fresh
	return step
}

// advance widens the interval up to a later moment. Batches overlap, so the
// moment may be a little earlier; then it holds as it is.
func (c *clockOffset) advance(to time.Duration, ppm int64) {
	if elapsed := to - c.at; elapsed > 0 {
		widen := time.Duration(driftOver(elapsed, ppm))
		c.lo, c.hi, c.at = c.lo-widen, c.hi+widen, to
	}
}

// earliest is the earliest that the master's wall clock can have shown at a
// moment of ours not long ago.
func (c *clockOffset) earliest(at time.Duration, ppm int64) time.Duration {
	return at + c.lo - time.Duration(driftOver((at-c.at).Abs(), ppm))
}

// latest is the latest that it can have shown.
func (c *clockOffset) latest(at time.Duration, ppm int64) time.Duration {
	return at + c.hi + time.Duration(driftOver((at-c.at).Abs(), ppm))
}

// driftOver is what two clocks may drift apart in d, rounded up; it can not
// overflow for any d below a century.
func driftOver(d time.Duration, ppm int64) int64 {
	return int64(d/time.Microsecond+1) * ppm / 1000
}
