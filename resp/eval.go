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
	l.isScript, l.DB = true, l.plan.DB
	if l.plan.NoKey {
		return ""
	}
	l.first[0] = l.plan.Swap
	l.Swaps = l.first[:]
	l.DefaultTTL, l.MayLearn = l.plan.DefaultTTL, l.plan.MayLearn()
	if !l.MayLearn {
		l.Kind = kindOf(&l.first[0])
	}
	return ""
}

// kindOf is what a script is for, told from its table.
func kindOf(s *redlock.Swap) Kind {
	absent, other := s.Absent.Effect, s.Other.Effect
	mine := redlock.Keep
	if s.HasToken {
		mine = s.Mine.Effect
	}
	switch {
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
