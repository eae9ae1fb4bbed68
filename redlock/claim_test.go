package redlock

import (
	"strings"
	"testing"
)

// emptied puts another server, which is empty, in the place of master k.
func emptied(views []view, k, life int) {
	views[k].id, views[k].raw, views[k].keys = lifeOf(k, life), nil, 0
}

func reported(t *testing.T, raw []byte) *record {
	t.Helper()
	r, err := parseRecord(raw, "redlock")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAMasterIsRestoredOnlyWhenTheOthersKnowThatItsPredecessorHasNoVote(t *testing.T) {
	views := healthy()
	emptied(views, 1, 2)
	a := threeMasters.convene(views, nil)
	if a.losses[1].enough || !a.lost[1] {
		t.Fatalf("loss %+v before any record tells of it", a.losses[1])
	}
	views[0].raw = a.writes[0]
	a = threeMasters.convene(views, nil)
	if a.losses[1].enough || !a.losses[1].known.has(0) {
		t.Errorf("loss %+v, and m3 may still vote together with the old m2", a.losses[1])
	}
	a = obey(t, threeMasters, views, a)
	if l := a.losses[1]; !l.enough || l.known != 0b101 {
		t.Errorf("loss %+v, known to m1 and m3", l)
	}
	restored(threeMasters, views, 1)
	a = obey(t, threeMasters, views, threeMasters.convene(views, nil))
	if a.standings[1].serial != 3 {
		t.Errorf("standing %+v of what was restored", a.standings[1])
	}
}

func TestARestorationIsGoodForTheLossThatItAnswers(t *testing.T) {
	views := healthy()
	emptied(views, 1, 2)
	obey(t, threeMasters, views, threeMasters.convene(views, nil))
	restored(threeMasters, views, 1)
	for _, k := range []int{0, 2} { // by another proxy: admitted, and its clock stepped
		r := reported(t, views[k].raw)
		r.Admitted[1] = admission{Serial: r.Admitted[1].Serial + 2}
		views[k].raw = r.at(k)
	}
	if a := threeMasters.convene(views, nil); a.standings[1].serial != 0 || a.restored[1] || !a.lost[1] {
		t.Errorf("admitted for an older loss: %+v", a.standings[1])
	}
}

func TestAPeerThatCannotBeToldKeepsAMasterOut(t *testing.T) {
	views := healthy()
	emptied(views, 1, 2)
	views[2].open, views[2].reason = false, "refused"
	obey(t, threeMasters, views, threeMasters.convene(views, nil))
	restored(threeMasters, views, 1)
	views[2].open, views[2].reason = true, ""
	if a := threeMasters.convene(views, nil); a.restored[1] || a.losses[1].enough {
		t.Errorf("m3 came back and does not know of the loss: %+v", a.losses[1])
	}
}

func TestAMasterWithDataFromBeforeItsLastAdmissionIsNotTrusted(t *testing.T) {
	views := healthy()
	for _, k := range []int{0, 2} {
		views[k].raw = recordOf(k, 1, 2, 1)
	}
	views[1].durable, views[1].id = true, lifeOf(1, 3) // an old disk, or another server: life 2 had it all
	a := obey(t, threeMasters, views, threeMasters.convene(views, nil))
	if s := a.standings[1]; s.serial != 0 || !a.lost[1] || !strings.Contains(s.reason, "older than the last admission") {
		t.Errorf("%+v", s)
	}
}

func TestOfFiveMastersOneNeedNotBeTold(t *testing.T) {
	views := make([]view, 5)
	for i := range views {
		views[i] = view{name: string(rune('a' + i)), open: true, id: lifeOf(i, 1), raw: recordOf(i, 1, 1, 1, 1, 1), lastSeen: 1}
	}
	e := electorate{name: "redlock", size: 5, opTimeout: 50}
	emptied(views, 4, 2)
	a := e.convene(views, nil)
	for k := range 3 { // d can not be written
		views[k].raw = a.writes[k]
	}
	if l := e.convene(views, nil).losses[4]; !l.enough || l.known != 0b00111 {
		t.Errorf("loss %+v: every majority with the old e has one of a, b, c", l)
	}
}

func TestAServerThatLostItsPlaceStaysOut(t *testing.T) {
	views := healthy() // of a proxy that still reaches the old m2 …
	elsewhere := healthy()
	emptied(elsewhere, 1, 2) // … and of one that does not
	a := threeMasters.convene(elsewhere, nil)
	for _, claimed := range []string{"claimed", "admitted"} {
		obey(t, threeMasters, elsewhere, a)
		views[0].raw, views[2].raw = elsewhere[0].raw, elsewhere[2].raw
		b := threeMasters.convene(views, nil)
		switch s := b.standings[1]; {
		case s.serial != 0 || !s.taken || b.lost[1] || !strings.Contains(s.reason, "different servers"):
			t.Errorf("%s: %+v", claimed, s)
		case anyWrite(b.writes):
			t.Errorf("%s: the record that shows it is overwritten", claimed)
		}
		if got := numbers(3, func(i int) bool { return b.standings[i].serial > 0 }); got != "13" {
			t.Errorf("%s: %q vote", claimed, got)
		}
		restored(threeMasters, elsewhere, 1)
		a = threeMasters.convene(elsewhere, nil)
	}
	orders := admissions([]bool{false, true, false})
	if b := obey(t, threeMasters, views, threeMasters.convene(views, orders)); b.standings[1].serial == 0 {
		t.Errorf("an operator can not say which is the right one: %+v", b.standings[1])
	}
}

func TestAnotherServersClaimIsLeftAloneForAWhile(t *testing.T) {
	views, elsewhere := healthy(), healthy()
	emptied(views, 1, 2)
	emptied(elsewhere, 1, 3)
	a := obey(t, threeMasters, views, threeMasters.convene(views, nil))
	elsewhere[0].raw, elsewhere[2].raw = views[0].raw, views[2].raw
	if b := threeMasters.convene(elsewhere, nil); !b.standings[1].taken || anyWrite(b.writes) {
		t.Errorf("two servers take the place from each other for ever: %+v", b.standings[1])
	}
	elsewhere[1].claimed = claimFor(lifeOf(1, 2))
	if b := threeMasters.convene(elsewhere, nil); b.standings[1].claim.Serial != 3 {
		t.Errorf("%+v, want a claim in the place of its own, for what was there before", b.standings[1])
	}
	elsewhere[1].claimed, elsewhere[1].claim, elsewhere[1].claimAge = "", a.set.Admitted[1], claimPatience+1
	if b := threeMasters.convene(elsewhere, nil); b.standings[1].claim.Serial != 3 {
		t.Errorf("%+v, want a claim: nobody works on the other one", b.standings[1])
	}
	back := healthy() // its name led elsewhere for a moment only
	back[0].raw, back[2].raw = views[0].raw, views[2].raw
	back[1].claim, back[1].claimAge = a.set.Admitted[1], claimPatience+1
	if b := threeMasters.convene(back, nil); b.standings[1].claim.Serial != 3 || !b.lost[1] {
		t.Errorf("%+v: out for ever, and it has lost nothing", b.standings[1])
	}
}

func TestAWithdrawnPlaceIsClaimedToo(t *testing.T) {
	views := healthy()
	for i := range views {
		views[i].raw = recordOf(i, 1, 0, 1)
	}
	if a := threeMasters.convene(views, nil); a.standings[1].claim != (admission{3, claimFor(views[1].id)}) {
		t.Errorf("%+v: another proxy may restore another server for the same withdrawal", a.standings[1])
	}
}

func TestWhatEndsAVoteIsNewerThanWhatGivesIt(t *testing.T) {
	life, claim := admission{2, lifeOf(1, 2).String()}, admission{2, claimFor(lifeOf(1, 3))}
	for _, pair := range [][2]admission{{life, claim}, {claim, life}} {
		if got := pair[0].newer(pair[1]); got != claim {
			t.Errorf("of %v and %v: %v", pair[0], pair[1], got)
		}
	}
	r := record{Admitted: []admission{claim}}
	if !r.deposes([]admission{life}, 0) {
		t.Error("a claim of the same serial leaves it its vote")
	}
}

func TestAVoteCountsOnlyBesideThoseThatHaveTheirs(t *testing.T) {
	known := reported(t, recordOf(0, 1, 1, 1)).Admitted
	withdrawn, claimed, newer := recordOf(0, 1, 0, 1), reported(t, recordOf(0, 1, 1, 1)), recordOf(0, 1, 2, 1)
	claimed.Admitted[1] = admission{2, claimFor(lifeOf(1, 2))}
	for _, tt := range []struct {
		name    string
		raw     []byte
		deposes bool
	}{
		{"nothing new", recordOf(0, 1, 1, 1), false},
		{"a clock stepped", withdrawn, true},
		{"a place is claimed", claimed.at(0), true},
		{"it was given away", newer, true},
	} {
		if got := reported(t, tt.raw).deposes(known, 1); got != tt.deposes {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if reported(t, newer).deposes(claimed.Admitted, 1) {
		t.Error("a place that had no vote is given one: the others keep theirs")
	}
}

// known by other names than those in the records
func elsewhere(views []view) []view {
	for i := range views {
		views[i].name = "other-" + views[i].name
	}
	return views
}

func TestAPlaceIsNotClaimedFromAMasterThatCanNotBeReached(t *testing.T) {
	named := func(views []view) []view {
		for i := range views {
			r := reported(t, views[i].raw)
			r.Masters = []string{"m1", "m2", "m3"}
			views[i].raw = r.at(i)
		}
		return elsewhere(views)
	}
	views := named(healthy())
	emptied(views, 0, 2) // the first, by another name, so nobody can tell its place …
	views[1].open, views[1].reason = false, "refused"
	e := threeMasters
	if a := e.convene(views, nil); anyWrite(a.writes) || a.standings[0].claim.Serial != 0 {
		t.Errorf("took the place of one that is away: %+v", a.standings)
	}
	e.sat = newSeats([]int{0, 1, 2}, nil, reported(t, views[2].raw).setName()) // … but who knew it before
	if a := e.convene(views, nil); a.seats.masters[0] != 0 || a.standings[0].claim.Serial != 2 {
		t.Errorf("seats %+v, %+v", a.seats, a.standings[0])
	}
	e.sat, views[1].open, views[1].reason = nil, true, ""
	if a := e.convene(views, nil); a.seats.masters[0] != 0 || a.standings[0].claim.Serial != 2 {
		t.Errorf("the only place left: seats %+v, %+v", a.seats, a.standings[0])
	}
}
