package resp

import (
	"bytes"
	"math"

	"redlock-proxy/redlock"
)

// unknownTTL is the remaining time of a key whose TTL is not known.
const unknownTTL int64 = math.MinInt64

// modelKey is a key as a script sees and changes it during one run. Time stands
// still meanwhile, as it does in a script in Redis.
type modelKey struct {
	db  int
	key []byte

	before redlock.State // what the run assumes
	known  bool          // its value is; otherwise it equals nothing

	kind  redlock.Kind
	value luaValue // if kind is redlock.Text
	ttl   int64    // milliseconds, redlock.NoTTL or unknownTTL

	wrote, timed bool // the value, the TTL was set
	asked        bool // the run depends on the TTL

	bound   []byte // what an unknown value was taken for, if isBound
	isBound bool
	place   int // in Plan.names, see [Plan.collect]
}

// maxScriptKeys is how many keys one script, or transaction, may touch: they
// are changed by one script at each master, which nothing can interrupt.
const maxScriptKeys = 128

// lockModel is all that a script can reach: the keys that it touches.
type lockModel struct {
	assume redlock.State
	known  bool
	given  []givenKey // what is known better
	bind   bool       // an unknown value is what it is compared with first
	db     int

	key     modelKey // the first one
	touched bool
	more    []*modelKey // further ones, and some to be used again
	nmore   int
	lists   []modelList // that the script pushes to; the other keys are none

	// needsString is set when the run began its work on keys with a GET that ends
	// it if there is anything but a string.
	needsString bool

	// candidates are the strings that the unknown value of the first key was
	// compared with.
	candidates [][]byte
}

// givenKey is a key whose state is known.
type givenKey struct {
	key   []byte
	state redlock.State
}

// start prepares a run that assumes a state of the keys that are not given.
// With known false the value of a Text and every TTL is unknown.
func (l *lockModel) start(assume redlock.State, known bool) {
	l.assume, l.known, l.touched, l.needsString = assume, known, false, false
	l.candidates = l.candidates[:0]
	l.key = modelKey{}
	for _, k := range l.more[:l.nmore] {
		*k = modelKey{}
	}
	l.nmore = 0
	for i := range l.lists {
		k := &l.lists[i]
		k.length, k.stays, k.expires = lengthUnknown, false, false
	}
}

// clear is the model without what refers to a script that was run.
func (l *lockModel) clear() {
	const keepKeys = 8
	l.start(redlock.State{}, false)
	clear(l.candidates[:cap(l.candidates)])
	l.given, l.bind, l.lists = nil, false, nil
	if len(l.more) > keepKeys {
		l.more = nil
	}
}

// at is the key with a number.
func (l *lockModel) at(i int) *modelKey {
	if i == 0 {
		return &l.key
	}
	return l.more[i-1]
}

// keys is how many were touched.
func (l *lockModel) keys() int {
	if !l.touched {
		return 0
	}
	return 1 + l.nmore
}

// same is whether the unknown value of key i is b.
func (l *lockModel) same(i int, b []byte) (bool, error) {
	switch k := l.at(i); {
	case !l.bind && i > 0:
		return false, nil
	case !l.bind:
		return false, l.candidate(b)
	case !k.isBound:
		k.bound, k.isBound = b, true
		return true, nil
	default:
		return bytes.Equal(k.bound, b), nil
	}
}

// maxCandidates is more than any library compares with.
const maxCandidates = 8

// candidate notes that the unknown value was compared with b.
func (l *lockModel) candidate(b []byte) error {
	for _, known := range l.candidates {
		if bytes.Equal(known, b) {
			return nil
		}
	}
	if len(l.candidates) == maxCandidates {
		return errLearn
	}
	l.candidates = append(l.candidates, b)
	return nil
}

// touch returns the key of that name.
func (m *luaMachine) touch(key []byte) (*modelKey, error) {
	l := &m.model
	n := l.keys()
	if err := m.step(l.nmore/bytesAKeyStep + n*(len(key)/bytesAStep)); err != nil {
		return nil, err
	}
	if list, err := m.findList(key); err != nil {
		return nil, err
	} else if list != nil {
		return nil, m.refuse("pushes to %.64q and does more with it than to delete it and to give it an expiry; "+noLists, key)
	}
	for i := range n {
		k := l.at(i)
		if k.db != l.db {
			return nil, m.refuse("touches keys in more than one database (%d and %d)", k.db, l.db)
		}
		if bytes.Equal(k.key, key) {
			return k, nil
		}
	}
	switch {
	case n == maxScriptKeys:
		return nil, m.refuse("touches more than %d keys", maxScriptKeys)
	case m.env.reserves(key):
		return nil, m.reserved()
	}
	return l.add(key), nil
}

// reserved refuses to touch a key of the proxy's own.
func (m *luaMachine) reserved() error {
	return m.refuse("touches a key that begins with '%s', where this proxy keeps its own records", m.env.Reserved)
}

// add puts a key into the model.
func (l *lockModel) add(key []byte) *modelKey {
	n := l.keys()
	if l.touched {
		if l.nmore == len(l.more) {
			l.more = append(l.more, new(modelKey))
		}
		l.nmore++
	}
	l.touched = true
	k := l.at(n)
	assume, known := l.assumed(key, n)
	*k = modelKey{db: l.db, key: key, before: assume, known: known, kind: assume.Kind, ttl: assume.TTL}
	k.value = luaStr(assume.Value)
	if !known {
		k.value = luaValue{kind: luaUnknownString, num: float64(n)}
	}
	return k
}

// assumed is what the run knows of a key, which is touched as the nth.
func (l *lockModel) assumed(key []byte, n int) (redlock.State, bool) {
	if n < len(l.given) && bytes.Equal(l.given[n].key, key) { // as always
		return l.given[n].state, true
	}
	for i := range l.given {
		if bytes.Equal(l.given[i].key, key) {
			return l.given[i].state, true
		}
	}
	return l.assume, l.known
}

func (k *modelKey) exists() bool { return k.kind != redlock.Absent }

// set stores a string. A TTL of 0 makes the key vanish, as a past PXAT does in
// Redis. With keep an existing key keeps its TTL.
func (k *modelKey) set(value luaValue, ttl int64, keep bool) {
	if ttl == 0 {
		k.remove()
		return
	}
	if !keep || !k.exists() {
		k.ttl, k.timed = ttl, true
	}
	k.kind, k.value, k.wrote = redlock.Text, value, true
}

// remaining is the TTL before the run looked at it: what follows depends on it.
func (k *modelKey) remaining() int64 {
	k.asked = true
	return k.ttl
}

// expire sets the TTL; 0 deletes the key.
func (k *modelKey) expire(ttl int64) {
	if ttl == 0 {
		k.remove()
		return
	}
	k.ttl, k.timed = ttl, true
}

func (k *modelKey) remove() {
	k.kind, k.value, k.ttl = redlock.Absent, luaValue{}, 0
	k.wrote, k.timed = true, true
}

// effect is what the run did to the key, as one leaf of a table: the final
// state minus the first. usedDefault says that the key got the default TTL. An
// error is errRefused.
func (k *modelKey) effect(m *luaMachine) (leaf redlock.Leaf, usedDefault bool, err error) {
	if !k.exists() {
		if k.before.Kind != redlock.Absent {
			leaf.Effect = redlock.Delete
		}
		return leaf, false, nil
	}
	// Storing what is already there only renews it.
	same := k.known && k.before.Kind == redlock.Text && bytes.Equal(k.value.str, k.before.Value)
	switch {
	case k.wrote && !same:
		leaf.Effect, leaf.Value = redlock.Set, k.value.str
	case k.timed:
		leaf.Effect = redlock.Expire
	default:
		return leaf, false, nil
	}
	switch {
	case k.ttl == redlock.NoTTL:
		leaf.TTL, usedDefault = m.env.DefaultTTL, true
	case !k.timed:
		leaf.TTL = redlock.KeepTTL
	case m.env.MaxTTL > 0 && k.ttl > m.env.MaxTTL:
		return leaf, false, m.refuse("asks for a TTL of %d ms, longer than the %d ms of --max-ttl", k.ttl, m.env.MaxTTL)
	default:
		leaf.TTL = k.ttl
	}
	return leaf, usedDefault, nil
}
