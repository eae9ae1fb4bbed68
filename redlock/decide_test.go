package redlock

import "testing"

func TestDecide(t *testing.T) {
	type votes struct{ applied, absent, top, unknown, pending int }
	tests := []struct {
		name string
		c    class
		n    int
		v    votes
		own  bool
		want ruling
	}{
		{"two of three created", classAcquire, 3, votes{applied: 2, absent: 2, pending: 1}, false, applied},
		{"one created, two to come", classAcquire, 3, votes{applied: 1, absent: 1, pending: 2}, false, wait},
		{"one holder on two of three", classAcquire, 3, votes{top: 2, pending: 1}, false, denied},
		{"one holder on one, grant possible", classAcquire, 3, votes{top: 1, pending: 2}, false, wait},
		{"created one, two foreign values", classAcquire, 3, votes{applied: 1, absent: 1, top: 1, pending: 1}, false, wait},
		{"everybody has one", classAcquire, 3, votes{applied: 1, absent: 1, top: 1, pending: 0, unknown: 1}, false, split},
		{"a majority with my own value is no holder", classAcquire, 3, votes{applied: 1, absent: 1, top: 2}, true, split},
		{"one answered, two did not", classAcquire, 3, votes{applied: 1, absent: 1, unknown: 2}, false, unknown},
		{"two down is decided at once", classAcquire, 3, votes{unknown: 2, pending: 1}, false, unknown},

		{"extended on two", classModify, 3, votes{applied: 2, top: 2, pending: 1}, false, applied},
		{"one mine, two silent is no answer", classModify, 3, votes{applied: 1, top: 1, unknown: 2}, false, unknown},
		{"one mine, one absent, one to come", classModify, 3, votes{applied: 1, absent: 1, top: 1, pending: 1}, false, wait},
		{"one mine, one absent, one silent", classModify, 3, votes{applied: 1, absent: 1, top: 1, unknown: 1}, false, unknown},
		{"absent on two is not mine", classModify, 3, votes{absent: 2, pending: 1}, false, denied},

		{"released on two", classDelete, 3, votes{applied: 2, top: 2, pending: 1}, false, applied},
		{"released on one, absent on one, one silent", classDelete, 3, votes{applied: 1, top: 1, absent: 1, unknown: 1}, false, applied},
		{"released on one, absent on two was not held", classDelete, 3, votes{applied: 1, top: 1, absent: 2}, false, denied},
		{"released on one, two silent", classDelete, 3, votes{applied: 1, top: 1, unknown: 2}, false, unknown},
		{"released on one, absent on one, one to come", classDelete, 3, votes{applied: 1, top: 1, absent: 1, pending: 1}, false, wait},

		{"two show the value", classRead, 3, votes{top: 2, pending: 1}, false, applied},
		{"two show nothing", classRead, 3, votes{absent: 2, pending: 1}, false, denied},
		{"one shows it, one does not, one silent", classRead, 3, votes{top: 1, absent: 1, unknown: 1}, false, unknown},
		{"one shows it, two do not", classRead, 3, votes{top: 1, absent: 2}, false, denied},
		{"two of four show it, two do not", classRead, 4, votes{top: 2, absent: 2}, false, denied},
	}
	for _, tt := range tests {
		v := tt.v
		tl := tally{n: tt.n, need: tt.n/2 + 1, applied: v.applied, absent: v.absent, top: v.top,
			unknown: v.unknown, pending: v.pending, topIsOwn: tt.own}
		tl.answered = tt.n - v.unknown - v.pending
		if got := decide(tt.c, &tl); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestADecisionNeverChangesWithLaterVotes checks the decisive vote: what is
// decided with votes pending is what every way of their coming in decides.
func TestADecisionNeverChangesWithLaterVotes(t *testing.T) {
	for _, c := range []class{classModify, classDelete, classRead} {
		for _, n := range []int{1, 2, 3, 4, 5, 7} {
			eachTally(n, func(tl tally) {
				first := decide(c, &tl)
				if first == wait || tl.pending == 0 {
					return
				}
				for _, later := range complete(tl) {
					if got := decide(c, &later); got != first {
						t.Fatalf("class %d: %+v gives %d, but then %+v gives %d", c, tl, first, later, got)
					}
				}
			})
		}
	}
}

func TestTooFewVotesNeverDecide(t *testing.T) {
	skipped := 0
	for _, c := range []class{classAcquire, classModify, classDelete, classRead} {
		for _, n := range []int{1, 2, 3, 4, 5, 7} {
			eachTally(n, func(tl tally) {
				if !tooFew(n, tl.need, tl.pending) {
					return
				}
				skipped++
				if got := decide(c, &tl); got != wait {
					t.Errorf("class %d: %+v gives %d", c, tl, got)
				}
			})
		}
	}
	if skipped == 0 {
		t.Error("all are counted")
	}
}

// eachTally runs f over every tally of masters that hold mine, nothing or one
// foreign value.
func eachTally(n int, f func(tally)) {
	for mine := 0; mine <= n; mine++ {
		for absent := 0; mine+absent <= n; absent++ {
			for unknown := 0; mine+absent+unknown <= n; unknown++ {
				f(tally{n: n, need: n/2 + 1, applied: mine, top: mine, absent: absent, unknown: unknown,
					answered: mine + absent, pending: n - mine - absent - unknown})
			}
		}
	}
}

// complete is every way in which the pending votes may come in.
func complete(t tally) []tally {
	if t.pending == 0 {
		return []tally{t}
	}
	t.pending--
	mine, absent, silent := t, t, t
	mine.applied, mine.top, mine.answered = t.applied+1, t.top+1, t.answered+1
	absent.absent, absent.answered = t.absent+1, t.answered+1
	silent.unknown++
	return append(append(complete(mine), complete(absent)...), complete(silent)...)
}
