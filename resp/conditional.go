package resp

import "redlock-proxy/redlock"

// The conditional deletes of newer servers, whatever version the masters are:
// DELEX of Redis 8.4, DELIFEQ of Valkey 9.0. (SET … IFEQ is in set.go.)

// Redis 8.4 has a text of its own for DELEX on a list, hash, ….
const delexWrongType = "ERR Key should be of string type if conditions are specified"

// delex is DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest].
func (e *Env) delex(l *Lock, args [][]byte) (errText string) {
	switch len(args) {
	case 2:
		return e.del(l, args)
	case 4:
	default:
		return wrongArity("delex")
	}
	var buf [len("ifdeq")]byte
	remove := redlock.Leaf{Effect: redlock.Delete}
	switch string(fold(buf[:], args[2])) {
	case "ifeq":
		s := l.compareAndDelete(args[1], args[3], perCase(answerZero, answerOne, answerZero, answerFault))
		s.Mine, l.Kind = remove, KindRelease
	case "ifne":
		s := l.compareAndDelete(args[1], args[3], perCase(answerZero, answerZero, answerOne, answerFault))
		s.Other = remove
	case "ifdeq":
		l.deleteByDigest(args[1], digestCondition{digest: args[3], equal: true})
	case "ifdne":
		l.deleteByDigest(args[1], digestCondition{digest: args[3]})
	default:
		return "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"
	}
	l.fault = delexWrongType
	return ""
}

// delIfEq is DELIFEQ key value.
func (e *Env) delIfEq(l *Lock, args [][]byte) (errText string) {
	s := l.compareAndDelete(args[1], args[2], perCase(answerZero, answerOne, answerZero, answerWrongType))
	s.Mine.Effect = redlock.Delete
	return ""
}

// compareAndDelete makes l a swap that compares and does not write yet.
func (l *Lock) compareAndDelete(key, value []byte, r answers) *redlock.Swap {
	s := l.one(key, r)
	s.Token, s.HasToken = value, true
	return s
}
