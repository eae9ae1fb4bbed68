package redlock

import (
	"strings"
	"testing"
	"time"
)

// wall is what a master's TIME shows at a Clock time, in microseconds.
func wall(at time.Duration) int64 { return (1_700_000_000*time.Second + at).Microseconds() }

var life1, life2 = identity{"run-1", "repl-1"}, identity{"run-2", "repl-1"}

// ends is the suffix of a batch whose TIME was read at a Clock time.
func ends(at time.Duration) suffix {
	return suffix{timeMicros: wall(at), record: []byte("record"), replication: "repl-1", ok: true}
}

// shows is one that shows another record.
func shows(at time.Duration, record []byte) suffix {
	end := ends(at)
	end.record = record
	return end
}

// follows is one of a server with another replication id, none for a replica.
func follows(at time.Duration, replication string) suffix {
	end := ends(at)
	end.replication = replication
	return end
}

// openedLink is a link that was opened and admitted at one second.
func openedLink() (*link, uint64) {
	l := newLink(500)
	g := l.opened(life1, time.Second, time.Second+time.Millisecond, ends(time.Second))
	l.admit(g, 1, "", 0)
	return l, g
}

func TestLinkCountsOnlyWhatIsCertain(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name   string
		before func(l *link, g uint64)
		end    suffix
		want   string
	}{
		{name: "as expected", end: ends(2 * s), want: ""},
		{name: "never admitted", before: func(l *link, g uint64) { l.admit(g, 0, "not admitted", 0) }, end: ends(2 * s), want: "not admitted"},
		{name: "admission of an older connection", end: ends(2 * s), want: "not yet",
			before: func(l *link, g uint64) { l.admit(g, 0, "not yet", 0); l.admit(g-1, 5, "", 0) }},
		{name: "connection lost while the batch was away", before: func(l *link, _ uint64) { l.closed() }, end: ends(2 * s), want: "connection lost"},
		{name: "connection replaced while the batch was away", end: ends(2 * s), want: "connection lost",
			before: func(l *link, _ uint64) {
				l.closed()
				l.admit(l.opened(life1, s, s, ends(s)), 1, "", 0)
			}},
		{name: "end of the batch failed", end: suffix{}, want: "no time or record at the end of the batch"},
		{name: "record gone", end: shows(2*s, nil), want: "its record is gone"},
		{name: "record changed", end: shows(2*s, []byte("other")), want: "its record has changed"},
		{name: "a replica now", end: follows(2*s, ""), want: reasonReplaced},
		{name: "a master again, with another server's data", end: follows(2*s, "repl-2"), want: reasonReplaced},
		{name: "new record expected", before: func(l *link, g uint64) { l.expect(g, []byte("other")) },
			end: shows(2*s, []byte("other")), want: ""},
		{name: "record expected on an older connection", before: func(l *link, g uint64) { l.expect(g-1, []byte("other")) }, end: ends(2 * s), want: ""},
		{name: "clock within drift and tolerance", end: ends(2*s + 2500*time.Microsecond), want: ""},
		{name: "clock ahead", end: ends(2*s + 10*ms), want: "clock stepped by 8.5ms"},
		{name: "clock behind", end: ends(2*s - 10*ms), want: "clock stepped by -8.5ms"},
		{name: "an hour ahead", end: ends(2*s + time.Hour), want: "clock stepped by 59m59.9985s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, g := openedLink()
			if tt.before != nil {
				tt.before(l, g)
			}
			votes, got := l.judge(g, 2*s, 2*s+time.Millisecond, tt.end)
			if got != tt.want || votes != (tt.want == "") {
				t.Errorf("got %v %q, want %q", votes, got, tt.want)
			}
		})
	}
}

func TestLinkDoesNotTakeQueueingForAStep(t *testing.T) {
	l, g := openedLink()
	for _, read := range []time.Duration{10 * time.Second, 12 * time.Second, 14 * time.Second} {
		if votes, why := l.judge(g, 10*time.Second, 14*time.Second, ends(read)); !votes {
			t.Errorf("TIME read at %v between 10s and 14s: no vote: %s", read, why)
		}
	}
}

func TestLinkSmallStepsDoNotAddUp(t *testing.T) {
	l, g := openedLink()
	for i := range 20 {
		at := 2*time.Second + time.Duration(i)*time.Millisecond
		moved := time.Duration(i) * 500 * time.Microsecond
		if votes, _ := l.judge(g, at, at, ends(at+moved)); !votes {
			if moved < clockTolerance {
				t.Errorf("vote lost after %v already", moved)
			}
			return
		}
	}
	t.Error("a clock moved by 9.5ms in 19ms and still votes")
}

func TestLinkAllowsDriftForAnyTime(t *testing.T) {
	l, g := openedLink()
	for at := time.Second; at < 10*time.Hour; at += 7 * time.Second {
		drifted := at + (at-time.Second)*4/10000
		if votes, why := l.judge(g, at, at+time.Millisecond, ends(drifted)); !votes {
			t.Fatalf("at %v: %s", at, why)
		}
	}
}

func TestLinkAfterAStepOnlyANewerAdmissionHelps(t *testing.T) {
	l, g := openedLink()
	at := 2 * time.Second
	batch := func(g uint64) bool {
		at += time.Second
		votes, _ := l.judge(g, at, at, ends(at+time.Hour))
		return votes
	}
	if batch(g) {
		t.Error("votes after the step")
	}
	if batch(g) {
		t.Error("votes in the batch after the step")
	}
	l.admit(g, 1, "", 0)
	if batch(g) {
		t.Error("votes after the same admission was repeated")
	}
	l.closed()
	g = l.opened(life1, at, at, ends(at+time.Hour))
	l.admit(g, 1, "", 0)
	if batch(g) {
		t.Error("votes on a new connection to the same server")
	}
	l.admit(g, 2, "", 0)
	if !batch(g) {
		t.Error("does not vote after a newer admission")
	}
}

func TestLinkNoticesAStepBetweenTwoConnections(t *testing.T) {
	l, _ := openedLink()
	l.closed()
	at := time.Minute
	g := l.opened(life1, at, at, ends(at-time.Second))
	l.admit(g, 1, "", 0)
	if votes, why := l.judge(g, at, at, ends(at-time.Second)); votes || !strings.HasPrefix(why, "clock stepped by -9") {
		t.Errorf("got %v %q, want a step of about a second", votes, why)
	}
}

func TestLinkOfARestartedMasterNeedsAnAdmission(t *testing.T) {
	for _, step := range []time.Duration{0, time.Hour} {
		l, _ := openedLink()
		l.closed()
		at := time.Minute
		g := l.opened(life2, at, at, ends(at+step))
		if votes, why := l.judge(g, at, at, ends(at+step)); votes {
			t.Errorf("restarted, clock off by %v: votes", step)
		} else if stepped := strings.HasPrefix(why, "clock stepped"); stepped != (step != 0) {
			t.Errorf("restarted, clock off by %v: %s", step, why)
		}
		l.admit(g, 2, "", 0)
		shown := time.Duration(ends(at+step).timeMicros) * time.Microsecond
		if late := l.clock.latest(at, 0); !l.clock.known || late < shown || late > shown+2*clockTolerance {
			t.Errorf("admitted, clock off by %v: known %v, shows %v at most: what is sent now must not be executed late", step, l.clock.known, late)
		}
		if votes, why := l.judge(g, at, at, ends(at+step)); !votes {
			t.Errorf("admitted, clock off by %v, but no vote: %s", step, why)
		}
	}
}

func TestLinkGenerationsAreNeverReused(t *testing.T) {
	l, g := openedLink()
	for range 3 {
		l.closed()
		next := l.opened(life1, time.Second, time.Second, ends(time.Second))
		if next <= g {
			t.Fatalf("generation %d after %d", next, g)
		}
		g = next
	}
}

func TestLinkBoundsTheExpiryTime(t *testing.T) {
	l, g := openedLink()
	sent, executed, read := 2*time.Second, 2*time.Second+3*time.Millisecond, 2*time.Second+4*time.Millisecond
	received := read + time.Millisecond
	l.judge(g, sent, received, ends(read))
	at := wall(executed)/1000 + 5000
	for name, end := range map[string]suffix{"with TIME": ends(read), "connection lost before TIME": {}} {
		w := l.expiry(sent, received, end, 5000)
		if w.From > at || w.To < at {
			t.Errorf("%s: window %+v does not hold %d", name, w, at)
		}
		if w.To-w.From > 15 {
			t.Errorf("%s: window %+v is %d ms wide, want at most 15", name, w, w.To-w.From)
		}
	}
	if w := l.expiry(sent, received, ends(read), 5000); w.To > wall(read)/1000+1+5000 {
		t.Errorf("window %+v reaches beyond TIME + 1ms + TTL", w)
	}
}
