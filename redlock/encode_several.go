package redlock

import (
	"strconv"

	"github.com/redis/rueidis"
)

// encodeSeveral is encode for a swap of several keys.
func (e *encoder) encodeSeveral(c *Call, d *dialect) rueidis.Completed {
	t := c.Table
	n := t.keys()
	shape := make([]byte, 1, 1+3*n)
	keys, args := make([]string, 0, n), make([]string, 0, 4*n)
	for k := range n {
		p := t.part(k)
		keys = append(keys, share(p.Key))
		expects := byte('-')
		if p.HasToken {
			expects, args = '=', append(args, share(p.Token))
			if p.TTLAtMost > 0 {
				expects, args = '<', append(args, strconv.FormatInt(p.TTLAtMost, 10))
			}
		}
		var absent, mine byte
		absent, args = e.leaf(&p.Absent, args)
		mine, args = e.leaf(&p.Mine, args)
		shape = append(shape, expects, absent, mine)
	}
	shape[0] = '-'
	if c.Bounded() && e.offset.known {
		shape[0] = 'b'
		args = append(args, e.notAfter(c))
	}
	return e.builder.Arbitrary("EVALSHA", d.sha, strconv.Itoa(n)).Keys(keys...).Args(string(shape)).Args(args...).Build()
}

// decodeSeveral is decode for a swap of several keys. The TTL it returns is that
// of the first; those of the others are in the answer.
func decodeSeveral(c *Call, r *rueidis.RedisResult) (Answer, int64) {
	fields, err := r.ToArray()
	if err != nil {
		return refused(err), 0
	}
	n := c.Table.keys()
	switch code, _ := fieldInt(fields, 0); {
	case code == 0 && len(fields) == 1:
		return Answer{Status: Failed, Reason: ReasonTooLate}, 0
	case code < 2 || len(fields) != 1+3*n:
		return notUnderstood, 0
	default:
		a := Answer{Status: Answered, Applied: code%2 == 1, And: make([]Held, n-1)}
		which := Case(code/2 - 1)
		a.Mine = which == CaseMine
		first := decodeHeld(c.Table, 0, which, fields[1:])
		for k := range a.And {
			a.And[k] = decodeHeld(c.Table, k+1, which, fields[4+3*k:])
		}
		a.Before = first.Before
		return a, first.Given
	}
}

func fieldInt(fields []rueidis.RedisMessage, i int) (int64, error) {
	if i >= len(fields) {
		return 0, nil
	}
	return fields[i].AsInt64()
}

// decodeHeld reads the three fields of key k.
func decodeHeld(t *Swap, k int, which Case, fields []rueidis.RedisMessage) Held {
	const absent, text, wrong, token = 0, 1, 2, 3
	p := t.part(k)
	kind, _ := fieldInt(fields, 0)
	remaining, _ := fieldInt(fields, 1)
	h := Held{Before: State{TTL: remaining}}
	switch kind {
	case absent:
	case wrong:
		h.Before.Kind = WrongType
	case token:
		h.Before.Kind, h.Before.Value = Text, p.Token
	default:
		s, _ := fields[2].ToString()
		h.Before.Kind, h.Before.Value = Text, unshare(s)
	}
	if l := p.leaf(which); l.Effect == Set || l.Effect == Expire && kind != absent {
		h.Given = givenTTL(l, remaining)
	}
	return h
}
