package redlock

import (
	"testing"
	"time"
)

// A lock's time is counted from the try that won, not from the first
// (pitfall 7), and from the oldest of the copies that it counts.

// shortAcquire has a TTL of 100 ms: a grant may be claimed for 10 ms after it
// was sent.
func shortAcquire(token string) Swap {
	swap := acquireOf(token)
	swap.Absent.TTL = 100
	return swap
}

func TestValidityCountsFromTheWinningTry(t *testing.T) {
	h := newHandDriven(t, 3)
	op := h.start(shortAcquire("b"))
	stored := h.masters[0].calls[0].Table.Absent.TTL
	h.pass(2 * time.Millisecond)
	h.holds(0, "a") // a split vote, in which somebody else is to win
	h.created(1)
	h.holds(2, "c")
	h.wantUndo(1).Deliver(Answer{Status: Answered, Votes: true, Mine: true, Applied: true})
	for len(h.masters[0].calls) == 0 {
		if h.pass(time.Millisecond); h.now > 30*time.Millisecond {
			t.Fatal("it was not tried again")
		}
	}
	second := h.now
	h.pass(9 * time.Millisecond)
	if h.now <= 10*time.Millisecond {
		t.Fatalf("at %v the first try could still be claimed: this tests nothing", h.now)
	}
	for i := range 3 {
		if got := h.masters[i].calls[0].Table.Absent.TTL; got != stored {
			t.Errorf("the second try stores a TTL of %d, the first %d", got, stored)
		}
		h.created(i)
	}
	h.wantDone(1)
	if !op.Outcome.Applied || !h.q.Claim(op) {
		t.Errorf("sent at %v, claimed at %v: refused, outcome %+v", second, h.now, op.Outcome)
	}
}

func TestValidityOfAKeeperCountsFromItsFirstCopy(t *testing.T) {
	h := newHandDriven(t, 3)
	keeper := h.start(shortAcquire("a"))
	h.created(0) // kept
	h.holds(1, "b")
	h.holds(2, "c")
	h.pass(6 * time.Millisecond)
	h.created(1)
	h.wantDone(1)
	h.pass(5 * time.Millisecond) // the copy on the second is 5 ms old, the one on the first 11 ms
	if !keeper.Outcome.Applied || h.q.Claim(keeper) {
		t.Errorf("claimed at %v with a copy from the start, outcome %+v", h.now, keeper.Outcome)
	}
}
