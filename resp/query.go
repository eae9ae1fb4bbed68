package resp

import "redlock-proxy/redlock"

// get is GET key.
func (e *Env) get(l *Lock, args [][]byte) (errText string) {
	l.one(args[1], perCase(answerNull, answerValue, answerValue, answerWrongType))
	return ""
}

// mget is MGET key [key …].
func (e *Env) mget(l *Lock, args [][]byte) (errText string) {
	values := perCase(answerNull, answerValue, answerValue, answerNull)
	return l.many(args[1:], values, shapeArray, redlock.Leaf{})
}

// exists is EXISTS key [key …]; a key named twice counts twice.
func (e *Env) exists(l *Lock, args [][]byte) (errText string) {
	counts := perCase(answerZero, answerOne, answerOne, answerOne)
	return l.many(args[1:], counts, shapeSum, redlock.Leaf{})
}

// strlen is STRLEN key.
func (e *Env) strlen(l *Lock, args [][]byte) (errText string) {
	l.one(args[1], perCase(answerZero, answerLength, answerLength, answerWrongType))
	return ""
}

// typeOf is TYPE key. A quorum knows strings from other types, but not those
// from each other.
func (e *Env) typeOf(l *Lock, args [][]byte) (errText string) {
	l.one(args[1], perCase(answerNone, answerString, answerString, answerFault))
	l.fault = "ERR the key holds something that is not a string; this is a lock proxy, ask a master for its type"
	return ""
}

// ttl is TTL key.
func (e *Env) ttl(l *Lock, args [][]byte) (errText string) {
	return l.time(args[1], answerTTL)
}

// pttl is PTTL key.
func (e *Env) pttl(l *Lock, args [][]byte) (errText string) {
	return l.time(args[1], answerPTTL)
}

// expireTime is EXPIRETIME key.
func (e *Env) expireTime(l *Lock, args [][]byte) (errText string) {
	return l.time(args[1], answerExpire)
}

// pexpireTime is PEXPIRETIME key.
func (e *Env) pexpireTime(l *Lock, args [][]byte) (errText string) {
	return l.time(args[1], answerPExpire)
}

func (l *Lock) time(key []byte, a answer) (errText string) {
	l.one(key, perCase(answerMinusTwo, a, a, a))
	return ""
}
