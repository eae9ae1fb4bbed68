package resp

import "strconv"

// Bounds of one reply, for what a script returns may be far larger than what
// it made: a table can contain another many times.
const (
	maxReplyBytes    = 4 << 20
	maxReplyElements = 100_000
	maxReplyDepth    = 64
)

// replySize is what is left of the bounds while a reply is measured.
type replySize struct{ bytes, elements, depth int }

// measure checks that a result can be a reply: it is known and within bounds.
// Nothing may be written to masters before that.
func (m *luaMachine) measure(v *luaValue) error {
	m.size = replySize{maxReplyBytes, maxReplyElements, maxReplyDepth}
	return m.measureIn(v)
}

func (m *luaMachine) measureIn(v *luaValue) error {
	left := &m.size
	left.elements--
	left.bytes -= len(v.str) + 32
	switch {
	case v.unknown():
		return m.needs(v)
	case left.elements < 0 || left.bytes < 0:
		return m.refuse("returns more than %d MiB or %d elements", maxReplyBytes>>20, maxReplyElements)
	case v.kind != luaTableKind:
		return nil
	}
	if left.depth--; left.depth < 0 {
		return m.refuse("returns a reply nested more than %d deep", maxReplyDepth)
	}
	defer func() { left.depth++ }()
	for i := range v.tab.fields {
		f := &v.tab.fields[i]
		if f.key.kind != luaString {
			continue
		}
		switch string(f.key.str) {
		case "err", "ok", "double":
			if err := m.measureIn(&f.val); err != nil {
				return err
			}
		case "map", "set", "big_number", "verbatim_string":
			if f.val.kind != luaNil {
				return m.refuse("returns a reply of the type %s", f.key.str)
			}
		}
	}
	for i := range v.tab.arr {
		if v.tab.arr[i].kind == luaNil {
			break
		}
		if err := m.measureIn(&v.tab.arr[i]); err != nil {
			return err
		}
	}
	return nil
}

// appendResult appends what a script returned, or threw.
func (m *luaMachine) appendResult(dst []byte, proto int, s *Script, v *luaValue, err error) []byte {
	if m.said = nil; err == nil || err == errLua {
		m.said = m.published // what a script did before its error is done
	}
	switch err {
	case nil:
		return m.appendValue(dst, proto, v)
	case errLua:
		return AppendError(dst, m.thrownText(s.sha, v))
	}
	return AppendError(dst, s.refusal(m.refusal))
}

// appendValue converts as Redis does. v was measured.
func (m *luaMachine) appendValue(dst []byte, proto int, v *luaValue) []byte {
	switch v.kind {
	case luaString:
		return AppendBulk(dst, v.str)
	case luaNumber:
		return AppendInt(dst, toInt64(v.num))
	case luaBoolean:
		switch {
		case m.resp3:
			return AppendBool(dst, proto, v.num != 0)
		case v.num != 0:
			return AppendInt(dst, 1)
		}
	case luaTableKind:
		return m.appendTable(dst, proto, v.tab)
	}
	return AppendNull(dst, proto)
}

func (m *luaMachine) appendTable(dst []byte, proto int, t *luaTable) []byte {
	if v := t.getName("err"); v.kind == luaString {
		return AppendError(dst, string(v.str))
	}
	if v := t.getName("ok"); v.kind == luaString {
		return AppendStatus(dst, string(v.str))
	}
	if v := t.getName("double"); v.kind == luaNumber {
		return AppendDouble(dst, proto, v.num)
	}
	n := 0
	for n < len(t.arr) && t.arr[n].kind != luaNil {
		n++
	}
	dst = AppendArray(dst, n)
	for i := range n {
		dst = m.appendValue(dst, proto, &t.arr[i])
	}
	return dst
}

// thrownText is the reply for an error that the script did not catch.
func (m *luaMachine) thrownText(sha string, v *luaValue) string {
	text := "ERR unknown error"
	if v.kind == luaTableKind {
		if e := v.tab.getName("err"); e.kind == luaString {
			text = string(e.str)
		}
	} else if s, err := m.toString(v); err == nil {
		text = "ERR " + string(s.str)
	}
	return text + " script: " + sha + ", on @user_script:" + strconv.Itoa(m.thrownLine) + "."
}
