package redlock

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// view is what one proxy knows of one master of a database.
type view struct {
	name       string
	open       bool   // verified and connected
	reason     string // why not
	generation uint64
	id         identity
	raw        []byte // the record as it is stored there, nil if there is none
	keys       int64  // in the database when the connection was opened, -1 if unknown
	durable    bool   // persists every write before it answers
	awaits     bool   // a horizon says that locks may live which it does not hold
	stepped    string // how the clock stepped, empty if it did not
	lastSeen   uint64 // the serial that a step invalidates
	// When its clock was last seen to be steady, and when to have stepped.
	steadyAt, steppedAt time.Duration
	claimed             string // the Identity by which this proxy last claimed the place, and why
	gap                 string
	claim               admission     // the claim in the records …
	claimAge            time.Duration // … and how long it has been there, as far as this proxy has seen
	restored            string        // why it may vote again with this generation, empty if it may not yet
	answers             admission     // what it was restored for
	way                 Way           // how it came to
	marker              string        // a key that must still be there when it is admitted for that
	note                string        // what is being done about it
}

// electorate is the quorum whose masters are to be admitted.
type electorate struct {
	name      string
	size      int      // masters that this proxy knows: the quorum, at a first start
	opTimeout int64    // milliseconds
	drift     int64    // parts per million
	seen      bool     // this proxy has seen a record before …
	last      *record  // … the last one
	founders  []string // the masters of a first start; nil: all that this proxy knows
	sat       *seats   // as last decided
	proposal  *record  // a change of the set that is to be begun, see change.go
	unclaimed bool     // claims are not made: off in a test
}

// standing is whether a master may vote: by the admission with this serial, or
// not at all, for a reason.
type standing struct {
	serial uint64
	reason string
	claim  admission // by which it claims its place, none if it does not, …
	gap    string    // … and why
	taken  bool      // another server has its place
}

// loss is what a restoration makes good.
type loss struct {
	by admission // that ended the master's vote
	// known is by master whether its own record has that: it has no vote any
	// more that goes together with one of whoever had the place before.
	known bitset
	// enough of them have it that no majority is without, or all that can be reached.
	enough bool
}

// order is what an operator wants done about a master.
type order uint8

const (
	noOrder order = iota
	admitOrder
	refillOrder // it is to be resynchronised
	leaveOrder  // it is to have no vote until it leaves the quorum
)

// agenda is what follows from the views. It is by master, as the views are.
type agenda struct {
	standings []standing
	lost      []bool   // masters that may have lost locks, and could get them back
	restored  []bool   // masters that are admitted because they were restored
	losses    []loss   // of those
	ways      []Way    // how masters are admitted again, 0 if they are not
	writes    [][]byte // per master the record to write, nil for none
	first     bool     // the writes are those of a first start, on empty databases
	known     bool     // a record of this quorum was seen
	set       *record  // the set in force, and all that is known of it
	seats     *seats
	unsettled bool     // to be looked at again soon: a step whose fault is not known yet
	notes     []string // what to tell the operator
}

// convene decides from the views of all masters who may vote and what is to be
// written to whom, after the rules of design §5 "Who may vote". orders are what
// an operator wants, nil for nothing. It has no side effects; when the writes
// are done it is called again with new views.
func (e electorate) convene(views []view, orders []order) agenda {
	m := newMeeting(e, views, orders)
	m.read()
	m.exposeTwins()
	m.choose()
	m.sit()
	fresh, first := make([]bool, len(m.views)), false
	switch {
	case m.conflict != "":
		m.object()
	case m.known || anyOf(orders):
		m.consider(fresh)
	case m.seen && m.allOpen():
		m.outwait(fresh)
	default:
		first = m.bootstrap(fresh)
	}
	return m.agenda(fresh, first)
}

// bootstrap admits all masters if nothing can have been lost: all are there,
// and none knows anything.
func (m *meeting) bootstrap(fresh []bool) bool {
	if reason := m.noBootstrap(); reason != "" {
		for i := range m.reasons {
			m.reasons[i] = cmp.Or(m.reasons[i], reason)
		}
		return false
	}
	m.sitByIdentity()
	for i := range m.views {
		m.merged.Admitted[i] = admission{1, m.views[i].id.String()}
		fresh[i] = true
	}
	m.notes = append(m.notes, fmt.Sprintf("first start: all %d masters are empty and are admitted to the quorum %q", len(m.views), m.name))
	return true
}

func (m *meeting) noBootstrap() string {
	if m.seen {
		return "the records of all masters are gone: REDLOCK ADMIT ALL"
	}
	for i := range m.views {
		if m.reasons[i] != "" {
			return fmt.Sprintf("a first start needs all %d masters, and %s is missing", len(m.views), m.views[i].name)
		}
	}
	for i := range m.views {
		switch keys := m.views[i].keys; {
		case m.views[i].awaits:
			return fmt.Sprintf("no master has a record, and %s remembers that locks may still be held: the proxy that they were taken through admits the masters when they are over; REDLOCK ADMIT ALL only if nobody holds any", m.views[i].name)
		case keys < 0:
			return fmt.Sprintf("it is not known whether %s is empty (DBSIZE): REDLOCK ADMIT ALL, if nobody holds locks there", m.views[i].name)
		case keys > 0:
			return fmt.Sprintf("never admitted, and %s holds %d keys already: REDLOCK ADMIT ALL, if nobody holds locks there", m.views[i].name, keys)
		}
	}
	return ""
}

// consider looks at each master by itself.
func (m *meeting) consider(fresh []bool) {
	if m.merged.ID == "" && !m.known {
		m.merged.ID = m.lineage()
	}
	for i := range m.views {
		if m.order(i) == leaveOrder { // it may be down
			a := &m.merged.Admitted[i]
			*a = admission{a.Serial + 1, leaving}
		}
		m.taken[i] = m.reasons[i] == "" && m.order(i) == noOrder && m.deposed(i)
	}
	for i := range m.views {
		if m.reasons[i] == "" {
			fresh[i] = m.judge(i)
		}
	}
}

// judge looks at the master at place i, and reports whether it is admitted now.
func (m *meeting) judge(i int) (fresh bool) {
	v, a := &m.views[i], &m.merged.Admitted[i]
	recorded := m.records[i] != nil || m.previous[i]
	stepped := v.stepped != "" && v.lastSeen >= a.Serial
	own := a.Identity == v.id.String()
	switch {
	case m.order(i) == admitOrder:
		m.ways[i] = ByOperator
		m.admit(i, "admitted by an operator")
		return true
	case m.order(i) == refillOrder:
		*a = admission{Serial: a.Serial + 1}
		m.lose(i, "it is given all locks before another master leaves")
	case v.restored != "" && v.answers == *a && m.loss(i).enough && !(own && recorded && !stepped):
		m.ways[i] = v.way
		m.admit(i, v.restored)
		m.restored[i] = true
		return true
	case a.Identity == leaving:
		m.reasons[i] = leavingReason
	case m.taken[i]:
		m.reasons[i] = fmt.Sprintf("%s: REDLOCK ADMIT %s if this is the right one and nobody holds locks, or restart it empty", reasonTaken, v.name)
	case a.Serial == 0:
		m.reasons[i] = fmt.Sprintf("never admitted: REDLOCK ADMIT %s", v.name)
	case a.Identity == claimFor(v.id):
		m.lose(i, m.gap(i))
	case own && m.outdated[i]:
		m.lose(i, "it was away while the set of masters changed")
	case own && !recorded:
		m.lose(i, "its record is gone, so its locks may be (FLUSHALL?)")
	case own && stepped:
		m.withdraw(i)
	case own:
	case a.isLife() && recorded && v.durable && !stepped && !m.behind(i):
		m.ways[i] = Persisted
		m.admit(i, "admitted again: it restarted, persists every write and kept its record")
		return true
	default:
		m.claim(i, m.gap(i))
	}
	return false
}

// claim claims the place of master i for the life that it has now.
func (m *meeting) claim(i int, gap string) {
	m.lose(i, gap)
	if a := &m.merged.Admitted[i]; !m.unclaimed {
		*a = admission{a.Serial + 1, claimFor(m.views[i].id)}
		m.claims[i], m.gaps[i] = *a, gap
	}
}

// behind reports whether the data of master i is from before the last admission
// to its place: whoever votes has that in its own record.
func (m *meeting) behind(i int) bool {
	return m.found[m.seats[i]].own() != m.merged.Admitted[i]
}

// gap is why a master may lack locks that is not the one that was admitted.
func (m *meeting) gap(i int) string {
	v := &m.views[i]
	recorded := m.records[i] != nil || m.previous[i]
	switch own := claimFor(v.id); {
	case m.merged.Admitted[i].Identity == own && v.claimed == own:
		return v.gap
	case m.outdated[i]:
		return "it was away while the set of masters changed"
	case !recorded && m.joined(i):
		return "it has joined the quorum and has no locks yet"
	case !recorded:
		return "it restarted without its data"
	case v.stepped != "":
		return v.stepped
	case m.merged.Admitted[i].isLife() && !v.durable:
		return "it restarted and does not persist every write (appendonly yes, appendfsync always, no-appendfsync-on-rewrite no), or was a replica"
	case m.merged.Admitted[i].isLife():
		return "its record is older than the last admission of this master, and so are its locks"
	}
	return "its admission was withdrawn: it restarted and may have lost locks, its clock stepped, or it is given all locks before another master leaves"
}

// deposed reports whether another server has the place of master i: it was
// admitted in the life that it still has, and somebody else since then. Or
// another server claims it, and this proxy has neither made that claim for what
// was at the address before nor seen it stand for long. A restart is no reason
// for either: its address leads different proxies to different servers.
func (m *meeting) deposed(i int) bool {
	v, a := &m.views[i], m.merged.Admitted[i]
	switch {
	case a.Identity == v.id.String() || a.Identity == claimFor(v.id):
		return false
	case a.isClaim():
		return a.Identity != v.claimed && !v.stands(a)
	case !a.isLife():
		return false
	}
	r := m.found[m.seats[i]]
	return r != nil && r.ID == m.merged.ID && r.own().Identity == v.id.String() && a.Serial > r.own().Serial
}

// stands reports whether a claim has stood for so long that nobody works on it
// any more.
func (v *view) stands(claim admission) bool { return v.claim == claim && v.claimAge > claimPatience }

// claimPatience is how long another server's claim is left alone. Locks that can
// not be read may take longer to end, but then nothing is lost by claiming for
// the one that still has some.
const claimPatience = time.Minute

const reasonTaken = "another server has its place in the quorum, or is about to: its address seems to lead different proxies to different servers"

// loss is what the master at place i has lost by the records.
func (m *meeting) loss(i int) (l loss) {
	l.by, l.enough = m.merged.Admitted[i], true
	n := 0
	for j, r := range m.records {
		switch {
		case j == i || m.taken[j] || r == nil && !m.previous[j]:
		case r == nil || r.Admitted[i] != m.merged.Admitted[i]:
			l.enough = false
		default:
			l.known.set(m.seats[j])
			n++
		}
	}
	l.enough = l.enough || n >= enoughPeers(len(m.views))
	return l
}

const leavingReason = "it is about to leave the quorum (REDLOCK MASTERS REMOVE); REDLOCK ADMIT keeps it"

// lose notes that master i may have lost locks that others count on.
func (m *meeting) lose(i int, why string) {
	m.lost[i] = true
	m.reasons[i] = why + ": REDLOCK ADMIT " + m.views[i].name
	if note := m.views[i].note; note != "" {
		m.reasons[i] = why + "; " + note
	}
}

// allOpen reports whether every master can be reached.
func (m *meeting) allOpen() bool {
	return !slices.ContainsFunc(m.reasons, func(reason string) bool { return reason != "" })
}

// outwait is for masters that have all lost their records, which this proxy has
// seen: what they forgot ends some time, then they are admitted together.
func (m *meeting) outwait(fresh []bool) {
	if slices.ContainsFunc(m.views, func(v view) bool { return v.restored == "" }) {
		for i := range m.views {
			m.lose(i, "the records of all masters are gone")
		}
		return
	}
	for i := range m.views {
		m.ways[i] = m.views[i].way
		m.admit(i, m.views[i].restored)
		fresh[i], m.restored[i] = true, true
	}
}

func (m *meeting) admit(i int, why string) {
	a := &m.merged.Admitted[i]
	*a = admission{a.Serial + 1, m.views[i].id.String()}
	m.notes = append(m.notes, m.views[i].name+" "+why)
}

// withdraw takes the vote from a master whose clock stepped. If a majority
// agrees with our clock since then the fault is the master's, and other
// proxies, later ones too, must not trust it either. Otherwise it may be ours,
// for example after this machine slept.
func (m *meeting) withdraw(i int) {
	v := &m.views[i]
	m.reasons[i] = fmt.Sprintf("%s: REDLOCK ADMIT %s", v.stepped, v.name)
	steady := 0
	for j := range m.views {
		if w := &m.views[j]; w.open && w.stepped == "" && w.steadyAt > v.steppedAt {
			steady++
		}
	}
	if steady < m.quorum() {
		m.unsettled = true
		return
	}
	a := &m.merged.Admitted[i]
	*a = admission{Serial: a.Serial + 1}
	m.notes = append(m.notes, fmt.Sprintf("%s: %s; its admission is withdrawn for all proxies", v.name, v.stepped))
}

// count gives the vote to masters whose present identity is the admitted one
// in q stored records, its own among them.
func (m *meeting) count() []standing {
	standings := make([]standing, len(m.views))
	for i := range standings {
		standings[i].claim, standings[i].gap, standings[i].taken = m.claims[i], m.gaps[i], m.taken[i]
		switch {
		case m.reasons[i] != "":
			standings[i].reason = m.reasons[i]
			continue
		case m.undecided():
			standings[i].reason = reasonUndecided
			continue
		}
		want, n := m.merged.Admitted[i], 0
		for j, r := range m.records {
			if r != nil && !m.taken[j] && r.Admitted[i] == want {
				n++
			}
		}
		if own := m.records[i]; own == nil || own.Admitted[i] != want || n < m.quorum() {
			standings[i].reason = fmt.Sprintf("its admission is in the records of %d masters, %d needed", n, m.quorum())
			continue
		}
		standings[i].serial = want.Serial
	}
	return standings
}

const reasonUndecided = "the set of masters is being changed, and a majority of those from before does not have the change yet"

// write is the record that brings the one of master i up to date, or nil. A
// master that has none gets one only when it is admitted: it would pass for one
// that kept its data.
func (m *meeting) write(i int, fresh bool) []byte {
	v := &m.views[i]
	switch {
	case m.seats[i] == nobody || m.conflict != "" || m.taken[i]:
		return nil // (the record of a server that lost its place shows that it did)
	case m.records[i] == nil && !m.previous[i] && !(fresh && (v.raw == nil || m.outdated[i])):
		return nil
	}
	if text := m.merged.at(i); string(text) != string(v.raw) {
		return text
	}
	return nil
}

func (m *meeting) quorum() int { return len(m.views)/2 + 1 }

func anyOf(orders []order) bool {
	return slices.ContainsFunc(orders, func(o order) bool { return o != noOrder })
}
