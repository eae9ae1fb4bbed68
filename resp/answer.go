package resp

import (
	"math"

	"redlock-proxy/redlock"
)

// answer is what to answer in one case of a swap.
type answer uint8

const (
	answerNull      answer = iota
	answerOK               // +OK
	answerZero             // :0
	answerOne              // :1
	answerMinusTwo         // :-2, Redis's TTL of a key that does not exist
	answerValue            // the string that was there
	answerLength           // its length
	answerDigest           // its digest
	answerTTL              // the remaining time in seconds, rounded as Redis does
	answerPTTL             // in milliseconds
	answerExpire           // the absolute time of expiry in seconds
	answerPExpire          // in milliseconds
	answerNone             // +none
	answerString           // +string
	answerWrongType        // the error of a command on a list, hash, …
	answerFault            // the error in Lock.fault
)

// answers has the reply for each [redlock.Case].
type answers [4]answer

// perCase lists the answers for an absent key, the table's token, another
// string and something that is not a string.
func perCase(absent, mine, other, wrong answer) answers {
	return answers{
		redlock.CaseAbsent: absent,
		redlock.CaseMine:   mine,
		redlock.CaseOther:  other,
		redlock.CaseWrong:  wrong,
	}
}

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// sum counts the ones.
func (l *Lock) sum(outs []redlock.Outcome) int64 {
	var n int64
	for i := range outs {
		if l.answers[outs[i].Case] == answerOne {
			n++
		}
	}
	return n
}

// append appends one answer to the outcome of swap i.
func (l *Lock) append(dst []byte, proto int, a answer, i int, out *redlock.Outcome) []byte {
	switch a {
	case answerNull:
		return AppendNull(dst, proto)
	case answerOK:
		return AppendStatus(dst, "OK")
	case answerNone:
		return AppendStatus(dst, "none")
	case answerString:
		return AppendStatus(dst, "string")
	case answerValue:
		return AppendBulk(dst, l.valueOf(i, out))
	case answerDigest:
		d := digestOf(l.valueOf(i, out))
		return AppendBulk(dst, d[:])
	case answerWrongType:
		return AppendError(dst, wrongType)
	case answerFault:
		return AppendError(dst, l.fault)
	}
	return AppendInt(dst, l.number(a, i, out))
}

// number is the integer that a stands for.
func (l *Lock) number(a answer, i int, out *redlock.Outcome) int64 {
	ttl := out.State.TTL
	switch a {
	case answerOne:
		return 1
	case answerMinusTwo:
		return -2
	case answerLength:
		return int64(len(l.valueOf(i, out)))
	case answerZero:
		return 0
	}
	if ttl == redlock.NoTTL {
		return -1
	}
	switch a {
	case answerTTL:
		return inSeconds(ttl)
	case answerExpire:
		return inSeconds(l.expiry(ttl))
	case answerPExpire:
		return l.expiry(ttl)
	}
	return ttl
}

// valueOf is the string that a quorum held: the table's token where the engine
// left it out because it equals the token.
func (l *Lock) valueOf(i int, out *redlock.Outcome) []byte {
	if out.Case == redlock.CaseMine && out.State.Value == nil && i < len(l.Swaps) {
		return l.token(i)
	}
	return out.State.Value
}

// expiry is the absolute time, in milliseconds, that a remaining time means.
func (l *Lock) expiry(ttl int64) int64 {
	now := l.env.Wall().UnixMilli()
	if ttl > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + ttl
}

// inSeconds rounds milliseconds as Redis does, half a second upwards.
func inSeconds(ms int64) int64 { return ms/1000 + (ms%1000+500)/1000 }
