package redlock

import (
	_ "embed"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed canonical.lua
var canonicalScript string

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
	limit := noLimit
	if e.offset.known {
		limit = e.limit.spell(e.offset.latest(c.Deadline, e.ppm).Milliseconds())
	}
	b := e.builder.Arbitrary("EVALSHA", d.canonical, "1", share(t.Key), share(t.Token), limit)
	if t.Mine.Effect == Expire {
		b = b.Args(e.spell(t.Mine.TTL))
	}
	return b.Build()
}

// decodeCanonical reads its answer.
func decodeCanonical(c *Call, r *rueidis.RedisResult) (Answer, int64) {
	m, err := r.ToMessage()
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
		return Answer{Status: Failed, Reason: "answer not understood"}, 0
	case ttl == -9:
		return Answer{Status: Failed, Reason: ReasonTooLate}, 0
	case ttl == -2:
		return Answer{Status: Answered}, 0
	}
	before := State{Kind: Text, Value: c.Table.Token, TTL: ttl}
	return Answer{Status: Answered, Before: before, Mine: true, Applied: true}, givenTTL(&c.Table.Mine, ttl)
}
