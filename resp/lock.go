package resp

import "redlock-proxy/redlock"

// Lock is one recognised command: what to ask of a quorum, and what to answer.
//
// The zero value is ready for [Env.Recognise], which may be called again once
// the reply is written; most commands then need no allocation. A Lock must not
// be copied.
type Lock struct {
	Kind Kind
	// DB is the database to ask: that of the connection, unless a script
	// selects another.
	DB int
	// Swaps are independent of each other. There are none if the reply depends
	// on no key: then Reply is called at once, without outcomes.
	Swaps []redlock.Swap
	// DefaultTTL says that no expiry was given and [Env.DefaultTTL] is used.
	DefaultTTL bool
	// MayLearn says that a second round may follow: later operations of the
	// same connection on the key have to wait for the reply.
	MayLearn bool

	env     *Env
	first   [1]redlock.Swap // storage of Swaps for one key
	answers answers         // what to answer in each case of every swap
	shape   shape
	fault   string // the error text of answerFault

	// decide says what to do, and what to answer, in a case whose leaf is
	// Learn; the fields below are what it may need to know.
	decide  func(l *Lock, out *redlock.Outcome) (redlock.Leaf, answer)
	value   []byte
	ttl     int64
	when    expireFlags
	digest  *digestCondition
	learned learned

	isScript bool
	plan     Plan
}

// shape is how the answers of several swaps become one reply.
type shape uint8

const (
	shapeOne   shape = iota // there is one swap
	shapeSum                // the number of answerOne
	shapeArray              // one element each
	shapeOK                 // OK, whatever they are
)

// reset forgets the last command.
func (l *Lock) reset(e *Env, db int) {
	l.Kind, l.DB, l.env = KindRead, db, e
	l.Swaps, l.DefaultTTL, l.MayLearn, l.isScript = nil, false, false, false
	l.shape, l.fault = shapeOne, ""
	l.decide, l.value, l.ttl, l.when, l.digest = nil, nil, 0, 0, nil
	l.learned = learned{}
	l.plan.published = nil
}

// Forget drops what l keeps of a command, so that a lock which is not used for
// a while holds no arguments.
func (l *Lock) Forget() {
	l.reset(nil, 0)
	l.first, l.plan = [1]redlock.Swap{}, Plan{}
}

// Reply appends the reply to dst, in RESP2 or RESP3 (proto is 2 or 3), given
// the outcomes of all swaps in their order. Or it fills again with one more
// swap to run, appends nothing and returns true: Reply is then to be called
// with the outcome of that one. It may be called again with another outcome of
// the same swaps, where a grant came too late and was tried again.
func (l *Lock) Reply(dst []byte, proto int, outs []redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	l.plan.published = nil
	for i := range outs {
		if err := outs[i].Err; err != nil {
			return appendNoQuorum(dst, err), false
		}
	}
	if l.isScript {
		return l.replyScript(dst, proto, outs, again)
	}
	if len(outs) != len(l.Swaps) {
		return AppendError(dst, "ERR internal error: the number of outcomes is not that of keys"), false
	}
	switch l.shape {
	case shapeOK:
		return AppendStatus(dst, "OK"), false
	case shapeSum:
		return AppendInt(dst, l.sum(outs)), false
	case shapeArray:
		dst = AppendArray(dst, len(outs))
		for i := range outs {
			dst = l.append(dst, proto, l.answers[outs[i].Case], i, &outs[i])
		}
		return dst, false
	}
	a, more := l.resolve(&outs[0], again)
	if more {
		return dst, true
	}
	return l.append(dst, proto, a, 0, &outs[0]), false
}

func appendNoQuorum(dst []byte, err error) []byte {
	return AppendError(dst, "NOQUORUM "+err.Error())
}
