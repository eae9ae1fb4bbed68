package redlock

import (
	"fmt"
	"math"
	"testing"
)

func TestStoreAppliesTheLeafOfTheState(t *testing.T) {
	const now = 1000
	text := func(v string, expiry int64) *entry { return &entry{kind: Text, value: []byte(v), expiry: expiry} }
	set := func(v string, ttl int64) Leaf { return Leaf{Effect: Set, Value: []byte(v), TTL: ttl} }
	del, expire := Leaf{Effect: Delete}, Leaf{Effect: Expire, TTL: 70}
	tests := []struct {
		name   string
		have   *entry
		table  Swap
		window Window
		want   string // what apply says
		after  string // what is there then
	}{
		{name: "absent is set", table: Swap{Absent: set("t", 50)},
			want: "absent ttl 0 applied expiry 1050", after: "t 1050"},
		{name: "absent is kept absent", table: Swap{Other: set("t", 50)}, want: "absent ttl 0", after: "absent"},
		{name: "absent can not be deleted", table: Swap{Absent: del}, want: "absent ttl 0", after: "absent"},
		{name: "absent can not be expired", table: Swap{Absent: expire}, want: "absent ttl 0", after: "absent"},
		{name: "mine is deleted", have: text("t", 1200), table: Swap{HasToken: true, Token: []byte("t"), Mine: del},
			want: `"t" ttl 200 mine applied`, after: "absent"},
		{name: "an empty token can be mine", have: text("", 1200), table: Swap{HasToken: true, Mine: del},
			want: `"" ttl 200 mine applied`, after: "absent"},
		{name: "without a token every string is other", have: text("", 1200), table: Swap{Mine: del},
			want: `"" ttl 200`, after: " 1200"},
		{name: "mine is extended", have: text("t", 1200), table: Swap{HasToken: true, Token: []byte("t"), Mine: expire},
			want: `"t" ttl 200 mine applied expiry 1070`, after: "t 1070"},
		{name: "a copy that is young enough is mine", have: text("t", 1200), table: Swap{HasToken: true, Token: []byte("t"), TTLAtMost: 200, Mine: del},
			want: `"t" ttl 200 mine applied`, after: "absent"},
		{name: "a copy that lives too long is other", have: text("t", 1201), table: Swap{HasToken: true, Token: []byte("t"), TTLAtMost: 200, Mine: del},
			want: `"t" ttl 201`, after: "t 1201"},
		{name: "a copy that lives for ever is other", have: text("t", 0), table: Swap{HasToken: true, Token: []byte("t"), TTLAtMost: 200, Mine: del, Other: expire},
			want: `"t" ttl -1 applied expiry 1070`, after: "t 1070"},
		{name: "other is kept", have: text("x", 1200), table: Swap{HasToken: true, Token: []byte("t"), Mine: del},
			want: `"x" ttl 200`, after: "x 1200"},
		{name: "other is replaced", have: text("x", 1200), table: Swap{Other: set("t", 9)},
			want: `"x" ttl 200 applied expiry 1009`, after: "t 1009"},
		{name: "keepttl keeps", have: text("x", 1200), table: Swap{Other: set("t", KeepTTL)},
			want: `"x" ttl 200 applied expiry 1200`, after: "t 1200"},
		{name: "keepttl never leaves a key without one", have: text("x", 0), table: Swap{Other: set("t", KeepTTL)},
			want: `"x" ttl -1 applied expiry 86401000`, after: "t 86401000"},
		{name: "wrong type is deleted", have: &entry{kind: WrongType}, table: Swap{Wrong: del},
			want: "wrong ttl -1 applied", after: "absent"},
		{name: "wrong type is kept", have: &entry{kind: WrongType}, table: Swap{Other: del},
			want: "wrong ttl -1", after: "wrong 0"},
		{name: "expired is absent", have: text("x", 999), table: Swap{Absent: set("t", 1)},
			want: "absent ttl 0 applied expiry 1001", after: "t 1001"},
		{name: "exists in the millisecond of its expiry", have: text("x", 1000), table: Swap{Absent: set("t", 1)},
			want: `"x" ttl 0`, after: "x 1000"},
		{name: "a huge ttl saturates", table: Swap{Absent: set("t", math.MaxInt64-3)},
			want: "absent ttl 0 applied expiry 9223372036854775807", after: "t 9223372036854775807"},
		{name: "inside the window", have: text("t", 1200), window: Window{1200, 1201},
			table: Swap{HasToken: true, Token: []byte("t"), Mine: del}, want: `"t" ttl 200 mine applied`, after: "absent"},
		{name: "before the window", have: text("t", 1200), window: Window{1201, 1300},
			table: Swap{HasToken: true, Token: []byte("t"), Mine: del}, want: `"t" ttl 200 mine`, after: "t 1200"},
		{name: "after the window", have: text("t", 1200), window: Window{1100, 1199},
			table: Swap{HasToken: true, Token: []byte("t"), Mine: del}, want: `"t" ttl 200 mine`, after: "t 1200"},
		{name: "no expiry is in no window", have: text("t", 0), window: Window{1100, 1199},
			table: Swap{HasToken: true, Token: []byte("t"), Mine: del}, want: `"t" ttl -1 mine`, after: "t 0"},
		{name: "the window is about mine only", have: text("x", 1200), window: Window{1, 2},
			table: Swap{HasToken: true, Token: []byte("t"), Other: del}, want: `"x" ttl 200 applied`, after: "absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore()
			tt.table.Key = []byte("k")
			if tt.have != nil {
				s.entries["k"] = *tt.have
			}
			if got := s.apply(now, &tt.table, tt.window).String(); got != tt.want {
				t.Errorf("apply: got %s, want %s", got, tt.want)
			}
			if got := s.describe(now, "k"); got != tt.after {
				t.Errorf("afterwards: got %s, want %s", got, tt.after)
			}
		})
	}
}

func TestStoreForgetsExpiredKeysNobodyAsksFor(t *testing.T) {
	s := newStore()
	table := Swap{Absent: Leaf{Effect: Set, Value: []byte("t"), TTL: 5}}
	for i := range 20000 {
		table.Key = fmt.Appendf(nil, "key-%d", i)
		s.apply(int64(i), &table, Window{})
	}
	if n := len(s.entries); n > 200 {
		t.Errorf("%d entries are left of 20000 that lived for 5 ms each, want at most 200", n)
	}
}

func TestStoreDoesNotShareTheValueOfTheTable(t *testing.T) {
	s := newStore()
	value := []byte("token")
	s.apply(0, &Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, Value: value, TTL: 5}}, Window{})
	value[0] = 'X'
	if got := s.describe(0, "k"); got != "token 5" {
		t.Errorf("got %s, want token 5", got)
	}
}

func (v verdict) String() string {
	var text string
	switch v.before.Kind {
	case Absent:
		text = "absent"
	case Text:
		text = fmt.Sprintf("%q", v.before.Value)
	case WrongType:
		text = "wrong"
	}
	text += fmt.Sprintf(" ttl %d", v.before.TTL)
	if v.mine {
		text += " mine"
	}
	if v.applied {
		text += " applied"
	}
	if v.expiry != 0 {
		text += fmt.Sprintf(" expiry %d", v.expiry)
	}
	return text
}

func (s *store) describe(now int64, key string) string {
	e, ok := s.find(now, []byte(key))
	switch {
	case !ok:
		return "absent"
	case e.kind == WrongType:
		return fmt.Sprintf("wrong %d", e.expiry)
	}
	return fmt.Sprintf("%s %d", e.value, e.expiry)
}
