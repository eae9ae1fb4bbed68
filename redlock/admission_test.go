package redlock

import (
	"fmt"
	"strings"
	"testing"
)

// The tests describe masters by short words: life number, "r" for a record,
// and so on; see viewOf.
var threeMasters = electorate{name: "redlock", size: 3, opTimeout: 50}

func lifeOf(place, life int) identity {
	return identity{run: fmt.Sprintf("run-%d-%d", place, life), replication: "repl"}
}

// recordOf has the given lives admitted; 0 is withdrawn, serial is the life.
func recordOf(place int, lives ...int) []byte {
	r := record{Quorum: "redlock", OpTimeout: 50}
	for i, life := range lives {
		a := admission{Serial: uint64(max(life, 1)), Identity: lifeOf(i, life).String()}
		if life == 0 {
			a = admission{Serial: 2}
		}
		r.Admitted = append(r.Admitted, a)
	}
	return r.at(place)
}

// healthy is three masters in their first life that know each other.
func healthy() []view {
	views := make([]view, 3)
	for i := range views {
		views[i] = view{name: fmt.Sprintf("m%d", i+1), open: true, id: lifeOf(i, 1), raw: recordOf(i, 1, 1, 1), keys: 5, lastSeen: 1, steadyAt: 10, steppedAt: 5}
	}
	return views
}

func empty(views []view) {
	for i := range views {
		views[i].raw, views[i].keys = nil, 0
	}
}

func TestWhoMayVote(t *testing.T) {
	tests := []struct {
		name   string
		views  func(v []view)
		seen   bool
		asked  []bool
		votes  string // numbers of the masters that vote, at last
		writes string // numbers of the masters that get a record at first
		reason string // part of the reason of the first that does not vote
	}{
		{name: "all known", votes: "123"},
		{name: "bootstrap of three empty masters", views: empty, votes: "123", writes: "123"},
		{name: "no bootstrap with a master missing", views: func(v []view) { empty(v); v[1].open = false; v[1].reason = "refused" },
			reason: "a first start needs all 3 masters, and m2 is missing"},
		{name: "no bootstrap over data", views: func(v []view) { empty(v); v[2].keys = 7 }, reason: "m3 holds 7 keys already: REDLOCK ADMIT ALL"},
		{name: "no bootstrap while locks of all masters may live", views: func(v []view) { empty(v); v[2].keys, v[2].awaits = 1, true },
			reason: "m3 remembers that locks may still be held"},
		{name: "no bootstrap when it is not known whether a master is empty", views: func(v []view) { empty(v); v[2].keys = -1 }, reason: "DBSIZE"},
		{name: "no bootstrap when a quorum was seen before", views: empty, seen: true, reason: "records of all masters are gone"},
		{name: "admit all over data", views: func(v []view) { empty(v); v[2].keys = 7 }, asked: []bool{true, true, true}, votes: "123", writes: "123"},
		{name: "admitting one of three is no quorum", views: empty, asked: []bool{true, false, false}, writes: "1", reason: "in the records of 1 masters, 2 needed"},
		{name: "admitting two of three is one", views: empty, asked: []bool{true, true, false}, votes: "12", writes: "12", reason: "never admitted: REDLOCK ADMIT m3"},
		{name: "one unreachable", views: func(v []view) { v[0].open = false; v[0].reason = "refused" }, votes: "23", reason: "refused"},
		{name: "two unreachable", views: func(v []view) { v[0].open, v[1].open = false, false; v[0].reason = "refused" }, reason: "refused"},
		{name: "restarted without data", views: func(v []view) { v[1].id = lifeOf(1, 2); v[1].raw = nil; v[1].keys = 0; v[1].durable = true },
			votes: "13", writes: "13", reason: "restarted without its data: REDLOCK ADMIT m2"},
		{name: "restarted without data and admitted", asked: []bool{false, true, false}, votes: "123", writes: "123",
			views: func(v []view) { v[1].id = lifeOf(1, 2); v[1].raw = nil; v[1].keys = 0 }},
		{name: "restarted with data that may be old", views: func(v []view) { v[1].id = lifeOf(1, 2) }, votes: "13", writes: "123", reason: "does not persist every write"},
		{name: "restarted and persists every write", views: func(v []view) { v[1].id = lifeOf(1, 2); v[1].durable = true }, votes: "123", writes: "123"},
		{name: "restarted, persists every write, clock stepped meanwhile", votes: "13", writes: "123", reason: "clock stepped by 1h",
			views: func(v []view) {
				v[1].id, v[1].durable, v[1].stepped = lifeOf(1, 2), true, "clock stepped by 1h"
			}},
		{name: "all restarted and persist every write", votes: "123", writes: "123",
			views: func(v []view) {
				for i := range v {
					v[i].id, v[i].durable = lifeOf(i, 2), true
				}
			}},
		{name: "other replication id", views: func(v []view) { v[0].id.replication = "else" }, votes: "23", writes: "123", reason: "does not persist"},
		{name: "flushed", views: func(v []view) { v[2].raw = nil }, votes: "12", reason: "its record is gone"},
		{name: "flushed is not written to when another is admitted again", votes: "12", writes: "12", reason: "its record is gone",
			views: func(v []view) { v[2].raw = nil; v[1].id, v[1].durable = lifeOf(1, 2), true }},
		{name: "another quorum's record", views: func(v []view) { v[1].raw = []byte(strings.Replace(string(v[1].raw), `"redlock"`, `"other"`, 1)) },
			votes: "13", reason: `belongs to the quorum "other"`},
		{name: "another quorum's record is not overwritten", asked: []bool{true, true, true}, votes: "13", writes: "13", reason: `belongs to the quorum "other"`,
			views: func(v []view) {
				v[1].raw = []byte(strings.Replace(string(v[1].raw), `"redlock"`, `"other"`, 1))
			}},
		{name: "record of another size", views: func(v []view) { v[1].raw = recordOf(1, 1, 1, 1, 1, 1) }, votes: "13", reason: "no member of the quorum any more, or of another one"},
		{name: "masters in another order", views: func(v []view) { v[1].raw = recordOf(2, 1, 1, 1) }, votes: "13", reason: "its record is that of master number 3"},
		{name: "the key is something else", views: func(v []view) { v[1].raw = []byte("hello") }, votes: "13", reason: "not a record"},
		{name: "twins", views: func(v []view) { v[2].id = v[0].id }, votes: "2", reason: "same server as m3"},
		{name: "an outdated record is brought up to date", views: func(v []view) { v[2].raw = recordOf(2, 1, 2, 1); v[1].id = lifeOf(1, 2) }, votes: "123", writes: "12"},
		{name: "a clock stepped", views: func(v []view) { v[0].stepped = "clock stepped by 1h" }, votes: "23", writes: "123", reason: "clock stepped by 1h: REDLOCK ADMIT m1"},
		{name: "a clock stepped, and it is not known yet whose", votes: "23", reason: "clock stepped by 1h",
			views: func(v []view) { v[0].stepped, v[0].steppedAt = "clock stepped by 1h", 20 }},
		{name: "a clock stepped and was admitted since", votes: "123", asked: []bool{true, false, false}, writes: "123",
			views: func(v []view) { v[0].stepped = "clock stepped by 1h" }},
		{name: "our own clock stepped: nothing is withdrawn", reason: "clock stepped by 1h",
			views: func(v []view) {
				for i := range v {
					v[i].stepped = "clock stepped by 1h"
				}
			}},
		{name: "withdrawn by another proxy", votes: "23", writes: "123", reason: "its admission was withdrawn",
			views: func(v []view) {
				for i := range v {
					v[i].raw = recordOf(i, 0, 1, 1)
				}
			}},
		{name: "withdrawn and restarted with its data", votes: "23", writes: "123", reason: "its admission was withdrawn",
			views: func(v []view) {
				for i := range v {
					v[i].raw = recordOf(i, 0, 1, 1)
				}
				v[0].id, v[0].durable = lifeOf(0, 2), true
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			views, e := healthy(), threeMasters
			e.seen = tt.seen
			if tt.views != nil {
				tt.views(views)
			}
			a := e.convene(views, admissions(tt.asked))
			if got := numbers(3, func(i int) bool { return a.writes[i] != nil }); got != tt.writes {
				t.Errorf("writes to %q, want %q", got, tt.writes)
			}
			a = obey(t, e, views, a)
			if got := numbers(3, func(i int) bool { return a.standings[i].serial > 0 }); got != tt.votes {
				t.Errorf("%q vote, want %q; %+v", got, tt.votes, a.standings)
			}
			if got := firstReason(a.standings); !strings.Contains(got, tt.reason) || (got == "") != (tt.reason == "") {
				t.Errorf("reason %q, want %q", got, tt.reason)
			}
		})
	}
}

// admissions is REDLOCK ADMIT for some masters.
func admissions(asked []bool) []order {
	orders := make([]order, len(asked))
	for i := range asked {
		if asked[i] {
			orders[i] = admitOrder
		}
	}
	if len(orders) == 0 {
		return nil
	}
	return orders
}

// obey does what the agenda says until nothing is left.
func obey(t *testing.T, e electorate, views []view, a agenda) agenda {
	t.Helper()
	for range 4 {
		if !anyWrite(a.writes) {
			return a
		}
		for i, text := range a.writes {
			if text != nil {
				views[i].raw = text
			}
			if s := a.standings[i]; s.claim.Serial > 0 {
				views[i].claimed, views[i].gap = s.claim.Identity, s.gap
			}
			if a.standings[i].serial > 0 && views[i].stepped != "" && a.standings[i].serial > views[i].lastSeen {
				views[i].stepped = ""
			}
		}
		a = e.convene(views, nil)
	}
	t.Error("there is no end to the writes")
	return a
}

// restored has master k get its locks back, as the steward tells it.
func restored(e electorate, views []view, k int) {
	views[k].restored, views[k].answers = "resynchronised", e.convene(views, nil).losses[k].by
}

func numbers(n int, which func(int) bool) string {
	var b strings.Builder
	for i := range n {
		if which(i) {
			fmt.Fprint(&b, i+1)
		}
	}
	return b.String()
}

func firstReason(standings []standing) string {
	for _, s := range standings {
		if s.reason != "" {
			return s.reason
		}
	}
	return ""
}

func TestAWriteThatWasLostIsNoAdmission(t *testing.T) {
	views := healthy()
	views[1].id, views[1].durable = lifeOf(1, 2), true
	a := threeMasters.convene(views, nil)
	views[1].raw = a.writes[1] // the others did not get theirs
	a = threeMasters.convene(views, nil)
	if a.standings[1].serial != 0 {
		t.Error("votes with one record of two needed")
	}
	if got := numbers(3, func(i int) bool { return a.writes[i] != nil }); got != "13" {
		t.Errorf("writes to %q, want 13", got)
	}
}

func TestRecordsMergeAlikeInEveryOrder(t *testing.T) {
	admissions := []admission{{}, {1, "a"}, {1, "b"}, {1, ""}, {2, "a"}, {2, ""}, {3, "c"}}
	for _, a := range admissions {
		for _, b := range admissions {
			if a.newer(b) != b.newer(a) {
				t.Errorf("%v and %v: %v or %v", a, b, a.newer(b), b.newer(a))
			}
			for _, c := range admissions {
				if a.newer(b).newer(c) != a.newer(b.newer(c)) {
					t.Errorf("%v, %v and %v depend on the order", a, b, c)
				}
			}
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	r := record{Quorum: "q", OpTimeout: 50, Admitted: []admission{{1, "run/repl"}, {2, ""}, {}}}
	got, err := parseRecord(r.at(1), "q")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.at(1)) != string(r.at(1)) || got.Admitted[0] != r.Admitted[0] || got.Admitted[1] != r.Admitted[1] {
		t.Errorf("got %+v, want %+v", got, r)
	}
}

func TestAProxyWithOtherNamesFindsThePlaceThatIsLeft(t *testing.T) {
	views := healthy()
	views[0].id, views[0].raw = lifeOf(1, 1), recordOf(1, 1, 1, 1) // its master 1 is number 2 of the quorum
	views[1].id, views[1].raw = lifeOf(0, 2), nil                  // its master 2 was number 1, and restarted empty
	a := threeMasters.convene(views, nil)
	if got := numbers(3, func(i int) bool { return a.standings[i].serial > 0 }); got != "13" || !a.lost[1] {
		t.Errorf("%q vote, lost %v, seats %+v", got, a.lost, a.seats)
	}
}
