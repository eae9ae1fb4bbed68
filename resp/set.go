package resp

import (
	"bytes"

	"redlock-proxy/redlock"
)

// set is SET key value with options in any order and case.
func (e *Env) set(l *Lock, args [][]byte) (errText string) {
	o := setOptions{value: args[2]}
	if !o.parse(args[3:]) {
		return syntaxError
	}
	l.Kind = o.kind()
	return e.store(l, args[1], &o, "set")
}

// setNX is SETNX key value: SET … NX with integer answers.
func (e *Env) setNX(l *Lock, args [][]byte) (errText string) {
	o := setOptions{value: args[2], when: ifAbsent}
	errText = e.store(l, args[1], &o, "setnx")
	l.answers = perCase(answerOne, answerZero, answerZero, answerZero)
	return errText
}

// setEX is SETEX key seconds value.
func (e *Env) setEX(l *Lock, args [][]byte) (errText string) {
	o := setOptions{value: args[3], expiry: expiry{unit: unitSeconds, arg: args[2]}}
	return e.store(l, args[1], &o, "setex")
}

// psetEX is PSETEX key milliseconds value.
func (e *Env) psetEX(l *Lock, args [][]byte) (errText string) {
	o := setOptions{value: args[3], expiry: expiry{unit: unitMillis, arg: args[2]}}
	return e.store(l, args[1], &o, "psetex")
}

// getSet is GETSET key value.
func (e *Env) getSet(l *Lock, args [][]byte) (errText string) {
	o := setOptions{value: args[2], get: true}
	return e.store(l, args[1], &o, "getset")
}

// condition is when a SET writes.
type condition uint8

const (
	always condition = iota
	ifAbsent
	ifExists
	ifEqual
	ifNotEqual
	ifDigest    // the value has the digest
	ifNotDigest // there is no value, or it has another
)

// setOptions is a parsed SET.
type setOptions struct {
	value   []byte
	when    condition
	operand []byte // what the value, or its digest, is compared with
	get     bool
	expiry
}

// parse reads the options. Like Redis it takes one again if it does not
// contradict what came before (the last EX counts), and takes the operand of
// IFEQ whatever it looks like.
func (o *setOptions) parse(opts [][]byte) bool {
	var buf [len("keepttl")]byte
	for i := 0; i < len(opts); i++ {
		name := fold(buf[:], opts[i])
		if o.flag(name) {
			continue
		}
		i++
		if i == len(opts) || !o.option(name, opts[i]) {
			return false
		}
	}
	return true
}

// flag takes an option that stands alone.
func (o *setOptions) flag(name []byte) bool {
	switch string(name) {
	case "nx":
		return o.condition(ifAbsent)
	case "xx":
		return o.condition(ifExists)
	case "get":
		o.get = true
		return true
	case "keepttl":
		return o.keep()
	}
	return false
}

// option takes an option with an operand.
func (o *setOptions) option(name, operand []byte) bool {
	switch string(name) {
	case "ifeq":
		return o.compare(ifEqual, operand)
	case "ifne":
		return o.compare(ifNotEqual, operand)
	case "ifdeq":
		return o.compare(ifDigest, operand)
	case "ifdne":
		return o.compare(ifNotDigest, operand)
	}
	return o.expiry.option(name, operand)
}

func (o *setOptions) compare(c condition, operand []byte) bool {
	o.operand = operand
	return o.when == always && o.condition(c)
}

func (o *setOptions) condition(c condition) bool {
	if o.when != always && o.when != c {
		return false
	}
	o.when = c
	return true
}

// store fills l with the table of a SET.
//
// An absolute time in the past does what it does in Redis, without the detour
// of a key that nobody can see: the reply is that of a SET that wrote, and
// nothing lives.
func (e *Env) store(l *Lock, key []byte, o *setOptions, command string) (errText string) {
	ttl := e.DefaultTTL
	if o.unit != unitNone {
		if ttl, errText = e.lifetime(o.arg, o.unit, command); errText != "" {
			return errText
		}
	}
	s := l.one(key, o.answers())
	if o.when == ifEqual || o.when == ifNotEqual {
		s.Token, s.HasToken = o.operand, true
	}
	if o.writes(redlock.CaseAbsent) && ttl > 0 {
		s.Absent = redlock.Leaf{Effect: redlock.Set, Value: o.value, TTL: ttl}
	}
	over := redlock.Leaf{Effect: redlock.Set, Value: o.value, TTL: ttl}
	switch {
	case o.when == ifDigest || o.when == ifNotDigest:
		over = l.learnDigest(o, over)
	case ttl <= 0:
		over = redlock.Leaf{Effect: redlock.Delete}
	case o.kept:
		over = redlock.Leaf{Effect: redlock.Learn}
		l.MayLearn = o.when != ifAbsent
		l.decide, l.value = (*Lock).keepTTL, o.value
	}
	for _, c := range [...]redlock.Case{redlock.CaseMine, redlock.CaseOther, redlock.CaseWrong} {
		if o.writes(c) {
			*s.Leaf(c) = over
		}
	}
	l.DefaultTTL = o.unit == unitNone && (!o.kept || s.Absent.Effect == redlock.Set)
	return ""
}

// keepTTL decides SET … KEEPTTL on an existing key: one without an expiry gets
// the default.
func (l *Lock) keepTTL(out *redlock.Outcome) (redlock.Leaf, answer) {
	leaf := redlock.Leaf{Effect: redlock.Set, Value: l.value, TTL: redlock.KeepTTL}
	if out.State.TTL == redlock.NoTTL {
		leaf.TTL = l.env.DefaultTTL
	}
	return leaf, l.answers[out.Case]
}

// compares reports whether the value has to be compared.
func (o *setOptions) compares() bool { return o.when >= ifEqual }

// writes reports whether the SET writes in a case. The case Mine exists only
// if there is an operand to compare with.
func (o *setOptions) writes(c redlock.Case) bool {
	switch o.when {
	case ifAbsent:
		return c == redlock.CaseAbsent
	case ifEqual:
		return c == redlock.CaseMine
	case ifNotEqual, ifNotDigest:
		return c == redlock.CaseAbsent || c == redlock.CaseOther
	case ifDigest:
		return c == redlock.CaseOther
	case ifExists:
		return c == redlock.CaseOther || c == redlock.CaseWrong && !o.get
	}
	return c == redlock.CaseAbsent || c == redlock.CaseOther || c == redlock.CaseWrong && !o.get
}

// answers tells whether the SET wrote or, with GET, what was there.
func (o *setOptions) answers() answers {
	if o.get {
		return perCase(answerNull, answerValue, answerValue, answerWrongType)
	}
	var r answers
	for c := range r {
		if o.writes(redlock.Case(c)) {
			r[c] = answerOK
		}
	}
	if o.compares() {
		r[redlock.CaseWrong] = answerWrongType
	}
	return r
}

// kind is what a SET is for. With the value that it expects it is how Spring
// and StackExchange.Redis extend a lock.
func (o *setOptions) kind() Kind {
	switch {
	case o.when == ifAbsent:
		return KindAcquire
	case o.when == ifEqual && bytes.Equal(o.operand, o.value):
		return KindExtend
	}
	return KindSet
}
