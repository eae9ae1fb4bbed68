package resp

import (
	"math"
	"strconv"
)

// unit is how a command writes an expiry.
type unit uint8

const (
	unitNone      unit = iota
	unitSeconds        // EX, EXPIRE: from now
	unitMillis         // PX, PEXPIRE
	unitSecondsAt      // EXAT, EXPIREAT: Unix time
	unitMillisAt       // PXAT, PEXPIREAT
)

func (u unit) seconds() bool  { return u == unitSeconds || u == unitSecondsAt }
func (u unit) absolute() bool { return u == unitSecondsAt || u == unitMillisAt }

// expiry is the expiry option of SET or GETEX.
type expiry struct {
	unit unit
	arg  []byte
	kept bool // KEEPTTL of SET, PERSIST of GETEX
}

// option takes an option with an operand. The same one may come again, the
// last counts.
func (x *expiry) option(name, operand []byte) bool {
	u := unitNone
	switch string(name) {
	case "ex":
		u = unitSeconds
	case "px":
		u = unitMillis
	case "exat":
		u = unitSecondsAt
	case "pxat":
		u = unitMillisAt
	}
	if u == unitNone || x.kept || x.unit != unitNone && x.unit != u {
		return false
	}
	x.unit, x.arg = u, operand
	return true
}

// keep takes the option that stands alone.
func (x *expiry) keep() bool {
	x.kept = x.unit == unitNone
	return x.kept
}

const (
	syntaxError = "ERR syntax error"
	notInteger  = "ERR value is not an integer or out of range"
)

// invalidExpire is Redis's text for an expiry out of its range.
func invalidExpire(command string) string {
	return "ERR invalid expire time in '" + command + "' command"
}

// lifetime is the remaining time in milliseconds that an option of SET or
// GETEX means. It is zero or less only if an absolute time is in the past. As
// in Redis a number below 1 and whatever overflows its clock is an error.
func (e *Env) lifetime(arg []byte, u unit, command string) (ms int64, errText string) {
	n, ok := parseInt(arg)
	if !ok {
		return 0, notInteger
	}
	if n <= 0 {
		return 0, invalidExpire(command)
	}
	return e.remaining(n, u, command)
}

// remaining is the remaining time in milliseconds that the number n means. It
// may be zero or less, which expires a key at once.
func (e *Env) remaining(n int64, u unit, command string) (ms int64, errText string) {
	if u.seconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, invalidExpire(command)
		}
		n *= 1000
	}
	switch {
	case u.absolute():
		n = e.until(n)
	case n > math.MaxInt64/2 && n > math.MaxInt64-e.Wall().UnixMilli():
		return 0, invalidExpire(command) // Redis stores the sum
	}
	if e.MaxTTL > 0 && n > e.MaxTTL {
		return 0, "ERR TTL of " + strconv.FormatInt(n, 10) +
			" ms is longer than this proxy's --max-ttl of " + strconv.FormatInt(e.MaxTTL, 10) + " ms"
	}
	return n, ""
}

// until is the time from now to the Unix time at, in milliseconds.
func (e *Env) until(at int64) int64 {
	now := e.Wall().UnixMilli()
	if at < math.MinInt64+now {
		return math.MinInt64
	}
	return at - now
}

// parseInt parses an integer exactly as Redis does: decimal digits with an
// optional '-', and no spaces, '+', leading zeros or "-0".
func parseInt(b []byte) (n int64, ok bool) {
	digits := b
	negative := len(b) > 1 && b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	switch {
	case negative && u <= -math.MinInt64:
		return -int64(u), true
	case !negative && u <= math.MaxInt64:
		return int64(u), true
	}
	return 0, false
}
