package resp

import "redlock-proxy/redlock"

// expireFlags are the conditions of EXPIRE and its like.
type expireFlags uint8

const (
	expireNX expireFlags = 1 << iota // only if there is no expiry
	expireXX                         // only if there is one
	expireGT                         // only to a later one; none is the latest
	expireLT                         // only to an earlier one
)

// expire is EXPIRE key seconds [NX|XX|GT|LT].
func (e *Env) expire(l *Lock, args [][]byte) (errText string) {
	return e.expireAs(l, args, unitSeconds, "expire")
}

// pexpire is PEXPIRE key milliseconds [NX|XX|GT|LT].
func (e *Env) pexpire(l *Lock, args [][]byte) (errText string) {
	return e.expireAs(l, args, unitMillis, "pexpire")
}

// expireAt is EXPIREAT key unix-time-seconds [NX|XX|GT|LT].
func (e *Env) expireAt(l *Lock, args [][]byte) (errText string) {
	return e.expireAs(l, args, unitSecondsAt, "expireat")
}

// pexpireAt is PEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT].
func (e *Env) pexpireAt(l *Lock, args [][]byte) (errText string) {
	return e.expireAs(l, args, unitMillisAt, "pexpireat")
}

func (e *Env) expireAs(l *Lock, args [][]byte, u unit, command string) (errText string) {
	flags, errText := parseExpireFlags(args[3:])
	if errText != "" {
		return errText
	}
	n, ok := parseInt(args[2])
	if !ok {
		return notInteger
	}
	ttl, errText := e.remaining(n, u, command)
	if errText != "" {
		return errText
	}
	s := l.one(args[1], perCase(answerZero, answerOne, answerOne, answerOne))
	leaf := expireIn(ttl)
	if flags != 0 {
		leaf = redlock.Leaf{Effect: redlock.Learn}
		l.MayLearn, l.decide, l.ttl, l.when = true, (*Lock).expireIf, ttl, flags
	}
	s.Other, s.Wrong = leaf, leaf
	return ""
}

// parseExpireFlags reads what follows the time. Redis does not call a wrong
// option a syntax error here.
func parseExpireFlags(opts [][]byte) (flags expireFlags, errText string) {
	for _, opt := range opts {
		var buf [2]byte
		switch string(fold(buf[:], opt)) {
		case "nx":
			flags |= expireNX
		case "xx":
			flags |= expireXX
		case "gt":
			flags |= expireGT
		case "lt":
			flags |= expireLT
		default:
			return 0, "ERR Unsupported option " + string(opt)
		}
	}
	if flags&expireNX != 0 && flags != expireNX {
		return 0, "ERR NX and XX, GT or LT options at the same time are not compatible"
	}
	if flags&expireGT != 0 && flags&expireLT != 0 {
		return 0, "ERR GT and LT options at the same time are not compatible"
	}
	return flags, ""
}

// expireIn is the leaf that gives a key ttl milliseconds; a time that is over
// deletes it, as in Redis.
func expireIn(ttl int64) redlock.Leaf {
	if ttl <= 0 {
		return redlock.Leaf{Effect: redlock.Delete}
	}
	return redlock.Leaf{Effect: redlock.Expire, TTL: ttl}
}

// expireIf decides EXPIRE with conditions on an existing key.
func (l *Lock) expireIf(out *redlock.Outcome) (redlock.Leaf, answer) {
	has := out.State.TTL != redlock.NoTTL
	met := true
	if l.when&expireNX != 0 && has {
		met = false
	}
	if l.when&expireXX != 0 && !has {
		met = false
	}
	if l.when&expireGT != 0 && (!has || l.ttl <= out.State.TTL) {
		met = false
	}
	if l.when&expireLT != 0 && has && l.ttl >= out.State.TTL {
		met = false
	}
	if !met {
		return redlock.Leaf{}, answerZero
	}
	return expireIn(l.ttl), answerOne
}

// persist is PERSIST key. There is no lock without an expiry here: it gets the
// default, unless it has a longer one already.
func (e *Env) persist(l *Lock, args [][]byte) (errText string) {
	s := l.one(args[1], perCase(answerZero, answerOne, answerOne, answerOne))
	s.Other.Effect, s.Wrong.Effect = redlock.Learn, redlock.Learn
	l.MayLearn, l.decide = true, (*Lock).persistIf
	return ""
}

// persistIf decides PERSIST and GETEX … PERSIST on an existing key. Redis
// answers PERSIST with 0 if there was no expiry to remove.
func (l *Lock) persistIf(out *redlock.Outcome) (redlock.Leaf, answer) {
	r := l.answers[out.Case]
	switch ttl := out.State.TTL; {
	case ttl == redlock.NoTTL && r == answerOne:
		return redlock.Leaf{}, answerZero
	case ttl == redlock.NoTTL || ttl >= l.env.DefaultTTL:
		return redlock.Leaf{}, r
	}
	return redlock.Leaf{Effect: redlock.Expire, TTL: l.env.DefaultTTL}, r
}

// getEx is GETEX key [EX s | PX ms | EXAT t | PXAT t | PERSIST].
func (e *Env) getEx(l *Lock, args [][]byte) (errText string) {
	var x expiry
	if !parseGetEx(&x, args[2:]) {
		return syntaxError
	}
	s := l.one(args[1], perCase(answerNull, answerValue, answerValue, answerWrongType))
	switch {
	case x.kept:
		l.Kind, s.Other.Effect = KindExtend, redlock.Learn
		l.MayLearn, l.decide = true, (*Lock).persistIf
	case x.unit != unitNone:
		ttl, fault := e.lifetime(x.arg, x.unit, "getex")
		if fault != "" { // Redis looks at the key first
			l.fault, l.answers = fault, perCase(answerNull, answerFault, answerFault, answerWrongType)
			return ""
		}
		l.Kind, s.Other = KindExtend, expireIn(ttl)
	}
	return ""
}

func parseGetEx(x *expiry, opts [][]byte) bool {
	var buf [len("persist")]byte
	for i := 0; i < len(opts); i++ {
		name := fold(buf[:], opts[i])
		if string(name) == "persist" {
			if !x.keep() {
				return false
			}
			continue
		}
		i++
		if i == len(opts) || !x.option(name, opts[i]) {
			return false
		}
	}
	return true
}
