package resp

import (
	"time"

	"redlock-proxy/redlock"
)

// Env is what the meaning of a command depends on besides its arguments. It is
// only read; one Env serves all connections.
type Env struct {
	// Wall is the wall clock. Absolute times (PXAT, EXAT, PEXPIREAT, …) are
	// turned into a remaining time once, by it.
	Wall func() time.Time
	// DefaultTTL, in milliseconds, is what a key gets whose command gives it
	// none: no key without an expiry is ever stored.
	DefaultTTL int64
	// MaxTTL, in milliseconds, refuses commands with a longer one; 0: none.
	MaxTTL int64
	// Reserved is how keys begin that clients may not touch: those in which the
	// proxy keeps its records. Empty: there are none.
	Reserved string
	// Scripts is the script cache of the process.
	Scripts *Scripts
	// Receivers tells how many clients subscribe to a channel, which PUBLISH
	// returns in scripts; nil: none.
	Receivers func(channel []byte) int64
	// Forbids tells why the client may not run a command that a script of it
	// calls, in the text of Redis's error; empty: it may. nil: it may run all.
	Forbids func(args [][]byte) (errText string)
}

// Kind is what a lock command is for. Its String is the label in metrics.
type Kind uint8

// The kinds of [Lock].
const (
	KindAcquire     Kind = iota // creates the lock if the key is free
	KindRenew                   // creates it, or renews it if it is the caller's: a script
	KindRelease                 // removes it if it is the caller's
	KindExtend                  // gives an existing lock a new expiry
	KindRead                    // changes nothing
	KindSet                     // stores a value over another one
	KindDelete                  // removes a key whoever holds it
	KindScript                  // a script whose purpose only its run shows
	KindTransaction             // MULTI … EXEC
	Kinds                       // how many there are
)

// String is the kind's label.
func (k Kind) String() string {
	switch k {
	case KindAcquire:
		return "acquire"
	case KindRenew:
		return "renew"
	case KindRelease:
		return "release"
	case KindExtend:
		return "extend"
	case KindRead:
		return "read"
	case KindSet:
		return "set"
	case KindDelete:
		return "delete"
	case KindTransaction:
		return "transaction"
	}
	return "script"
}

// recogniser says how to recognise one command.
type recogniser struct {
	kind  Kind // unless the options say otherwise
	arity int  // as in [CommandInfo]
	// fill fills a lock from the arguments, whose number has been checked. It
	// returns the text of an error reply, or nothing.
	fill func(e *Env, l *Lock, args [][]byte) (errText string)
}

// maxName is the length of the longest name of a lock command.
const maxName = len("pexpiretime")

// recogniserOf returns the recogniser of a command, named in any case; one
// without fill if it is no lock command.
func recogniserOf(name []byte) recogniser {
	var buf [maxName]byte
	switch string(fold(buf[:], name)) {
	case "set":
		return recogniser{KindSet, -3, (*Env).set}
	case "get":
		return recogniser{KindRead, 2, (*Env).get}
	case "del", "unlink":
		return recogniser{KindDelete, -2, (*Env).del}
	case "eval", "eval_ro":
		return recogniser{KindScript, -3, (*Env).eval}
	case "evalsha", "evalsha_ro":
		return recogniser{KindScript, -3, (*Env).evalSHA}
	case "delex":
		return recogniser{KindDelete, -2, (*Env).delex}
	case "digest":
		return recogniser{KindRead, 2, (*Env).digest}
	case "delifeq":
		return recogniser{KindRelease, 3, (*Env).delIfEq}
	case "setnx":
		return recogniser{KindAcquire, 3, (*Env).setNX}
	case "setex":
		return recogniser{KindSet, 4, (*Env).setEX}
	case "psetex":
		return recogniser{KindSet, 4, (*Env).psetEX}
	case "getset":
		return recogniser{KindSet, 3, (*Env).getSet}
	case "getdel":
		return recogniser{KindDelete, 2, (*Env).getDel}
	case "getex":
		return recogniser{KindRead, -2, (*Env).getEx}
	case "mget":
		return recogniser{KindRead, -2, (*Env).mget}
	case "exists":
		return recogniser{KindRead, -2, (*Env).exists}
	case "strlen":
		return recogniser{KindRead, 2, (*Env).strlen}
	case "type":
		return recogniser{KindRead, 2, (*Env).typeOf}
	case "ttl":
		return recogniser{KindRead, 2, (*Env).ttl}
	case "pttl":
		return recogniser{KindRead, 2, (*Env).pttl}
	case "expiretime":
		return recogniser{KindRead, 2, (*Env).expireTime}
	case "pexpiretime":
		return recogniser{KindRead, 2, (*Env).pexpireTime}
	case "expire":
		return recogniser{KindExtend, -3, (*Env).expire}
	case "pexpire":
		return recogniser{KindExtend, -3, (*Env).pexpire}
	case "expireat":
		return recogniser{KindExtend, -3, (*Env).expireAt}
	case "pexpireat":
		return recogniser{KindExtend, -3, (*Env).pexpireAt}
	case "persist":
		return recogniser{KindExtend, 2, (*Env).persist}
	}
	return recogniser{}
}

// IsLock reports whether name is a command that [Env.Recognise] serves.
func IsLock(name []byte) bool { return recogniserOf(name).fill != nil }

// Recognise fills l from a command sent to database db. The slices in args
// are kept, not copied: they must not be modified until l, and every operation
// started from it, is done with.
//
// If errText is not empty it is to be answered (as "-" + errText, Redis's own
// text where Redis has one) and nothing is to be sent to masters. l.Kind is
// valid then too.
func (e *Env) Recognise(l *Lock, args [][]byte, db int) (errText string) {
	l.reset(e, db)
	if len(args) == 0 {
		return "ERR empty command"
	}
	r := recogniserOf(args[0])
	if r.fill == nil {
		return "ERR unknown command '" + string(args[0]) + "'"
	}
	l.Kind = r.kind
	if !arityFits(r.arity, len(args)) {
		return ArityError(args)
	}
	if errText = r.fill(e, l, args); errText != "" {
		return errText
	}
	return e.reservedKey(l)
}

// reservedKey returns the error text if l has a key of the proxy's own.
func (e *Env) reservedKey(l *Lock) (errText string) {
	for i := range l.Swaps {
		if e.reserves(l.Swaps[i].Key) {
			return "ERR keys that begin with '" + e.Reserved + "' belong to this proxy, which keeps its own records there"
		}
	}
	return ""
}

// reserves reports whether a key is the proxy's own.
func (e *Env) reserves(key []byte) bool {
	n := len(e.Reserved)
	return n > 0 && len(key) >= n && string(key[:n]) == e.Reserved
}

// one makes l a single swap of key with the given answers, and returns the
// swap, all of whose leaves are Keep.
func (l *Lock) one(key []byte, r answers) *redlock.Swap {
	l.answers = r
	l.first = [1]redlock.Swap{{Key: key}}
	l.Swaps = l.first[:]
	return &l.first[0]
}

// fold returns name in lower case in buf, or nothing if it does not fit.
func fold(buf []byte, name []byte) []byte {
	if len(name) > len(buf) {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(name)]
}
