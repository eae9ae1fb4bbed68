package linear

import (
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	op := func(kind Kind, token string, sent, arrived time.Duration, yes bool) Op {
		return Op{Kind: kind, Token: token, Sent: sent, Arrived: arrived, Known: true, Yes: yes}
	}
	read := func(value string, sent, arrived time.Duration) Op {
		return Op{Kind: Read, Value: value, Sent: sent, Arrived: arrived, Known: true}
	}
	lost := func(kind Kind, token string, sent, arrived time.Duration) Op {
		return Op{Kind: kind, Token: token, Sent: sent, Arrived: arrived}
	}
	for _, tt := range []struct {
		name    string
		history []Op
		want    Result
	}{
		{"one after the other", []Op{op(Acquire, "a", 1, 2, true), op(Release, "a", 3, 4, true), op(Acquire, "b", 5, 6, true)}, Fine},
		{"two at a time", []Op{op(Acquire, "a", 1, 2, true), op(Acquire, "b", 3, 4, true)}, Impossible},
		{"a held acquire says nothing", []Op{op(Acquire, "a", 1, 2, false)}, Fine},
		{"a read of one that gives way meanwhile", []Op{op(Acquire, "a", 1, 4, false), read("a", 2, 3)}, Fine},
		{"a read of one that gave way before", []Op{op(Acquire, "a", 1, 2, false), read("a", 3, 4)}, Impossible},
		{"a read of the holder", []Op{op(Acquire, "a", 1, 2, true), read("a", 3, 4)}, Fine},
		{"a read of what was released", []Op{op(Acquire, "a", 1, 2, true), op(Release, "a", 3, 4, true), read("a", 5, 6)}, Impossible},
		{"a read while it is released", []Op{op(Acquire, "a", 1, 2, true), op(Release, "a", 3, 7, true), read("a", 4, 5), read("", 5, 6)}, Fine},
		{"back again", []Op{op(Acquire, "a", 1, 2, true), op(Release, "a", 3, 9, true), read("", 4, 5), read("a", 6, 7)}, Impossible},
		{"an extend of somebody else's", []Op{op(Acquire, "a", 1, 2, true), op(Extend, "b", 3, 4, true)}, Impossible},
		{"not yours, to the holder", []Op{op(Acquire, "a", 1, 2, true), op(Release, "a", 3, 4, false)}, Impossible},
		{"a lost acquire that happened", []Op{lost(Acquire, "a", 1, 2), read("a", 3, 4)}, Fine},
		{"a lost acquire that was undone later", []Op{lost(Acquire, "a", 1, 2), read("a", 3, 4), op(Acquire, "b", 5, 6, true)}, Fine},
		{"a lost acquire happens once", []Op{lost(Acquire, "a", 1, 2), read("a", 3, 4), read("", 5, 6), read("a", 7, 8)}, Impossible},
		{"a lost release that happened later", []Op{op(Acquire, "a", 1, 2, true), lost(Release, "a", 3, 4), read("a", 5, 6), read("", 7, 8)}, Fine},
		{"a loose reply", []Op{op(Acquire, "b", 1, 2, true), {Kind: Release, Token: "a", Sent: 3, Arrived: 4, Known: true, Yes: true, Loose: true}}, Fine},
	} {
		if got := Check(tt.history, time.Second); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
