package redlock

import (
	"testing"
	"time"
)

// A master that hangs executes what it was sent when it goes on, long after its
// connection was given up and the lock released (pitfalls 14 and 15).

func TestACopyThatAHungMasterMakesWhenItGoesOnIsRemoved(t *testing.T) {
	for _, when := range []string{"before the grant", "after the grant"} {
		h := newHandDriven(t, 3)
		h.pass(time.Second)
		op := h.start(acquireOf("a"))
		lose := func() { h.take(2).Deliver(Answer{Status: Lost, Reason: "no answer"}) }
		h.created(0)
		if when == "before the grant" {
			lose()
		}
		h.created(1)
		if !h.q.Claim(op) {
			t.Fatal("not granted")
		}
		h.q.Settle(op)
		if when == "after the grant" {
			h.pass(time.Second)
			lose()
		}
		h.masters[2].down = "no answer"
		h.start(releaseOf("a"))
		h.mine(0, 29_000, true)
		h.mine(1, 29_000, true)
		h.wantDone(2)

		h.pass(time.Minute) // it hangs longer than the lock would have lived
		h.masters[2].down = ""
		h.q.Returned(h.q.masters[2])
		for i := range 3 { // for the release that it missed
			for len(h.masters[i].calls) > 0 {
				h.absent(i)
			}
		}
		back := h.now
		h.pass(50 * time.Millisecond) // another proxy's attempt may be on its way
		h.absent(0)
		h.absent(1)
		h.mine(2, 30_000, false)
		made := back + 30_068*time.Millisecond // when the copy ends that it has just made
		if c := h.wantUndo(2); c.About[0] > made || c.About[1] < made {
			t.Errorf("lost %s: removed if it ends within %v, want %v to be in that", when, c.About, made)
		} else {
			c.Deliver(Answer{Status: Lost, Reason: "connection lost"})
		}
		h.q.Returned(h.q.masters[2]) // the removal got lost: once more
		h.absent(0)
		h.absent(1)
		h.mine(2, 30_000, false)
		h.wantUndo(2)
		h.wantNoCalls()
	}
}

func TestACopyOfALostAnswerStaysWhileItsLockLives(t *testing.T) {
	h := newHandDriven(t, 3)
	h.grantedAtTwo()
	h.take(2).Deliver(Answer{Status: Lost, Reason: "no answer"})
	h.pass(time.Second)
	h.q.Returned(h.q.masters[2])
	h.pass(50 * time.Millisecond)
	h.mine(0, 29_000, false)
	h.mine(1, 29_000, false)
	h.take(2)
	h.wantNoCalls()
}

// A release has not reached a master; when the copy there is to be removed,
// another acquire is on its way that uses the token again. Its copy looks the
// same.
func TestACopyIsNotRemovedBesideANewerAcquireOfItsToken(t *testing.T) {
	h := newHandDriven(t, 3)
	h.pass(time.Second)
	op := h.start(acquireOf("a"))
	for i := range 3 {
		h.created(i)
	}
	if !h.q.Claim(op) {
		t.Fatal("not granted")
	}
	h.q.Settle(op)
	h.start(releaseOf("a"))
	h.mine(0, 29_000, true)
	h.mine(1, 29_000, true)
	h.wantDone(2)
	h.take(2).Deliver(Answer{Status: Unsent, Reason: "no answer in time"})
	h.q.Returned(h.q.masters[2])
	h.start(acquireOf("a")) // behind the look whether a majority has it
	h.absent(0)
	h.absent(1)
	for i := range h.masters {
		for len(h.masters[i].calls) > 0 {
			if c := h.take(i); c.side != nil {
				t.Errorf("master %d: removed while the token is used again", i)
			}
		}
	}
}

// A slow master creates a copy in time, but after the others; the release is too
// late there.
func TestACopyOfASlowMasterIsRemovedThoughItEndsLater(t *testing.T) {
	h := newHandDriven(t, 3)
	h.grantedAtTwo()
	h.start(releaseOf("a"))
	h.mine(0, 30_068, true)
	h.mine(1, 30_068, true)
	h.wantDone(2)
	h.pass(40 * time.Millisecond)
	made := h.now // in Clock time
	h.created(2)
	for i, want := range []int{0, 0, 1} {
		if n := len(h.masters[i].calls); n != want {
			t.Errorf("master %d has %d calls, want %d: the release, which sees to the copy itself", i, n, want)
		}
	}
	h.pass(20 * time.Millisecond)
	h.take(2).Deliver(Answer{Status: Failed, Reason: ReasonTooLate})
	h.absent(0)
	h.absent(1)
	h.mine(2, 30_068, false)
	ends := made + 30_068*time.Millisecond
	if c := h.wantUndo(2); c.About[0] > ends || c.About[1] < ends {
		t.Errorf("removed if it ends within %v, want %v to be in that", c.About, ends)
	}
	h.wantNoCalls()
}
