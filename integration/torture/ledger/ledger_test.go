package ledger

import (
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// still is a ledger that believes the machine to be awake.
func still() *Ledger {
	return &Ledger{start: time.Now().Add(-time.Hour), keys: make(map[string]*key), stalls: stalls{woken: forEver}}
}

const now = time.Hour

func violated(t *testing.T, l *Ledger, want string) {
	t.Helper()
	v := l.Violations()
	switch {
	case want == "" && len(v) > 0:
		t.Errorf("got %q, want no violation", v[0].What)
	case want != "" && (len(v) != 1 || !strings.Contains(v[0].What, want)):
		t.Errorf("got %v, want one violation with %q", v, want)
	}
}

func TestTwoHoldersAreNoticedInEitherOrder(t *testing.T) {
	for _, second := range []time.Duration{now - 500*ms, now + 500*ms} {
		l := still()
		l.Grant("a", "k", "1", time.Second, now, now+1*ms)
		l.Grant("b", "k", "2", time.Second, second, second+1*ms)
		violated(t, l, "two holders")
	}
}

func TestHoldersInTurnAreFine(t *testing.T) {
	l := still()
	l.Grant("a", "k", "1", time.Second, now, now+10*ms)
	l.Grant("b", "k", "2", time.Second, now+1001*ms, now+1002*ms)
	l.Grant("c", "other", "2", time.Second, now, now+1*ms)
	violated(t, l, "")
}

func TestTheTTLCountsFromTheArrival(t *testing.T) {
	l := still()
	l.Grant("a", "k", "1", time.Second, now, now+300*ms)
	l.Grant("b", "k", "2", time.Second, now+1100*ms, now+1101*ms)
	violated(t, l, "two holders")
}

func TestAStallOfTheMachineIsNotHeldAgainstAnybody(t *testing.T) {
	l := still()
	l.stalls.spans = []span{{now + 100*ms, now + 290*ms}}
	l.Grant("a", "k", "1", time.Second, now, now+300*ms)
	l.Grant("b", "k", "2", time.Second, now+1100*ms, now+1101*ms)
	violated(t, l, "")
	l.Grant("c", "k", "3", time.Second, now+1500*ms, now+1501*ms)
	violated(t, l, "two holders")
}

func TestWhoGivesUpIsNoHolderAnyMore(t *testing.T) {
	l := still()
	from := l.Now()
	h := l.Grant("a", "k", "1", time.Hour, from, from)
	h.GiveUp()
	at := l.Now()
	h.Extended(time.Hour, at, at) // of an extend on its way
	l.Grant("b", "k", "2", time.Hour, at, at)
	violated(t, l, "")
}

func TestAnExtendMayShorten(t *testing.T) {
	l := still()
	from := l.Now()
	h := l.Grant("a", "k", "1", time.Hour, from, from)
	h.Extending(time.Minute)
	if left := h.Left(); left > time.Minute {
		t.Errorf("%v left while an extend to a minute is on its way", left)
	}
	l.Grant("b", "k", "2", time.Hour, from+2*time.Minute, from+2*time.Minute)
	violated(t, l, "")
	h.Extended(3*time.Minute, from, from+1)
	violated(t, l, "two holders")
}

func TestADeletionEndsWhateverItMeets(t *testing.T) {
	l := still()
	from := l.Now()
	h := l.Grant("a", "k", "1", time.Hour, from, from)
	done := l.Erasing("k")
	during := l.Grant("b", "k", "2", time.Hour, l.Now(), l.Now())
	done(0)
	time.Sleep(ms)
	l.Grant("c", "k", "3", time.Hour, l.Now(), l.Now())
	violated(t, l, "")
	if h.Left() > 0 || during.Left() > 0 {
		t.Errorf("%v and %v left of deleted locks", h.Left(), during.Left())
	}
	l.Grant("d", "k", "4", time.Hour, l.Now(), l.Now())
	violated(t, l, "two holders")
}
