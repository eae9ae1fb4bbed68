package redlock

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/redis/rueidis"
)

//go:embed swap.lua
var swapOne string

//go:embed several.lua
var swapSeveral string

var swapScript = swapSeveral + swapOne

// maxTTL is the longest TTL that is sent, in milliseconds. Redis adds the
// present time and refuses, before 7.0 even wraps, what exceeds 2^63-1.
const maxTTL = math.MaxInt64 - 1<<43

// dialect is what a server understands beyond Redis 5.
type dialect struct {
	sha       string // of swapScript, loaded there
	canonical string // of canonicalScript; empty before Redis 7.0
	// canonicalMany is that of canonicalManyScript.
	canonicalMany string
	setNXGet      bool // SET … NX GET: Redis 7.0, Valkey
	expiryAt      bool // PEXPIRETIME: Redis 7.0, Valkey
}

// encoder turns the calls of a batch into commands, which are good until the next
// batch begins. It remembers the last TTL and shape it spelled out, because most
// callers use one.
type encoder struct {
	builder rueidis.Builder
	offset  clockOffset // of the master, when the batch is sent
	ppm     int64
	ttl     spelled
	limit   spelled
	count   spelled
	shape   string
	digits  []byte   // of the numbers of the batch
	keys    []string // of one command
	args    []string
	runs    []string // see canonicalMany
}

// spelled is a number and its digits, which belong to the batch.
type spelled struct {
	n    int64
	text string
}

// begin forgets the batch before.
func (e *encoder) begin() {
	e.digits = e.digits[:0]
	e.ttl.text, e.limit.text, e.count.text = "", "", ""
}

// digitsOf spells n out, unless that was the last number of its kind.
func (e *encoder) digitsOf(n int64, last *spelled) string {
	if n != last.n || last.text == "" {
		start := len(e.digits)
		e.digits = strconv.AppendInt(e.digits, n, 10)
		last.n, last.text = n, share(e.digits[start:])
	}
	return last.text
}

// isPlainAcquire reports whether the call is SET … NX: it creates an absent
// key, and nothing else.
func isPlainAcquire(c *Call) bool {
	t := c.Table
	return len(t.And) == 0 && t.Absent.Effect == Set && t.Absent.TTL != KeepTTL && t.TTLAtMost == 0 && c.Window == Window{} && c.About == [2]time.Duration{} &&
		t.Mine.Effect == Keep && t.Other.Effect == Keep && t.Wrong.Effect == Keep
}

// encode makes the one command that a call is. The command shares the bytes of
// the call's table.
func (e *encoder) encode(c *Call, d *dialect) rueidis.Completed {
	t := c.Table
	if len(t.And) > 0 {
		return e.encodeSeveral(c, d)
	}
	if d.setNXGet && isPlainAcquire(c) {
		return e.builder.Arbitrary("SET", share(t.Key), share(t.Absent.Value), "NX", "GET", "PX", e.spell(t.Absent.TTL)).Build()
	}
	if d.canonical != "" && isCanonical(c) {
		return e.canonical(c, d)
	}
	var shape [7]byte
	var args [12]string
	rest := args[:0]
	for i, leaf := range [...]*Leaf{&t.Absent, &t.Mine, &t.Other, &t.Wrong} {
		shape[i], rest = e.leaf(leaf, rest)
	}
	shape[4] = '-'
	if t.HasToken {
		shape[4] = '='
		if t.TTLAtMost > 0 {
			shape[4] = '<'
			rest = append(rest, strconv.FormatInt(t.TTLAtMost, 10))
		}
	}
	shape[5] = '-'
	if w := e.window(c); w != (Window{}) {
		shape[5] = 't'
		if d.expiryAt {
			shape[5] = 'p'
		}
		rest = append(rest, strconv.FormatInt(w.From, 10), strconv.FormatInt(w.To, 10))
	}
	shape[6] = '-'
	if c.Bounded() && e.offset.known {
		shape[6] = 'b'
		rest = append(rest, e.notAfter(c))
	}
	if string(shape[:]) != e.shape {
		e.shape = string(shape[:])
	}
	return e.builder.Arbitrary("EVALSHA", d.sha, "1", share(t.Key), e.shape, share(t.Token)).Args(rest...).Build()
}

// window is the window of a call on the master's clock.
func (e *encoder) window(c *Call) Window {
	if c.About == [2]time.Duration{} {
		return c.Window
	}
	return Window{
		From: e.offset.earliest(c.About[0], e.ppm).Milliseconds(),
		To:   e.offset.latest(c.About[1], e.ppm).Milliseconds() + 1,
	}
}

// leaf is one letter of the script's shape, and its arguments.
func (e *encoder) leaf(l *Leaf, args []string) (byte, []string) {
	switch l.Effect {
	case Set:
		if l.TTL == KeepTTL {
			return 'r', append(args, share(l.Value))
		}
		return 's', append(args, share(l.Value), e.spell(l.TTL))
	case Expire:
		return 'e', append(args, e.spell(l.TTL))
	case Delete:
		return 'd', args
	}
	return 'k', args
}

func (e *encoder) spell(ttl int64) string { return e.digitsOf(min(ttl, maxTTL), &e.ttl) }

// share is the bytes as a string, not copied: the tables of calls are never
// modified, and digits are only appended to while a batch lasts.
func share(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decode reads the answer to the command of encode, without Votes and Expiry.
// ttl is what a Set or Expire gave the key, in milliseconds.
func decode(c *Call, d *dialect, r *rueidis.RedisResult) (a Answer, ttl int64) {
	if err := r.NonRedisError(); err != nil {
		return connectionLost, 0
	}
	switch {
	case len(c.Table.And) > 0:
		return decodeSeveral(c, r)
	case d.setNXGet && isPlainAcquire(c):
		return decodeSet(c, r)
	case d.canonical != "" && isCanonical(c):
		m, err := r.ToMessage()
		return decodeCanonical(c, &m, err)
	}
	return decodeScript(c, r)
}

// decodeSet reads the answer to SET … NX GET: nil if the key was created, else
// the string that is there. Its TTL is not asked for and reported as NoTTL.
func decodeSet(c *Call, r *rueidis.RedisResult) (Answer, int64) {
	text, err := r.ToString()
	switch {
	case err == nil:
		before := State{Kind: Text, Value: unshare(text), TTL: NoTTL}
		return Answer{Status: Answered, Before: before, Mine: c.Table.Case(&before) == CaseMine}, 0
	case rueidis.IsRedisNil(err):
		return Answer{Status: Answered, Applied: true}, min(c.Table.Absent.TTL, maxTTL)
	case strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return Answer{Status: Answered, Before: State{Kind: WrongType, TTL: NoTTL}}, 0
	}
	return refused(err), 0
}

// decodeScript reads the answer of swapScript.
func decodeScript(c *Call, r *rueidis.RedisResult) (Answer, int64) {
	fields, err := r.ToArray()
	if err != nil {
		return refused(err), 0
	}
	if len(fields) < 2 {
		return notUnderstood, 0
	}
	code, _ := fields[0].AsInt64()
	remaining, _ := fields[1].AsInt64()
	if code == 0 {
		return Answer{Status: Failed, Reason: ReasonTooLate}, 0
	}
	a := Answer{Status: Answered, Applied: code%2 == 1}
	which := Case(code/2 - 1)
	switch which {
	case CaseAbsent:
	case CaseMine:
		a.Before, a.Mine = State{Kind: Text, Value: c.Table.Token, TTL: remaining}, true
	case CaseWrong:
		a.Before = State{Kind: WrongType, TTL: remaining}
	default:
		a.Before = State{Kind: Text, TTL: remaining}
		if len(fields) > 2 {
			text, _ := fields[2].ToString()
			a.Before.Value = unshare(text)
		}
	}
	if !a.Applied {
		return a, 0
	}
	return a, givenTTL(c.Table.Leaf(which), remaining)
}

// givenTTL is the TTL that the key has after a leaf was applied; 0 if it is
// deleted.
func givenTTL(l *Leaf, before int64) int64 {
	switch {
	case l.Effect == Delete:
		return 0
	case l.TTL != KeepTTL:
		return min(l.TTL, maxTTL)
	case before > 0:
		return before
	}
	return keepTTLDefault
}

// unshare is the string as bytes, not copied: rueidis made it for this reply
// alone and nobody modifies it.
func unshare(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// refused is the answer for an error reply: nothing was changed. (swapScript
// reads first and then writes, without anything between that may be refused.)
func refused(err error) Answer {
	return Answer{Status: Failed, Reason: errorCode(err.Error())}
}

// errorCode is the code of an error reply: READONLY, OOM, NOSCRIPT, …; ERR if
// it has none (rueidis takes "ERR " away). Redis before 7.0 wraps what a
// command inside a script said:
// "ERR Error running script (…): @user_script: 32: -OOM command not …".
func errorCode(text string) string {
	code, _, _ := strings.Cut(text, " ")
	if isCode(code) {
		return code
	}
	if _, inner, wrapped := strings.Cut(text, ": -"); wrapped {
		if code, _, _ = strings.Cut(inner, " "); isCode(code) {
			return code
		}
	}
	return "ERR"
}

func isCode(word string) bool {
	for _, c := range []byte(word) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return word != ""
}
