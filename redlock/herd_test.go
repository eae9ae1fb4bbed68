package redlock

import (
	"testing"
	"time"
)

func plain(token string) Swap {
	return Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, Value: []byte(token), TTL: 30_000}}
}

func (h *handDriven) wantDenied(ops ...*Op) {
	h.t.Helper()
	for _, op := range ops {
		if out := op.Outcome; out.Err != nil || out.Applied || out.Case != CaseOther {
			h.t.Errorf("%q: %+v, want denied", op.Swap.Absent.Value, out)
		}
		if !h.q.Claim(op) {
			h.t.Errorf("%q can not be claimed", op.Swap.Absent.Value)
		}
		h.q.Settle(op)
	}
}

func TestAcquiresThatComeMeanwhileAreDeniedByAGrant(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	rivals := []*Op{h.start(plain("b")), h.start(plain("c"))}
	for i := range 3 {
		h.created(i)
	}
	h.wantNoCalls()
	h.wantDone(3)
	if out := first.Outcome; !out.Applied {
		t.Errorf("the first: %+v", out)
	}
	if s := rivals[0].Outcome.State; string(s.Value) != "a" || s.TTL != 30_000 {
		t.Errorf("the others see %+v", s)
	}
	h.wantDenied(rivals...)
}

func TestAcquiresThatComeBehindADenialShareARound(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	second, third := h.start(plain("b")), h.start(plain("c"))
	for i := range 3 {
		h.holds(i, "x")
	}
	h.wantDone(1)
	h.wantDenied(first)
	fourth := h.start(plain("d")) // comes behind the shared round
	for i := range 2 {
		h.holds(i, "x")
	}
	h.wantDone(3)
	h.wantDenied(second, third)
	h.take(2)
	for i := range 3 { // the fourth has another
		h.created(i)
	}
	h.wantDone(4)
	if !fourth.Outcome.Applied || fourth.Waiting() {
		t.Errorf("the fourth: %+v", fourth.Outcome)
	}
	h.wantNoCalls()
}

func TestAfterAnErrorEachAcquireHasItsOwnRound(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	h.pass(20 * time.Millisecond)
	second, third := h.start(plain("b")), h.start(plain("c"))
	h.masters[0].calls, h.masters[1].calls, h.masters[2].calls = nil, nil, nil
	h.pass(35 * time.Millisecond)
	h.wantDone(1)
	if first.Outcome.Err == nil {
		t.Errorf("the first: %+v", first.Outcome)
	}
	for range 2 {
		for i := range 3 {
			h.holds(i, "x")
		}
	}
	h.wantDone(3)
	h.wantDenied(second, third)
}

func TestWhoGivesUpWhileWaitingIsNotSent(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(plain("a"))
	second, third := h.start(plain("b")), h.start(plain("c"))
	if !second.Waiting() {
		t.Error("it does not wait")
	}
	h.q.Abandon(second)
	for i := range 3 {
		h.holds(i, "x")
	}
	for i := range 3 {
		if c := h.take(i); string(c.Table.Absent.Value) != "c" {
			t.Errorf("m%d got %q", i, c.Table.Absent.Value)
		} else {
			c.Deliver(Answer{Status: Answered, Votes: true, Applied: true, Expiry: Window{100, 200}})
		}
	}
	h.wantDone(2)
	if !third.Outcome.Applied {
		t.Errorf("the third: %+v", third.Outcome)
	}
}

func TestWhoWaitedForAClientThatHangsUpShareARound(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	second, third := h.start(plain("b")), h.start(plain("c"))
	h.q.Abandon(first)
	h.wantDone(0)
	for i := range 3 {
		h.take(i).Deliver(Answer{Status: Unsent}) // not wanted any more
		h.created(i)
	}
	h.wantDone(2)
	if !second.Outcome.Applied {
		t.Errorf("the second: %+v", second.Outcome)
	}
	h.wantDenied(third)
}

func TestAGrantThatCameTooLateDeniesNobody(t *testing.T) {
	h := newHandDriven(t, 3)
	s := plain("a")
	s.Absent.TTL = 20 // its slack is 10 ms
	first := h.start(s)
	second := h.start(plain("b"))
	h.pass(15 * time.Millisecond)
	for i := range 3 {
		h.created(i)
	}
	h.wantDone(1)
	if second.Waiting() || h.q.Claim(first) {
		t.Error("the grant counts")
	}
}

func TestWhatDoesNotWaitForOthers(t *testing.T) {
	renewing := plain("b")
	renewing.Token, renewing.HasToken, renewing.Mine = []byte("b"), true, Leaf{Effect: Expire, TTL: 30_000}
	other := plain("b")
	other.Key = []byte("else")
	for name, op := range map[string]*Op{
		"an acquire-or-renew":   {Swap: renewing},
		"another key":           {Swap: other},
		"behind its connection": {Swap: plain("b"), Ordered: true},
		"a release":             {Swap: unlockSwap("k", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandDriven(t, 3)
			h.start(plain("a"))
			op.Done = func(*Op) {}
			h.q.Start(op, 0)
			if op.Waiting() || len(h.masters[0].calls) != 2 {
				t.Error("it waits")
			}
		})
	}
}

// join starts an acquire behind one of the same connection, which it waits for,
// or with.
func (h *handDriven) join(s Swap, behind *Op) *Op {
	h.t.Helper()
	op := &Op{Swap: s, Done: func(*Op) { h.done++ }}
	if !h.q.Join(op, behind, 0) || !op.Waiting() {
		h.t.Errorf("%q does not wait", s.Absent.Value)
	}
	return op
}

func TestAcquiresOfOneConnectionWaitForTheFirst(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	second := h.join(plain("b"), first)
	third := h.join(plain("c"), second)
	for i := range 3 {
		h.created(i)
	}
	h.wantNoCalls()
	h.wantDone(3)
	h.wantDenied(second, third)
}

func TestAcquiresOfOneConnectionShareTheNextRound(t *testing.T) {
	h := newHandDriven(t, 3)
	rival := h.start(plain("r"))
	first := h.start(plain("a")) // waits for the rival
	second := h.join(plain("b"), first)
	third := h.join(plain("c"), second)
	for i := range 3 {
		h.holds(i, "x")
	}
	h.wantDone(1)
	h.wantDenied(rival)
	fourth := h.join(plain("d"), third) // behind the round of the first, which is sent
	for i := range 3 {
		h.holds(i, "y")
	}
	h.wantDone(4)
	h.wantDenied(first, second, third)
	for i := range 3 {
		h.created(i)
	}
	h.wantDone(5)
	if !fourth.Outcome.Applied {
		t.Errorf("the fourth: %+v", fourth.Outcome)
	}
	h.wantNoCalls()
}

// TestAfterAnErrorAConnectionsOrderIsKept: each is sent by itself, and none again
// behind the next.
func TestAfterAnErrorAConnectionsOrderIsKept(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	h.pass(20 * time.Millisecond)
	second := h.join(plain("b"), first)
	third := h.join(plain("c"), second)
	h.masters[0].calls, h.masters[1].calls, h.masters[2].calls = nil, nil, nil
	h.pass(35 * time.Millisecond)
	h.wantDone(1)
	for i := range 3 {
		for k, want := range []string{"b", "c"} {
			if got := string(h.masters[i].calls[k].Table.Absent.Value); got != want {
				t.Errorf("m%d gets %q as call %d, want %q", i, got, k, want)
			}
		}
	}
	for op, want := range map[*Op]bool{first: true, second: true, third: false} {
		if got := op.flight.Load().followed.Load(); got != want {
			t.Errorf("%q may not be sent again: %v, want %v", op.Swap.Absent.Value, got, want)
		}
	}
}

func TestWhatJoinsNoAcquire(t *testing.T) {
	renewing := plain("b")
	renewing.Token, renewing.HasToken, renewing.Mine = []byte("b"), true, Leaf{Effect: Expire, TTL: 30_000}
	other := plain("b")
	other.Key = []byte("else")
	for name, tt := range map[string]struct{ first, second Swap }{
		"an acquire-or-renew":         {plain("a"), renewing},
		"a release":                   {plain("a"), unlockSwap("k", "a")},
		"an acquire behind a release": {unlockSwap("k", "a"), plain("b")},
		"another key":                 {plain("a"), other},
	} {
		h := newHandDriven(t, 3)
		first := h.start(tt.first)
		op := &Op{Swap: tt.second, Done: func(*Op) {}}
		if h.q.Join(op, first, 0) || op.Waiting() {
			t.Errorf("%s waits", name)
		}
	}
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	for i := range 3 {
		h.created(i)
	}
	if op := (&Op{Swap: plain("b"), Done: func(*Op) {}}); h.q.Join(op, first, 0) || op.Waiting() {
		t.Error("it waits for what is decided")
	}
}

// TestWhatFollowsADeniedAcquireFollowsTheGrantedOne: it is no stranger who releases
// what was granted and not handed out yet.
func TestWhatFollowsADeniedAcquireFollowsTheGrantedOne(t *testing.T) {
	h := newHandDriven(t, 3)
	first := h.start(plain("a"))
	second := h.join(plain("b"), first)
	third := h.join(plain("c"), second)
	for i := range 3 {
		h.created(i)
	}
	h.wantDone(3)
	third.Follow()
	h.q.Start(&Op{Swap: unlockSwap("k", "a"), Ordered: true, Done: func(*Op) {}}, 0)
	if !h.q.Claim(first) {
		t.Errorf("the first: %+v", first.Outcome)
	}
	h.wantDenied(second, third)
	if third.flight.Load().herd.behind.Load() != nil {
		t.Error("what was before it is kept")
	}
}
