package resp

import (
	"bytes"
	"strings"
)

// Some libraries wake up waiters through a list: the script that releases a lock
// also pushes to it, and gives it an expiry. No quorum can hand an element of a
// list to exactly one waiter, so nobody can pop, read or block on a list here.
// Then nobody misses one either: what a script does to a list that it only
// pushes to, deletes and gives an expiry is done to nothing, and the list takes
// no part in the swap. Its waiters have to poll for the lock.
//
// So such a key can serve as nothing else in the same script, and what was there
// before can decide nothing: a reply that depends on it may only be ignored.
//
// A key is a list if one of the runs that a plan needs pushes to it. Otherwise,
// and for all other commands, there is nothing at a key that was pushed to.

// maxScriptLists bounds the lists that one script pushes to. Libraries have one;
// each costs another run.
const maxScriptLists = 8

// noLists is why a script that asks more of a list is refused.
const noLists = "lists are not kept here, and who waits for one has to poll for the lock"

// modelList is a list as a script sees it during one run.
type modelList struct {
	db      int
	key     []byte
	length  int64 // of it now; or one of the following
	stays   bool  // it was pushed to, and has been given no expiry since
	expires bool  // it was given one
	lasting bool  // that was so at the end of some run
}

const (
	lengthUnknown int64 = -1 // it may not exist at all
	lengthSome    int64 = -2 // it exists, with what it held before
)

// list returns the list of that name, nil if it is not known to be one.
func (l *lockModel) list(key []byte) *modelList {
	for i := range l.lists {
		if k := &l.lists[i]; k.db == l.db && bytes.Equal(k.key, key) {
			return k
		}
	}
	return nil
}

// findList is list for a command of the script.
func (m *luaMachine) findList(key []byte) (*modelList, error) {
	if err := m.step(len(m.model.lists) * (len(key) / bytesAStep)); err != nil {
		return nil, err
	}
	return m.model.list(key), nil
}

// scriptPush is LPUSH and RPUSH key element [element …]. A key that was not
// known to be a list is one in the next run.
func scriptPush(m *luaMachine, args [][]byte) (luaValue, error) {
	l, key := &m.model, args[1]
	list, err := m.findList(key)
	switch {
	case err != nil:
		return luaValue{}, err
	case list != nil:
		return list.push(args[0], int64(len(args)-2)), nil
	case len(l.lists) == maxScriptLists:
		return luaValue{}, m.refuse("pushes to more than %d lists", maxScriptLists)
	case m.env.reserves(key):
		return luaValue{}, m.reserved()
	}
	l.lists = append(l.lists, modelList{db: l.db, key: key})
	return luaValue{}, errList
}

func (k *modelList) push(command []byte, n int64) luaValue {
	k.stays = !k.expires
	if k.length < 0 {
		k.length = lengthSome
		return unlearnable(command)
	}
	k.length += n
	return luaNum(float64(k.length))
}

// remove is DEL. The number is how many it deletes.
func (k *modelList) remove(command []byte) luaValue {
	n := k.count(command)
	k.length, k.stays, k.expires = 0, false, false
	return n
}

// count is 1 if the list exists.
func (k *modelList) count(command []byte) luaValue {
	switch k.length {
	case lengthUnknown:
		return unlearnable(command)
	case 0:
		return luaNum(0)
	}
	return luaNum(1)
}

// expire is EXPIRE and its like. Nobody knows whether a condition on the TTL is
// met, for a list that exists.
func (k *modelList) expire(command []byte, ttl int64, flags expireFlags) luaValue {
	n := k.count(command)
	if k.stays && flags == 0 {
		k.stays, k.expires = false, true
	}
	switch {
	case k.length == 0:
	case flags != 0:
		n = unlearnable(command)
		if ttl <= 0 {
			k.length = lengthUnknown
		}
	case ttl <= 0:
		k.length = 0
	}
	return n
}

// unlearnable is a number that depends on what a list was before.
func unlearnable(command []byte) luaValue {
	return luaValue{kind: luaUnknownNumber, str: command}
}

// addNumbers adds two numbers, either of which may be unlearnable.
func addNumbers(a, b luaValue) luaValue {
	switch {
	case a.unknown():
		return a
	case b.unknown():
		return b
	}
	return luaNum(a.num + b.num)
}

// needs ends a run that cannot go on without these values, not all known.
func (m *luaMachine) needs(values ...*luaValue) error {
	for _, v := range values {
		if v.kind == luaUnknownNumber && v.str != nil {
			return m.refuse("uses what %s returns for a list, which depends on what that held; "+noLists, strings.ToUpper(string(v.str)))
		}
	}
	return errLearn
}

// noteLastingLists remembers the lists that a run pushed to and gave no expiry.
func (m *luaMachine) noteLastingLists() {
	for i := range m.model.lists {
		k := &m.model.lists[i]
		k.lasting = k.lasting || k.stays
	}
}

// noLastingList refuses a script that pushes to a list and gives it no expiry:
// that is data to be kept, not a signal.
func (m *luaMachine) noLastingList() error {
	for i := range m.model.lists {
		if k := &m.model.lists[i]; k.lasting {
			return m.refuse("pushes to %.64q and gives it no expiry, so it is more than a signal to waiters; "+noLists, k.key)
		}
	}
	return nil
}

// onlyLists refuses a script that pushes to a list and touches no other key: it
// is about no lock, and what it pushes is not for a waiter.
func (m *luaMachine) onlyLists() error {
	if len(m.model.lists) == 0 {
		return nil
	}
	return m.refuse("pushes to %.64q and touches no lock; "+noLists, m.model.lists[0].key)
}
