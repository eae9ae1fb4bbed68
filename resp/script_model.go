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
}

// lockModel is all that a script can reach: at present one key, the first that
// it touches. Everything that names a key goes through touch, so that is where
// several will come in.
type lockModel struct {
	assume redlock.State
	known  bool
	db     int

	key     modelKey
	touched bool

	// candidates are the strings that an unknown value was compared with.
	candidates [][]byte
}

// start prepares a run that assumes a state of the key. With known false the
// value of a Text and every TTL is unknown.
func (l *lockModel) start(assume redlock.State, known bool) {
	l.assume, l.known, l.touched = assume, known, false
	l.candidates = l.candidates[:0]
	l.key = modelKey{}
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
	k := &l.key
	if !l.touched {
		l.touched = true
		*k = modelKey{db: l.db, key: key, before: l.assume, known: l.known}
		k.kind, k.ttl = l.assume.Kind, l.assume.TTL
		k.value = luaStr(l.assume.Value)
		if !l.known {
			k.value = luaValue{kind: luaUnknownString}
		}
		return k, nil
	}
	switch {
	case !bytes.Equal(k.key, key):
		return nil, m.refuse("touches more than one key (%.64q and %.64q)", k.key, key)
	case k.db != l.db:
		return nil, m.refuse("touches a key in more than one database (%d and %d)", k.db, l.db)
	}
	return k, nil
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
