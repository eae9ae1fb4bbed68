package redlock

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed canonical.lua
var canonicalScript string

//go:embed canonical_many.lua
var canonicalManyScript string

// isCanonical reports whether a call is a compare-and-delete or a
// compare-and-expire and nothing else, which canonicalScript does.
func isCanonical(c *Call) bool {
	t := c.Table
	return t.HasToken && len(t.And) == 0 && t.TTLAtMost == 0 && c.Bounded() &&
		c.Window == Window{} && c.About == [2]time.Duration{} &&
		(t.Mine.Effect == Delete || t.Mine.Effect == Expire) &&
		t.Absent.Effect == Keep && t.Other.Effect == Keep && t.Wrong.Effect == Keep
}

// noLimit is later than any clock shows.
const noLimit = "99999999999999999"

// canonical encodes such a call.
func (e *encoder) canonical(c *Call, d *dialect) rueidis.Completed {
	t := c.Table
	b := e.builder.Arbitrary("EVALSHA", d.canonical, "1", share(t.Key), share(t.Token), e.notAfter(c))
	if t.Mine.Effect == Expire {
		b = b.Args(e.spell(t.Mine.TTL))
	}
	return b.Build()
}

// notAfter is the time on the master's clock after which a call must not be
// executed.
func (e *encoder) notAfter(c *Call) string {
	if !e.offset.known {
		return noLimit
	}
	return e.digitsOf(e.offset.latest(c.Deadline, e.ppm).Milliseconds(), &e.limit)
}

// canonicalMany encodes several such calls, on keys of their own, as one command.
func (e *encoder) canonicalMany(calls []*Call, d *dialect) rueidis.Completed {
	e.keys, e.args, e.runs = e.keys[:0], e.args[:0], e.runs[:0]
	run := treatment{}
	n := 0 // how many calls of the run there are
	for _, c := range calls {
		if next := e.treatment(c); next != run {
			e.endRun(run, n)
			run, n = next, 0
		}
		e.keys, e.args = append(e.keys, share(c.Table.Key)), append(e.args, share(c.Table.Token))
		n++
	}
	e.endRun(run, n)
	return e.builder.Arbitrary("EVALSHA", d.canonicalMany, strconv.Itoa(len(calls))).Keys(e.keys...).Args(e.args...).Args(e.runs...).Build()
}

// treatment is what canonicalManyScript does to some keys: it gives them a TTL, or
// deletes them if there is none, unless it is too late.
type treatment struct{ notAfter, px string }

func (e *encoder) treatment(c *Call) treatment {
	t := treatment{notAfter: e.notAfter(c)}
	if c.Table.Mine.Effect == Expire {
		t.px = e.spell(c.Table.Mine.TTL)
	}
	return t
}

// endRun notes that n calls are treated alike.
func (e *encoder) endRun(t treatment, n int) {
	if n > 0 {
		e.runs = append(e.runs, e.digitsOf(int64(n), &e.count), t.notAfter, t.px)
	}
}

// decodeCanonical reads the answer to a call, of which err is the error.
func decodeCanonical(c *Call, m *rueidis.RedisMessage, err error) (Answer, int64) {
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return Answer{Status: Answered, Before: State{Kind: WrongType, TTL: NoTTL}}, 0
	case err != nil:
		return refused(err), 0
	case m.IsString():
		text, _ := m.ToString()
		return Answer{Status: Answered, Before: State{Kind: Text, Value: unshare(text), TTL: NoTTL}}, 0
	}
	ttl, err := m.AsInt64()
	switch {
	case err != nil:
		return notUnderstood, 0
	case ttl == -9:
		return Answer{Status: Failed, Reason: ReasonTooLate}, 0
	case ttl == -2:
		return Answer{Status: Answered}, 0
	}
	before := State{Kind: Text, Value: c.Table.Token, TTL: ttl}
	return Answer{Status: Answered, Before: before, Mine: true, Applied: true}, givenTTL(&c.Table.Mine, ttl)
}

// decodeCanonicalMany reads the answers to several calls, and gives add each. An
// error of all of them says that the script did not begin.
func decodeCanonicalMany(calls []*Call, r *rueidis.RedisResult, add func(Answer, int64)) {
	all, err := r.ToArray()
	for i, c := range calls {
		switch {
		case r.NonRedisError() != nil:
			add(connectionLost, 0)
		case err != nil:
			add(refused(err), 0)
		case len(all) != len(calls):
			add(notUnderstood, 0)
		default:
			add(decodeCanonical(c, &all[i], all[i].Error()))
		}
	}
}

var (
	connectionLost = Answer{Status: Lost, Reason: "connection lost"}
	notUnderstood  = Answer{Status: Failed, Reason: "answer not understood"}
)
