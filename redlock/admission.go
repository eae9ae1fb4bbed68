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
	stepped    string // how the clock stepped, empty if it did not
	lastSeen   uint64 // the serial that a step invalidates
	// When its clock was last seen to be steady, and when to have stepped.
	steadyAt, steppedAt time.Duration
	restored            string // why it may vote again with this generation, empty if it may not yet
	marker              string // a key that must still be there when it is admitted for that
	note                string // what is being done about it
}

// electorate is the quorum whose masters are to be admitted.
type electorate struct {
	name      string
	size      int
	opTimeout int64 // milliseconds
	seen      bool  // this proxy has seen a record before
}

// standing is whether a master may vote: by the admission with this serial, or
// not at all, for a reason.
type standing struct {
	serial uint64
	reason string
}

// agenda is what follows from the views.
type agenda struct {
	standings []standing
	lost      []bool   // masters that may have lost locks, and could get them back
	restored  []bool   // masters that are admitted because they were restored
	writes    [][]byte // per master the record to write, nil for none
	first     bool     // the writes are those of a first start, on empty databases
	known     bool     // a record of this quorum was seen
	opTimeout int64    // the largest of its proxies, milliseconds
	unsettled bool     // to be looked at again soon: a step whose fault is not known yet
	notes     []string // what to tell the operator
}

// convene decides from the views of all masters who may vote and what is to be
// written to whom, after the rules of design §5 "Who may vote". asked marks
// masters that an operator wants admitted. It has no side effects; when the
// writes are done it is called again with new views.
func (e electorate) convene(views []view, asked []bool) agenda {
	m := meeting{electorate: e, views: views, records: make([]*record, e.size), reasons: make([]string, e.size), lost: make([]bool, e.size), restored: make([]bool, e.size)}
	m.merged = record{Quorum: e.name, OpTimeout: e.opTimeout, Admitted: make([]admission, e.size)}
	m.read()
	m.exposeTwins()
	fresh, first := make([]bool, e.size), false
	switch {
	case m.known || anyOf(asked):
		m.consider(asked, fresh)
	case m.seen && m.allOpen():
		m.outwait(fresh)
	default:
		first = m.bootstrap(fresh)
	}
	return agenda{standings: m.count(), lost: m.lost, restored: m.restored, opTimeout: m.merged.OpTimeout, writes: m.writes(fresh), first: first, known: m.known, unsettled: m.unsettled, notes: m.notes}
}

// meeting is one run of convene.
type meeting struct {
	electorate
	views    []view
	records  []*record // valid records as they are stored
	reasons  []string  // not empty: this master takes no part
	known    bool      // there is a valid record
	merged   record
	notes    []string
	lost     []bool
	restored []bool

	unsettled bool
}

// read takes the records of the masters that can be reached.
func (m *meeting) read() {
	for i := range m.views {
		v := &m.views[i]
		if !v.open {
			m.reasons[i] = v.reason
			continue
		}
		if v.raw == nil {
			continue
		}
		r, err := parseRecord(v.raw, m.name, m.size, i)
		if err != nil {
			m.reasons[i] = err.Error()
			continue
		}
		m.records[i], m.known = r, true
		m.merged.merge(r)
	}
}

// exposeTwins keeps out masters that are the same server.
func (m *meeting) exposeTwins() {
	for i := range m.views {
		for j := range m.views {
			if i != j && m.views[i].open && m.views[j].open && m.views[i].id.run == m.views[j].id.run {
				m.reasons[i] = fmt.Sprintf("it is the same server as %s (equal run_id): list each master once", m.views[j].name)
			}
		}
	}
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
	for i := range m.views {
		m.merged.Admitted[i] = admission{1, m.views[i].id.String()}
		fresh[i] = true
	}
	m.notes = append(m.notes, fmt.Sprintf("first start: all %d masters are empty and are admitted to the quorum %q", m.size, m.name))
	return true
}

func (m *meeting) noBootstrap() string {
	if m.seen {
		return "the records of all masters are gone: REDLOCK ADMIT ALL"
	}
	for i := range m.views {
		if m.reasons[i] != "" {
			return fmt.Sprintf("a first start needs all %d masters, and %s is missing", m.size, m.views[i].name)
		}
	}
	for i := range m.views {
		switch keys := m.views[i].keys; {
		case keys < 0:
			return fmt.Sprintf("it is not known whether %s is empty (DBSIZE): REDLOCK ADMIT ALL, if nobody holds locks there", m.views[i].name)
		case keys > 0:
			return fmt.Sprintf("never admitted, and %s holds %d keys already: REDLOCK ADMIT ALL, if nobody holds locks there", m.views[i].name, keys)
		}
	}
	return ""
}

// consider looks at each master by itself.
func (m *meeting) consider(asked, fresh []bool) {
	for i := range m.views {
		if m.reasons[i] != "" {
			continue
		}
		v, a := &m.views[i], &m.merged.Admitted[i]
		stepped := v.stepped != "" && v.lastSeen >= a.Serial
		switch {
		case asked != nil && asked[i]:
			m.admit(i, "admitted by an operator")
			fresh[i] = true
		case v.restored != "" && !(a.Identity == v.id.String() && m.records[i] != nil && !stepped):
			m.admit(i, v.restored)
			fresh[i], m.restored[i] = true, true
		case a.Identity == v.id.String() && m.records[i] == nil:
			m.lose(i, "its record is gone, so its locks may be (FLUSHALL?)")
		case a.Identity == v.id.String() && stepped:
			m.withdraw(i)
		case a.Identity == v.id.String():
		case a.Serial == 0:
			m.reasons[i] = fmt.Sprintf("never admitted: REDLOCK ADMIT %s", v.name)
		case a.Identity == "":
			m.lose(i, cmp.Or(v.stepped, "its clock stepped"))
		case m.records[i] == nil:
			m.lose(i, "it restarted without its data")
		case !v.durable:
			m.lose(i, "it restarted and does not persist every write (appendonly yes, appendfsync always, no-appendfsync-on-rewrite no)")
		case stepped:
			m.lose(i, "it restarted, and its "+v.stepped)
		default:
			m.admit(i, "admitted again: it restarted, persists every write and kept its record")
		}
	}
}

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
	standings := make([]standing, m.size)
	for i := range standings {
		if m.reasons[i] != "" {
			standings[i].reason = m.reasons[i]
			continue
		}
		want, n := m.merged.Admitted[i], 0
		for _, r := range m.records {
			if r != nil && r.Admitted[i] == want {
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

// writes brings stored records up to date. A master that has none gets one
// only when it is admitted: it would pass for one that kept its data.
func (m *meeting) writes(fresh []bool) [][]byte {
	writes := make([][]byte, m.size)
	for i := range writes {
		if m.records[i] == nil && !(fresh[i] && m.views[i].raw == nil) {
			continue
		}
		if text := m.merged.at(i); string(text) != string(m.views[i].raw) {
			writes[i] = text
		}
	}
	return writes
}

func (m *meeting) quorum() int { return m.size/2 + 1 }

func anyOf(flags []bool) bool {
	for _, f := range flags {
		if f {
			return true
		}
	}
	return false
}
