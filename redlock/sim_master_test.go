package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const simQuorum = "sim"

// simMaster is the server in one place of the quorum: its data set, its wall
// clock and its identity.
type simMaster struct {
	s        *sim
	index    int
	store    *store
	history  []simWrite
	id       identity
	durable  bool          // persists every write before it answers
	replica  bool          // it follows another server at present
	promoted bool          // it was a replica: INFO tells, until it restarts
	offset   time.Duration // of its wall clock
	step     time.Duration // of that, what came by steps
	rate     float64       // of its wall clock
	stopped  time.Duration // executes nothing before this time
	lives    int
	links    []*simLink    // of living proxies
	before   *simMaster    // the server that had its name, and lives on …
	moved    time.Duration // … and is reached by it until then

	resyncing int             // proxies that are filling it
	executed  map[*round]bool // rounds whose table was applied here; true: with the horizon raised for it
	changed   time.Duration   // when its data was last lost or copied

	// What it lost counts as lost until a newer admission than lostSerial.
	lost       bool
	lostSerial uint64
	forgot     time.Duration // how far its horizon reached
}

// simWrite is what a key held before a write.
type simWrite struct {
	at      time.Duration
	key     string
	before  entry
	existed bool
}

func newSimMaster(s *sim, i int) *simMaster {
	m := &simMaster{
		s: s, index: i, store: newStore(), durable: s.chance(0.3), executed: make(map[*round]bool),
		offset: time.Duration(1_700_000_000+s.rand.IntN(1000)) * time.Second,
	}
	m.newClock()
	m.newLife()
	return m
}

func (m *simMaster) name() string { return fmt.Sprintf("m%d", m.index) }

// newClock is that of another host.
func (m *simMaster) newClock() { m.rate = 1 + (m.s.rand.Float64()-0.5)*500e-6 }

// newLife is what a new process has.
func (m *simMaster) newLife() {
	m.lives++
	m.id.run = fmt.Sprintf("m%d-life%d", m.index, m.lives)
	m.newReplication()
}

func (m *simMaster) newReplication() { m.id.replication = fmt.Sprintf("r%d", m.s.rand.IntN(1e9)) }

// micros is the master's wall clock in microseconds.
func (m *simMaster) micros() int64 { return m.microsAt(m.s.now) }

func (m *simMaster) microsAt(at time.Duration) int64 {
	return int64((float64(at)*m.rate + float64(m.offset)) / 1e3)
}

// wall is the same in milliseconds.
func (m *simMaster) wall() int64 { return m.micros() / 1000 }

// keep remembers what a key holds, for a server that does not keep what is
// written now.
func (m *simMaster) keep(key []byte) {
	const most, needed = 512, 300 * time.Millisecond
	if len(m.history) == most {
		old := slices.IndexFunc(m.history, func(w simWrite) bool { return w.at >= m.s.now-needed })
		if old < most/2 {
			old = most / 2
		}
		m.history = append(m.history[:0], m.history[old:]...)
	}
	e, ok := m.store.entries[string(key)]
	m.history = append(m.history, simWrite{m.s.now, string(key), e, ok})
}

// rollBack undoes what was written since a moment: a prefix of what happened
// is left.
func (m *simMaster) rollBack(to time.Duration) {
	m.s.count.rolledBack++
	for i := len(m.history) - 1; i >= 0 && m.history[i].at > to; i-- {
		w := m.history[i]
		m.history = m.history[:i]
		if delete(m.store.entries, w.key); w.existed {
			m.store.entries[w.key] = w.before
		}
	}
}

func (m *simMaster) empty() { m.store, m.history = newStore(), m.history[:0] }

// apply applies a table, like swap.lua.
func (m *simMaster) apply(t *Swap, w Window) verdict {
	if classify(t) != classRead {
		for k := range t.keys() {
			m.keep(t.key(k))
		}
	}
	return m.store.apply(m.wall(), t, w)
}

// get is what a key holds.
func (m *simMaster) get(key string) (value []byte, ttl int64, ok bool) {
	e, ok := m.store.find(m.wall(), []byte(key))
	return e.value, e.remaining(m.wall()), ok
}

// set is SET … PX; without an expiry if ttl is 0.
func (m *simMaster) set(key string, value []byte, ttl int64) {
	m.keep([]byte(key))
	e := entry{kind: Text, value: value}
	if ttl > 0 {
		e.expiry = m.wall() + ttl
	}
	m.store.put(m.wall(), []byte(key), e)
}

func (m *simMaster) del(key string) {
	m.keep([]byte(key))
	delete(m.store.entries, key)
}

// suffix is the end of a batch: TIME and the record.
func (m *simMaster) suffix() suffix {
	end := suffix{timeMicros: m.micros(), record: m.record(), replication: m.id.replication, ok: true}
	skip := &m.s.cfg.skip
	if skip.clock {
		end.timeMicros -= m.step.Microseconds()
	}
	if m.replica {
		end.replication = ""
	}
	if skip.replication {
		end.replication = "r"
	}
	return end
}

func (m *simMaster) record() []byte { return m.store.entries[simRecordKey].value }

var simRecordKey, simHorizonKey = recordKey(simQuorum), horizonKey(simQuorum)

// horizonTTL is the PTTL of the horizon.
func (m *simMaster) horizonTTL() int64 {
	if _, ttl, ok := m.get(simHorizonKey); ok {
		return ttl
	}
	return -2
}

// raiseHorizon is horizonScript.
func (m *simMaster) raiseHorizon(ttl int64) {
	if m.horizonTTL() < ttl {
		m.set(simHorizonKey, nil, ttl)
	}
}

// writeRecord is recordScript.
func (m *simMaster) writeRecord(seen, text []byte, condition, marker string) ([]byte, error) {
	if present := m.record(); string(present) != string(seen) {
		return present, nil
	}
	if condition == "empty" && len(m.store.entries) > 0 {
		return nil, errors.New("NOTEMPTY")
	}
	if condition == "marked" {
		_, _, marked := m.get(marker)
		if m.del(marker); !marked && !m.s.cfg.skip.mark {
			return nil, errors.New("EMPTIED")
		}
	}
	m.set(simRecordKey, text, 0)
	return text, nil
}

// take is copyScript for one key; false if it is disputed. again overwrites
// another value.
func (m *simMaster) take(name string, f *found, again bool) bool {
	value, left, held := m.get(name)
	m.s.end.copied(f.value)
	switch {
	case !held || string(value) != f.value && again:
		m.s.created++
		m.set(name, []byte(f.value), f.ttl)
	case string(value) != f.value:
		return m.s.cfg.skip.disputed
	case left >= 0 && !m.s.cfg.skip.raise:
		m.set(name, value, max(left, f.ttl)+2000)
	}
	return true
}

// names is SCAN.
func (m *simMaster) names() []string {
	var names []string
	for name, e := range m.store.entries {
		if !e.expired(m.wall()) {
			names = append(names, name)
		}
	}
	slices.Sort(names) // the same in every run
	return withoutOwn(names)
}

func (m *simMaster) noteApplied(g *simMessage, given int64) {
	if g.call.side != nil {
		return
	}
	_, ttl, ok := m.get(simHorizonKey)
	due := (m.microsAt(g.sent)-m.micros())/1000 + given // of what may be counted on
	m.executed[g.call.round] = ok && ttl >= due-3
}
