package resp

import "redlock-proxy/redlock"

const (
	// Clients look for its beginning, one for the whole text.
	noScript = "NOSCRIPT No matching script. Please use EVAL."

	tooManyKeys  = "ERR Number of keys can't be greater than number of args"
	negativeKeys = "ERR Number of keys can't be negative"
)

// shaLength is that of a SHA1 in hexadecimal.
const shaLength = 40

// eval is EVAL and EVAL_RO script numkeys [key …] [arg …]. The script is known
// by its SHA1 from then on.
func (e *Env) eval(l *Lock, args [][]byte) (errText string) {
	keys, rest, errText := scriptKeys(args)
	if errText != "" {
		return errText
	}
	s, err := e.Scripts.Compile(args[1])
	if err != nil {
		return err.Error()
	}
	return l.script(s, keys, rest, readOnly(args[0]))
}

// evalSHA is EVALSHA and EVALSHA_RO sha1 numkeys [key …] [arg …].
func (e *Env) evalSHA(l *Lock, args [][]byte) (errText string) {
	if len(args[1]) != shaLength {
		return noScript
	}
	keys, rest, errText := scriptKeys(args)
	if errText != "" {
		return errText
	}
	s := e.Scripts.Get(args[1])
	if s == nil {
		return noScript
	}
	return l.script(s, keys, rest, readOnly(args[0]))
}

// readOnly tells EVAL_RO and EVALSHA_RO from EVAL and EVALSHA.
func readOnly(name []byte) bool { return name[len(name)-3] == '_' }

// scriptKeys divides what follows the script, by the number of keys.
func scriptKeys(args [][]byte) (keys, rest [][]byte, errText string) {
	n, ok := parseInt(args[2])
	switch {
	case !ok:
		return nil, nil, notInteger
	case n > int64(len(args)-3):
		return nil, nil, tooManyKeys
	case n < 0:
		return nil, nil, negativeKeys
	}
	return args[3 : 3+n], args[3+n:], ""
}

// script fills l with one run of s.
func (l *Lock) script(s *Script, keys, args [][]byte, readOnly bool) (errText string) {
	if errText = s.Plan(&l.plan, keys, args, l.DB, readOnly, l.env); errText != "" {
		return errText
	}
	if l.planned(); len(l.Swaps) > 0 {
		l.Kind = kindOf(&l.first[0])
	}
	return ""
}

// planned makes l what its plan asks for first.
func (l *Lock) planned() {
	l.isScript, l.DB = true, l.plan.DB
	if l.plan.NoKey {
		return
	}
	l.first[0] = l.plan.Swap
	l.Swaps = l.first[:]
	l.DefaultTTL, l.MayLearn = l.plan.DefaultTTL, l.plan.MayLearn()
}

// kindOf is what a script is for, told from its table. One that has to learn
// first may be for anything; of several keys that is so in any mixed state, and
// the other two cases tell.
func kindOf(s *redlock.Swap) Kind {
	absent, mine, other := s.Absent.Effect, redlock.Keep, s.Other.Effect
	if s.HasToken {
		mine = s.Mine.Effect
	}
	several := len(s.And) > 0
	if several {
		other = redlock.Keep
	}
	for i := range s.And {
		absent = max(absent, s.And[i].Absent.Effect)
		mine = max(mine, s.And[i].Mine.Effect)
	}
	switch {
	case absent == redlock.Learn || mine == redlock.Learn || other == redlock.Learn:
		return KindScript
	case other == redlock.Set:
		return KindSet
	case other == redlock.Delete:
		return KindDelete
	case absent == redlock.Set && mine == redlock.Keep:
		return KindAcquire
	case absent == redlock.Set:
		return KindRenew
	case mine == redlock.Delete:
		return KindRelease
	case mine != redlock.Keep || other != redlock.Keep:
		return KindExtend
	case several:
		return KindScript // it may only look, or write where the keys differ
	}
	return KindRead
}

// replyScript lets the script say what it returns.
func (l *Lock) replyScript(dst []byte, proto int, outs []redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	if len(outs) == 0 {
		return l.plan.Resolve(dst, proto, nil, again)
	}
	return l.plan.Resolve(dst, proto, &outs[0], again)
}
