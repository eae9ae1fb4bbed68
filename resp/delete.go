package resp

import (
	"strconv"

	"redlock-proxy/redlock"
)

// maxKeys is how many keys one command may name: each is an operation of its
// own at every master.
const maxKeys = 1024

// del is DEL and UNLINK key [key …].
func (e *Env) del(l *Lock, args [][]byte) (errText string) {
	r := perCase(answerZero, answerOne, answerOne, answerOne)
	remove := redlock.Leaf{Effect: redlock.Delete}
	return l.many(distinct(args[1:]), r, shapeSum, remove)
}

// getDel is GETDEL key.
func (e *Env) getDel(l *Lock, args [][]byte) (errText string) {
	s := l.one(args[1], perCase(answerNull, answerValue, answerValue, answerWrongType))
	s.Other.Effect = redlock.Delete
	return ""
}

// many makes l one swap per key, with the leaf for keys that exist.
func (l *Lock) many(keys [][]byte, r answers, sh shape, existing redlock.Leaf) (errText string) {
	if len(keys) > maxKeys {
		return "ERR this proxy takes at most " + strconv.Itoa(maxKeys) + " keys in one command"
	}
	l.one(keys[0], r)
	l.shape = sh
	if len(keys) > 1 {
		l.Swaps = make([]redlock.Swap, len(keys))
	}
	for i, key := range keys {
		l.Swaps[i] = redlock.Swap{Key: key, Other: existing, Wrong: existing}
	}
	return ""
}

// distinct drops keys that were named before: the second DEL of a key finds
// nothing, but independent swaps could both count it.
func distinct(keys [][]byte) [][]byte {
	if len(keys) == 1 || len(keys) > maxKeys {
		return keys
	}
	seen := make(map[string]bool, len(keys))
	var once [][]byte
	for _, key := range keys {
		if !seen[string(key)] {
			seen[string(key)] = true
			once = append(once, key)
		}
	}
	return once
}
