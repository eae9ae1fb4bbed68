package redlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// handDriven is a quorum of hand-driven masters: the test answers every call.
type handDriven struct {
	t       *testing.T
	now     time.Duration
	timers  []timer
	masters []*handMaster
	q       *Quorum
	done    int
}

type timer struct {
	at time.Duration
	f  func()
}

type handMaster struct {
	name  string
	down  string
	calls []*Call // not answered yet
}

func (m *handMaster) Name() string { return m.name }
func (m *handMaster) Down() string { return m.down }
func (m *handMaster) Send(c *Call) bool {
	if m.down != "" {
		return false
	}
	m.calls = append(m.calls, c)
	return true
}

func (h *handDriven) Now() time.Duration { return h.now }
func (h *handDriven) AfterFunc(d time.Duration, f func()) {
	h.timers = append(h.timers, timer{h.now + d, f})
}

func newHandDriven(t *testing.T, n int) *handDriven {
	h := &handDriven{t: t}
	var ms []Master
	for i := range n {
		m := &handMaster{name: fmt.Sprintf("m%d", i)}
		h.masters, ms = append(h.masters, m), append(ms, m)
	}
	h.q = New(Config{Masters: ms, OpTimeout: 50 * time.Millisecond, DriftPPM: 500, Clock: h,
		Rand: func(n int64) int64 { return n / 2 }})
	return h
}

// pass lets time go by.
func (h *handDriven) pass(d time.Duration) {
	end := h.now + d
	for {
		next := -1
		for i, t := range h.timers {
			if t.at <= end && (next < 0 || t.at < h.timers[next].at) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		t := h.timers[next]
		h.timers = append(h.timers[:next], h.timers[next+1:]...)
		h.now = max(h.now, t.at)
		t.f()
	}
	h.now = end
}

func (h *handDriven) start(s Swap) *Op {
	op := &Op{Swap: s, Done: func(*Op) { h.done++ }}
	h.q.Start(op, 0)
	return op
}

// take returns the oldest unanswered call at master i.
func (h *handDriven) take(i int) *Call {
	h.t.Helper()
	m := h.masters[i]
	if len(m.calls) == 0 {
		h.t.Fatalf("m%d has no call", i)
	}
	c := m.calls[0]
	m.calls = m.calls[1:]
	return c
}

func (h *handDriven) created(i int) {
	h.t.Helper()
	h.take(i).Deliver(Answer{Status: Answered, Votes: true, Applied: true, Expiry: Window{100, 200}})
}
func (h *handDriven) holds(i int, value string) {
	h.t.Helper()
	h.take(i).Deliver(Answer{Status: Answered, Votes: true, Before: State{Kind: Text, Value: []byte(value), TTL: 1000}})
}
func (h *handDriven) absent(i int) {
	h.t.Helper()
	h.take(i).Deliver(Answer{Status: Answered, Votes: true})
}
func (h *handDriven) mine(i int, ttl int64, applied bool) {
	h.t.Helper()
	h.take(i).Deliver(Answer{Status: Answered, Votes: true, Mine: true, Applied: applied,
		Before: State{Kind: Text, TTL: ttl}})
}

func (h *handDriven) wantDone(n int) {
	h.t.Helper()
	if h.done != n {
		h.t.Fatalf("done %d times, want %d", h.done, n)
	}
}

func (h *handDriven) wantUndo(i int) *Call {
	h.t.Helper()
	c := h.take(i)
	if c.side == nil || c.Table.Mine.Effect != Delete {
		h.t.Fatalf("m%d got %+v, want an undo", i, c.Table)
	}
	return c
}

func (h *handDriven) wantNoCalls() {
	h.t.Helper()
	for i, m := range h.masters {
		if len(m.calls) > 0 {
			h.t.Errorf("m%d got an unexpected call %+v", i, m.calls[0].Table)
		}
	}
}

func acquireOf(token string) Swap {
	return Swap{Key: []byte("k"), Absent: Leaf{Effect: Set, Value: []byte(token), TTL: 30_000}}
}
func extendOf(token string) Swap {
	return Swap{Key: []byte("k"), Token: []byte(token), HasToken: true, Mine: Leaf{Effect: Expire, TTL: 30_000}}
}
func releaseOf(token string) Swap {
	return Swap{Key: []byte("k"), Token: []byte(token), HasToken: true, Mine: Leaf{Effect: Delete}}
}

func TestAcquireAnswersAtTheDecisiveVote(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("a"))
	h.created(0)
	h.wantDone(0)
	h.created(2)
	h.wantDone(1)
	if !op.Outcome.Applied || op.Outcome.Case != CaseAbsent || !h.q.Claim(op) {
		t.Errorf("outcome %+v", op.Outcome)
	}
	h.q.Settle(op)
	h.created(1) // a straggler is welcome
	h.wantNoCalls()
}

func TestMastersStoreThePaddedTTL(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireOf("a"))
	if got, want := h.take(0).Table.Absent.TTL, int64(30_000+15+3+50); got != want {
		t.Errorf("stored TTL %d, want %d", got, want)
	}
}

func TestAcquireOfAHeldKeyIsDeniedWithTheHoldersValue(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("a"))
	h.holds(0, "b")
	h.holds(1, "b")
	h.wantDone(1)
	if out := op.Outcome; out.Applied || out.Err != nil || out.Case != CaseOther || string(out.State.Value) != "b" {
		t.Errorf("outcome %+v", out)
	}
	h.q.Settle(op)
	h.created(2) // too late: it goes again
	h.wantUndo(2)
}

func TestUndoTouchesOnlyTheCopyOfThisAttempt(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireOf("a"))
	h.created(0)
	h.holds(1, "b")
	h.holds(2, "b")
	c := h.wantUndo(0)
	if c.Window != (Window{100, 200}) || string(c.Table.Token) != "a" {
		t.Errorf("undo %+v of %q", c.Window, c.Table.Token)
	}
	h.wantNoCalls()
}

func TestUndoIsCancelledWhenALaterOperationMayRelyOnTheCopy(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireOf("a"))
	h.start(extendOf("a"))
	h.created(0)
	h.holds(1, "b")
	h.holds(2, "b")
	if c := h.take(0); c.side != nil {
		t.Error("the copy was undone")
	}
	if got := h.q.Stats.UndoCancelled.Load(); got != 1 {
		t.Errorf("UndoCancelled = %d", got)
	}
}

func TestTwoDeadMastersAreAnErrorAtOnceNotNil(t *testing.T) {
	h := newHandDriven(t, 3)
	h.masters[0].down, h.masters[1].down = "down: connection refused", "down: connection refused"
	op := h.start(acquireOf("a"))
	h.created(2)
	h.wantDone(0) // its undo is confirmed before the error goes out
	h.wantUndo(2).Deliver(Answer{Status: Answered, Votes: true, Mine: true, Applied: true})
	h.wantDone(1)
	var e *NoQuorumError
	if !errors.As(op.Outcome.Err, &e) || e.Masters != 3 || e.Need != 2 ||
		!strings.Contains(e.Error(), "m1: down: connection refused") {
		t.Errorf("outcome %+v", op.Outcome)
	}
}

func TestUnansweredAcquireIsAnErrorAtTheDeadlineAndUndoneWhenItAnswers(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("a"))
	h.created(0)
	h.pass(48 * time.Millisecond)
	h.wantUndo(0)
	h.wantDone(0)
	h.pass(10 * time.Millisecond)
	h.wantDone(1)
	if op.Outcome.Err == nil {
		t.Fatalf("outcome %+v, want an error", op.Outcome)
	}
	h.created(1)
	h.wantUndo(1)
	h.take(2).Deliver(Answer{Status: Lost, Reason: "connection lost"})
	h.wantNoCalls() // it may still be executed there

	h.q.Returned(h.q.masters[2])
	h.pass(50 * time.Millisecond) // another proxy's attempt may be on its way
	for i := range 3 {
		h.absent(i)
	}
	if c := h.wantUndo(2); c.About[0] > 30_068*time.Millisecond || c.About[1] < 30_126*time.Millisecond {
		t.Errorf("undo about %v", c.About)
	}
}

func TestACopyThatMayBeThereStaysIfItsTokenHasAMajority(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireOf("a"))
	h.holds(0, "b")
	h.holds(1, "b")
	h.take(2).Deliver(Answer{Status: Lost})
	h.q.Returned(h.q.masters[2])
	h.pass(50 * time.Millisecond) // another proxy's attempt may be on its way
	for i := range 3 {            // the same token, through another proxy
		h.mine(i, 1000, false)
	}
	h.wantNoCalls()
}

func TestAReleaseThatAMasterMissedIsMadeUpFor(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(releaseOf("a"))
	h.mine(0, 10_000, true)
	h.mine(1, 10_002, true)
	h.wantDone(1)
	h.take(2).Deliver(Answer{Status: Failed, Reason: ReasonTooLate})
	for i := range 3 {
		h.absent(i)
	}
	if c := h.wantUndo(2); c.About != [2]time.Duration{9990 * time.Millisecond, 10_062 * time.Millisecond} {
		t.Errorf("removal about %v", c.About)
	}
	h.wantNoCalls()
}

// grantedAtTwo acquires a lock at two masters and hands it over; the third has not
// answered.
func (h *handDriven) grantedAtTwo() {
	h.t.Helper()
	op := h.start(acquireOf("a"))
	h.created(0)
	h.created(1)
	if !h.q.Claim(op) {
		h.t.Fatal("not granted")
	}
	h.q.Settle(op)
}

// extendedAtTwo extends a lock of 10 s, and releases it then if it is to be released,
// at two masters. It returns the extend that the third has not answered.
func (h *handDriven) extendedAtTwo(released bool) *Call {
	h.start(extendOf("a"))
	h.mine(0, 10_000, true)
	h.mine(1, 10_002, true)
	h.wantDone(1)
	extend := h.take(2)
	if released {
		h.start(releaseOf("a"))
		h.mine(0, 30_000, true)
		h.mine(1, 30_000, true)
		h.absent(2)
	}
	return extend
}

// removedAtThird answers the look whether a majority has the token, which only the
// third master has, and returns the removal there.
func (h *handDriven) removedAtThird() *Call {
	h.absent(0)
	h.absent(1)
	h.mine(2, 10_000, false)
	return h.wantUndo(2)
}

// A copy that missed its extend has another expiry time than the one by which a
// release that it missed too would be made up for.
func TestAnExtendThatAMasterMissedIsMadeUpForOnceItsLockIsReleased(t *testing.T) {
	for _, released := range []bool{true, false} {
		h := newHandDriven(t, 3)
		h.extendedAtTwo(released).Deliver(Answer{Status: Unsent, Reason: "no answer in time"})
		h.wantNoCalls() // a master that hangs can not be sent anything
		h.q.Returned(h.q.masters[2])
		if released {
			if c := h.removedAtThird(); c.About != [2]time.Duration{9990 * time.Millisecond, 10_062 * time.Millisecond} {
				t.Errorf("removal about %v", c.About)
			}
		}
		h.wantNoCalls()
	}
}

// A master that is stopped between the look at its clock and the effect executes
// an extend too late.
func TestAnExtendThatAMasterExecutedLateIsMadeUpForOnceItsLockIsReleased(t *testing.T) {
	for _, released := range []bool{true, false} {
		h := newHandDriven(t, 3)
		extend := h.extendedAtTwo(released)
		h.pass(time.Second)
		window := Window{From: 31_060, To: 31_070}
		extend.Deliver(Answer{Status: Answered, Votes: true, Applied: true, Mine: true, Expiry: window,
			Before: State{Kind: Text, Value: []byte("a"), TTL: 9000}})
		if released {
			if c := h.removedAtThird(); c.Window != window {
				t.Errorf("removed if it ends within %v, want %v", c.Window, window)
			}
		}
		h.wantNoCalls()
	}
}

func TestAnExtendedLockIsGivenToMastersThatLackIt(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(extendOf("a"))
	h.mine(0, 500, true)
	h.mine(1, 500, true)
	h.absent(2)
	if c := h.take(2); string(c.Table.Absent.Value) != "a" || c.Table.Absent.TTL != 30_068 || c.Table.HasToken {
		t.Errorf("repair %+v", c.Table)
	}
	h.start(extendOf("a"))
	h.mine(0, 500, true)
	h.mine(1, 500, true)
	h.start(releaseOf("a"))
	h.absent(2)
	if c := h.take(2); c.Table.Mine.Effect != Delete {
		t.Errorf("a repair behind a release: %+v", c.Table)
	}
}

func TestUnsentCallsOfAFailedAcquireAreNotWanted(t *testing.T) {
	h := newHandDriven(t, 3)
	h.start(acquireOf("a"))
	h.holds(0, "b")
	h.holds(1, "b")
	if h.masters[2].calls[0].Wanted() {
		t.Error("the third master should drop it")
	}
}

func TestAGrantClaimedTooLateIsUndoneAndTriedAgain(t *testing.T) {
	h := newHandDriven(t, 3)
	swap := acquireOf("a")
	swap.Absent.TTL = 100 // slack 10 ms
	op := h.start(swap)
	for i := range 3 {
		h.created(i)
	}
	h.pass(11 * time.Millisecond)
	if h.q.Claim(op) {
		t.Fatal("claimed after its slack")
	}
	for i := range 3 {
		h.wantUndo(i)
		h.created(i)
	}
	h.wantDone(2)
	if !h.q.Claim(op) {
		t.Error("the second try is in time")
	}
}

func TestAGrantClaimedTooLateWithALaterCommandBehindItIsAnError(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("a"))
	op.Follow()
	h.created(0)
	h.created(1)
	h.pass(51 * time.Millisecond)
	if h.q.Claim(op) {
		t.Fatal("claimed after its slack")
	}
	h.wantDone(2)
	if op.Outcome.Err == nil || !h.q.Claim(op) {
		t.Errorf("outcome %+v", op.Outcome)
	}
}

func TestAbandonUndoesWhatWasCreated(t *testing.T) {
	for _, decided := range []bool{false, true} {
		h := newHandDriven(t, 3)
		op := h.start(acquireOf("a"))
		h.created(0)
		if decided {
			h.created(1)
		}
		h.q.Abandon(op)
		h.wantUndo(0)
		if !decided {
			h.created(1)
		}
		h.wantUndo(1)
	}
}

func TestSplitVoteKeeperAsksAgainAndOthersGiveWay(t *testing.T) {
	h := newHandDriven(t, 3)
	keeper := h.start(acquireOf("a"))
	h.created(0)
	h.holds(1, "b")
	h.holds(2, "c")
	h.wantDone(0)
	h.pass(2 * time.Millisecond)
	if len(h.masters[0].calls) != 0 {
		t.Error("the keeper asked the master it has")
	}
	h.created(1)
	h.wantDone(1)
	if !keeper.Outcome.Applied {
		t.Errorf("outcome %+v", keeper.Outcome)
	}

	h = newHandDriven(t, 3)
	op := h.start(acquireOf("b"))
	h.holds(0, "a")
	h.created(1)
	h.holds(2, "c")
	h.wantUndo(1)
	h.pass(5 * time.Millisecond)
	h.holds(0, "a")
	h.holds(1, "a")
	h.wantDone(1)
	if out := op.Outcome; out.Applied || string(out.State.Value) != "a" {
		t.Errorf("outcome %+v", out)
	}
}

// The set of masters has changed under an acquire, which is tried again; meanwhile
// another one is sent behind it on its connection, so it must not be. Nothing is
// known of the key then.
func TestAnAcquireThatMustNotBeTriedAgainIsNotDeniedWhileNothingIsKnown(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("a"))
	for i := range 3 {
		h.take(i).Deliver(Answer{Status: Answered, Moved: true, Reason: reasonReseated})
	}
	h.wantDone(0) // it waits to be tried again
	op.Follow()
	h.pass(10 * time.Millisecond)
	h.wantDone(1)
	if op.Outcome.Err == nil {
		t.Errorf("got %+v, want an error", op.Outcome)
	}
	h.wantNoCalls()
}

func TestSplitVoteEndsWithNilAtTheDeadline(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(acquireOf("b"))
	for h.done == 0 && h.now < 100*time.Millisecond {
		for i, v := range []string{"a", "", "c"} {
			for len(h.masters[i].calls) > 0 {
				switch c := h.masters[i].calls[0]; {
				case c.side != nil:
					h.take(i).Deliver(Answer{Status: Answered, Votes: true, Mine: true, Applied: true})
				case v == "":
					h.created(i)
				default:
					h.holds(i, v)
				}
			}
		}
		h.pass(time.Millisecond)
	}
	if out := op.Outcome; out.Err != nil || out.Applied || h.now > 55*time.Millisecond {
		t.Errorf("at %v: %+v", h.now, out)
	}
}

func TestExtendMergesAnswers(t *testing.T) {
	tests := []struct {
		name          string
		votes         string // m mine, a absent, f foreign, u lost
		applied, fail bool
		want          Case
	}{
		{"all mine", "mmm", true, false, CaseMine},
		{"one lost", "mum", true, false, CaseMine},
		{"one mine, one absent, one lost", "mau", false, true, 0},
		{"two absent", "maa", false, false, CaseAbsent},
		{"another holder", "mff", false, false, CaseOther},
		{"nobody has a majority", "maf", false, false, CaseAbsent},
		{"two lost", "muu", false, true, 0},
	}
	for _, tt := range tests {
		h := newHandDriven(t, 3)
		op := h.start(extendOf("a"))
		for i, v := range tt.votes {
			switch v {
			case 'm':
				h.mine(i, 500, true)
			case 'a':
				h.absent(i)
			case 'f':
				h.holds(i, "b")
			case 'u':
				h.take(i).Deliver(Answer{Status: Lost})
			}
			if h.done > 0 {
				break
			}
		}
		out := op.Outcome
		if h.done != 1 || out.Applied != tt.applied || (out.Err != nil) != tt.fail || out.Err == nil && out.Case != tt.want {
			t.Errorf("%s: done %d, outcome %+v", tt.name, h.done, out)
		}
	}
}

func TestAnswersThatDoNotVoteAreUnknown(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(extendOf("a"))
	for i := range 2 {
		h.take(i).Deliver(Answer{Status: Answered, Mine: true, Applied: true, Reason: "restarted"})
	}
	h.mine(2, 500, true)
	if op.Outcome.Err == nil {
		t.Errorf("outcome %+v, want an error", op.Outcome)
	}
}

func TestReadShowsTheQthLargestTTLWithoutPadding(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(Swap{Key: []byte("k"), Token: []byte("a"), HasToken: true})
	h.mine(0, 10_058, false)
	h.wantDone(0)
	h.mine(1, 20_063, false)
	h.wantDone(1)
	if got := op.Outcome.State.TTL; got != 10_000 {
		t.Errorf("TTL %d, want 10000", got)
	}
}

func TestReadIsRepeatedWhileTheAnswersDoNotDecide(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(Swap{Key: []byte("k"), Token: []byte("a"), HasToken: true})
	h.mine(0, 1000, false)
	h.absent(1)
	h.take(2).Deliver(Answer{Status: Lost})
	h.wantDone(0)
	h.pass(3 * time.Millisecond)
	h.mine(0, 1000, false)
	h.mine(1, 1000, false)
	h.wantDone(1)
	if op.Outcome.Case != CaseMine || string(op.Outcome.State.Value) != "a" {
		t.Errorf("outcome %+v", op.Outcome)
	}
}

func TestRemovalOfAnythingLooksFirstAndRemovesOnlyThat(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(Swap{Key: []byte("k"), Other: Leaf{Effect: Delete}, Wrong: Leaf{Effect: Delete}})
	h.holds(0, "x")
	h.holds(1, "x")
	h.wantDone(0)
	h.holds(2, "y") // an attempt in progress: not to be touched
	for i := range 2 {
		if c := h.masters[i].calls[0]; c.Table.Other.Effect != Keep || string(c.Table.Token) != "x" {
			t.Errorf("m%d got %+v", i, c.Table)
		}
		h.mine(i, 100, true)
	}
	h.wantDone(1)
	if out := op.Outcome; !out.Applied || out.Case != CaseOther || string(out.State.Value) != "x" {
		t.Errorf("outcome %+v", out)
	}
}

func TestRemovalOfNothingIsAnsweredByTheLook(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(Swap{Key: []byte("k"), Other: Leaf{Effect: Delete}, Wrong: Leaf{Effect: Delete}})
	h.absent(0)
	h.absent(2)
	h.wantDone(1)
	if out := op.Outcome; out.Applied || out.Case != CaseAbsent || out.Err != nil {
		t.Errorf("outcome %+v", out)
	}
}

func TestALateCopyWithoutAMajorityIsRemoved(t *testing.T) {
	h := newHandDriven(t, 3)
	h.grantedAtTwo()
	h.pass(60 * time.Millisecond)
	h.created(2) // a straggler; the lock was released through another proxy
	h.absent(0)
	h.absent(1)
	h.absent(2)
	h.wantUndo(2)
}

func TestALateCopyOfALiveLockStays(t *testing.T) {
	h := newHandDriven(t, 3)
	h.grantedAtTwo()
	h.pass(60 * time.Millisecond)
	h.created(2)
	h.mine(0, 1000, false)
	h.mine(1, 1000, false)
	h.take(2)
	h.wantNoCalls()
}

func TestEvenQuorumNeedsMoreThanHalf(t *testing.T) {
	h := newHandDriven(t, 4)
	h.start(acquireOf("a"))
	h.created(0)
	h.created(1)
	h.wantDone(0)
	h.created(2)
	h.wantDone(1)
}

func TestRoundsWorkOverMoreMastersThanFitInline(t *testing.T) {
	h := newHandDriven(t, 7)
	h.start(acquireOf("a"))
	for i := range 4 {
		h.wantDone(0)
		h.created(i)
	}
	h.wantDone(1)
}
