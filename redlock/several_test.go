package redlock

import (
	"strings"
	"testing"
	"time"
)

func acquireBoth(token string) Swap {
	set := Leaf{Effect: Set, Value: []byte(token), TTL: 10_000}
	return Swap{Key: []byte("a"), Absent: set, Other: Leaf{Effect: Learn}, Wrong: Leaf{Effect: Learn},
		And: []Part{{Key: []byte("b"), Absent: set}}}
}

func both(leaf Leaf) Swap {
	look := Leaf{Effect: Learn}
	return Swap{Key: []byte("a"), Token: []byte("t"), HasToken: true, Mine: leaf, Absent: look, Other: look, Wrong: look,
		And: []Part{{Key: []byte("b"), Token: []byte("t"), HasToken: true, Mine: leaf}}}
}

func releaseBoth() Swap { return both(Leaf{Effect: Delete}) }
func extendBoth() Swap  { return both(Leaf{Effect: Expire, TTL: 20_000}) }
func readBoth() Swap {
	look := Leaf{Effect: Learn}
	return Swap{Key: []byte("a"), Absent: look, Mine: look, Other: look, Wrong: look, And: []Part{{Key: []byte("b")}}}
}

// sees answers the oldest call at master i with what it holds at a and b, "" for
// nothing.
func (h *handDriven) sees(i int, a, b string) {
	h.t.Helper()
	c := h.take(i)
	state := func(v string) State {
		if v == "" {
			return State{}
		}
		return State{Kind: Text, Value: []byte(v), TTL: 5000}
	}
	x, y := state(a), []State{state(b)}
	which := c.Table.CaseOf(&x, y)
	leaves := [2]*Leaf{c.Table.Leaf(which), nil}
	p := c.Table.part(1)
	leaves[1] = p.leaf(which)
	ans := Answer{Status: Answered, Votes: true, Before: x, Mine: which == CaseMine, And: []Held{{Before: y[0]}}}
	if which <= CaseMine && (leaves[0].writes() || leaves[1].writes()) {
		ans.Applied = true
		ans.Expiry, ans.And[0].Expiry = Window{100, 200}, Window{300, 400}
	}
	c.Deliver(ans)
}

// pair writes the states of both keys.
func pair(out *Outcome) string {
	one := func(s State) string {
		if s.Kind == Absent {
			return "-"
		}
		return string(s.Value)
	}
	return one(out.State) + " " + one(out.Parts[0])
}

func (h *handDriven) wantOutcome(op *Op, which Case, applied bool, states string) {
	h.t.Helper()
	h.wantDone(1)
	out := &op.Outcome
	if out.Err != nil || out.Case != which || out.Applied != applied || pair(out) != states {
		h.t.Errorf("got case %d applied %v %q err %v, want case %d applied %v %q",
			out.Case, out.Applied, pair(out), out.Err, which, applied, states)
	}
}

func TestSeveralKeysAreGrantedTogether(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireBoth("t"))
	h.sees(0, "", "")
	h.wantDone(0)
	h.sees(1, "", "")
	h.wantOutcome(op, CaseAbsent, true, "- -")
	if !h.q.Claim(op) {
		t.Error("not valid")
	}
	h.q.Settle(op)
	h.sees(2, "", "")
	h.wantNoCalls()
}

func TestSeveralKeysOfWhichOneIsHeldAreDeniedAndUndone(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireBoth("t"))
	h.sees(0, "", "")
	h.sees(1, "", "x")
	h.sees(2, "", "x")
	h.wantOutcome(op, CaseOther, false, "- x")
	for _, key := range []string{"a", "b"} {
		c := h.wantUndo(0)
		want := Window{100, 200}
		if key == "b" {
			want = Window{300, 400}
		}
		if string(c.Table.Key) != key || c.Window != want || len(c.Table.And) > 0 {
			t.Errorf("undo of %q in %v, want %q in %v", c.Table.Key, c.Window, key, want)
		}
	}
	h.wantNoCalls()
}

func TestSeveralKeysAreHeldThoughLeftoversDiffer(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireBoth("t"))
	h.sees(0, "x", "")
	h.sees(1, "x", "y")
	h.wantOutcome(op, CaseOther, false, "x y") // the third one can not help any more
	h.sees(2, "x", "z")
	h.wantNoCalls()
}

func TestUndoOfSeveralKeysWaitsForTheAnswer(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireBoth("t"))
	h.sees(1, "x", "x")
	h.sees(2, "x", "x")
	h.wantOutcome(op, CaseOther, false, "x x")
	h.sees(0, "", "")
	h.wantUndo(0)
	h.wantUndo(0)
}

func TestReadOfSeveralKeysDecidesEach(t *testing.T) {
	for _, tt := range []struct{ votes, want string }{
		{"x y,x y", "x y"},
		{"x y,x z,x y", "x y"},
		{"x y,x z,w y", "x y"},
		{"x -,x y,- z", "x -"},
		{"- -,- -", "- -"},
		{"u -,v -,- w", "- -"},
	} {
		h := newHandDriven(t, 3)
		op := h.start(readBoth())
		for i, v := range strings.Split(tt.votes, ",") {
			a, b, _ := strings.Cut(strings.ReplaceAll(v, "-", ""), " ")
			h.wantDone(0)
			h.sees(i, a, b)
		}
		which := CaseOther
		if tt.want == "- -" {
			which = CaseAbsent
		}
		h.wantOutcome(op, which, false, tt.want)
	}
}

func TestReadOfSeveralKeysIsUnknownWhereAMissingMasterCouldDecide(t *testing.T) {
	h := newHandDriven(t, 3)
	h.masters[2].down = "down"
	op := h.start(readBoth())
	h.sees(0, "x", "y")
	h.sees(1, "x", "")
	h.wantDone(0) // it is repeated
	h.pass(5 * time.Millisecond)
	h.sees(0, "x", "")
	h.sees(1, "x", "")
	h.wantOutcome(op, CaseOther, false, "x -")

	op = h.start(readBoth())
	for range 20 {
		if h.done == 1 && len(h.masters[0].calls) > 0 {
			h.sees(0, "x", "y")
			h.sees(1, "x", "")
		}
		h.pass(5 * time.Millisecond)
	}
	if h.done != 2 || op.Outcome.Err == nil {
		t.Errorf("done %d, outcome %+v, want an error", h.done, op.Outcome)
	}
}

func TestExtendOfSeveralKeysIsAllOrNothing(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(extendBoth())
	h.sees(0, "t", "t")
	h.sees(1, "t", "t")
	h.wantOutcome(op, CaseMine, true, "t t")
	h.sees(2, "t", "")
	c := h.take(2)
	if string(c.Table.Key) != "b" || c.Table.Absent.Effect != Set {
		t.Errorf("got %+v, want a repair of b", c.Table)
	}
	h.wantNoCalls()

	h = newHandDriven(t, 3)
	op = h.start(extendBoth())
	h.sees(0, "t", "t")
	h.sees(1, "t", "x")
	h.sees(2, "t", "x")
	h.wantOutcome(op, CaseOther, false, "t x")
	h.wantNoCalls()
}

func TestReleaseOfSeveralKeysCountsOnlyIfNoneIsLeftOnAMajority(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(releaseBoth())
	h.sees(0, "t", "t")
	h.sees(1, "", "") // both are gone there already
	h.masters[2].calls = nil
	h.pass(60 * time.Millisecond)
	h.wantOutcome(op, CaseMine, true, "t t")

	h = newHandDriven(t, 3)
	op = h.start(releaseBoth())
	h.sees(0, "t", "t")
	h.sees(1, "t", "") // a stays, and the third master may have it too
	h.masters[2].calls = nil
	h.pass(60 * time.Millisecond)
	if h.wantDone(1); op.Outcome.Err == nil {
		t.Errorf("got %+v, want an error: a may be held by a majority", op.Outcome)
	}
}

// TestAMixedExpectationCreatesWhatIsMissing is a commit of what was learned: a
// is held, b is not.
func TestAMixedExpectationCreatesWhatIsMissing(t *testing.T) {
	mixed := func() Swap {
		s := extendBoth()
		s.And[0] = Part{Key: []byte("b"), Mine: Leaf{Effect: Set, Value: []byte("t"), TTL: 20_000}}
		return s
	}
	h := newHandDriven(t, 3)
	op := h.start(mixed())
	h.sees(0, "t", "")
	h.sees(1, "t", "")
	h.wantOutcome(op, CaseMine, true, "t -")

	h = newHandDriven(t, 3)
	op = h.start(mixed())
	h.sees(0, "t", "")
	h.sees(1, "x", "x")
	h.sees(2, "x", "x")
	h.wantOutcome(op, CaseOther, false, "x x")
	if c := h.wantUndo(0); string(c.Table.Key) != "b" { // a was not created
		t.Errorf("undo of %q", c.Table.Key)
	}
	h.wantNoCalls()
}

func TestALaterExtendOfOneOfSeveralKeysCancelsTheirUndo(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireBoth("t"))
	h.start(Swap{Key: []byte("b"), Token: []byte("t"), HasToken: true, Mine: Leaf{Effect: Expire, TTL: 1000}})
	h.sees(1, "x", "x")
	h.sees(2, "x", "x")
	h.sees(0, "", "")
	h.take(0) // the extend
	for _, c := range h.masters[0].calls {
		if c.Table.Mine.writes() {
			t.Errorf("%q is removed, though the extend may have hit it", c.Table.Key)
		}
	}
}

func TestTTLAtMostTellsARenewedLock(t *testing.T) {
	swap := Swap{Key: []byte("k"), Token: []byte("t"), HasToken: true, TTLAtMost: 10_000,
		Mine: Leaf{Effect: Delete}, Other: Leaf{Effect: Learn}}
	for _, tt := range []struct {
		name    string
		ttls    [3]int64
		applied bool
		longest int64
	}{
		{"untouched", [3]int64{10_058, 10_040, 10_020}, true, 10_000},
		{"copies an op timeout apart", [3]int64{10_100, 10_040, 10_020}, true, 10_042},
		{"one copy was left behind by a failed extend", [3]int64{90_000, 10_040, 10_020}, true, 89_900},
		{"renewed", [3]int64{90_000, 90_000, 10_020}, false, 89_900},
		{"made to live for ever", [3]int64{NoTTL, NoTTL, 10_020}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandDriven(t, 3)
			op := h.start(swap)
			for i, ttl := range tt.ttls {
				c := h.take(i)
				st := State{Kind: Text, Value: []byte("t"), TTL: ttl}
				mine := c.Table.Case(&st) == CaseMine
				c.Deliver(Answer{Status: Answered, Votes: true, Before: st, Mine: mine, Applied: mine})
			}
			h.wantDone(1)
			want := CaseOther
			if tt.applied {
				want = CaseMine
			}
			out := op.Outcome
			if out.Err != nil || out.Applied != tt.applied || out.Case != want {
				t.Errorf("applied %v in case %d (%v)", out.Applied, out.Case, out.Err)
			}
			if got := out.State.Longest; (tt.longest == 0) != (got == 0) || !near(got, tt.longest) {
				t.Errorf("longest %d, want about %d", got, tt.longest)
			}
		})
	}
}

func TestSeveralKeysOverMasters(t *testing.T) {
	servers := startServers(t, 3)
	for name, c := range map[string]*Cluster{"servers": openCluster(t, servers...), "embedded": openCluster(t)} {
		t.Run(name, func(t *testing.T) {
			if name == "servers" {
				awaitVoters(t, c, "123", "")
			}
			decide := func(s Swap, which Case, applied bool, states string) {
				t.Helper()
				out := decideOn(t, c, s)
				if out.Err != nil || out.Case != which || out.Applied != applied || pair(&out) != states {
					t.Fatalf("case %d applied %v %q err %v, want case %d applied %v %q",
						out.Case, out.Applied, pair(&out), out.Err, which, applied, states)
				}
			}
			decide(acquireBoth("t"), CaseAbsent, true, "- -")
			decide(acquireBoth("x"), CaseOther, false, "t t")
			decide(extendBoth(), CaseMine, true, "t t")
			decide(releaseSecond(), CaseMine, true, "t t")
			decide(extendBoth(), CaseOther, false, "t -")
			decide(readBoth(), CaseOther, false, "t -")
		})
	}
}

// releaseSecond expects both keys and removes b.
func releaseSecond() Swap {
	s := releaseBoth()
	s.Mine = Leaf{}
	return s
}
