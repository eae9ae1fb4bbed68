package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// quorumOf is a quorum of the first n servers, and two proxies that know all.
func quorumOf(t *testing.T, n int, servers []*testServer) (c, other *Cluster) {
	t.Helper()
	first := openCluster(t, servers[:n]...)
	awaitVoters(t, first, "123456789"[:n], "")
	first.Close()
	// None of this is about speed.
	c, other = openClusterWith(t, 2*time.Second, servers...), openClusterWith(t, 2*time.Second, servers...)
	awaitVoters(t, c, "123456789"[:n], "")
	awaitVoters(t, other, "123456789"[:n], "")
	return c, other
}

func mustChange(t *testing.T, c *Cluster, change SetChange) {
	t.Helper()
	lines, err := c.Change(context.Background(), change)
	if err != nil {
		t.Fatalf("%+v: %v; %q", change, err, lines)
	}
	t.Log(lines)
}

// mustBeHeld checks that the locks of hold are held and can be extended.
func mustBeHeld(t *testing.T, c *Cluster, n int) {
	t.Helper()
	for i := range n {
		key, token := fmt.Sprint("lock-", i), fmt.Sprint("token-", i)
		if out := decideOn(t, c, lockSwap(key, "rival")); out.Err != nil || out.Applied {
			t.Fatalf("acquire of a held lock: %+v", out)
		}
		extend := Swap{Key: []byte(key), Token: []byte(token), HasToken: true, Mine: Leaf{Effect: Expire, TTL: 30_000}}
		if out := decideOn(t, c, extend); out.Err != nil || !out.Applied {
			t.Fatalf("extend: %+v", out)
		}
	}
}

func wantSize(t *testing.T, c *Cluster, want int) {
	t.Helper()
	await(t, fmt.Sprint(want, " members"), func() bool {
		q, err := c.DB(0)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := q.Size()
		return n == want
	})
}

func TestMastersJoinOneByOneAndLocksStayHeld(t *testing.T) {
	servers := startServers(t, 5)
	c, other := quorumOf(t, 3, servers)
	hold(t, c, 20)
	for n := 4; n <= 5; n++ {
		mustChange(t, c, SetChange{Add: servers[n-1].addr})
		awaitVoters(t, c, "123456789"[:n], "")
		awaitVoters(t, other, "123456789"[:n], "")
		wantSize(t, other, n)
		wantHeld(t, servers[n-1], 20)
		mustBeHeld(t, other, 20)
		mustCycle(t, c)
	}
	late := openCluster(t, servers[4], servers[2], servers[0], servers[1], servers[3])
	awaitVoters(t, late, "12345", "")
	mustBeHeld(t, late, 20)
}

func TestMastersLeaveOneByOneAndLocksStayHeld(t *testing.T) {
	servers := startServers(t, 5)
	c, other := quorumOf(t, 5, servers)
	hold(t, c, 20)
	for _, i := range []int{0, 1} { // a lock of the other three only
		servers[i].must("DEL lock-0")
	}
	mustChange(t, c, SetChange{Remove: servers[4].addr})
	awaitVoters(t, other, "1234", "no member")
	wantSize(t, other, 4)
	mustBeHeld(t, other, 20)
	mustChange(t, other, SetChange{Remove: servers[1].addr})
	awaitVoters(t, c, "134", "no member")
	wantSize(t, c, 3)
	mustBeHeld(t, c, 20)
	if _, err := c.Change(context.Background(), SetChange{Remove: servers[2].addr}); err == nil || !strings.Contains(err.Error(), "replace it, or add others first") {
		t.Errorf("a quorum of three lost one: %v", err)
	}
	awaitVoters(t, openCluster(t, servers[3], servers[2], servers[0]), "123", "")
}

func TestAMasterThatCanNotBeReachedIsNotRemovedFromAnOddNumber(t *testing.T) {
	servers := startServers(t, 5)
	c, _ := quorumOf(t, 5, servers)
	servers[4].kill() // or only this proxy can not reach it
	awaitVoters(t, c, "1234", "")
	_, err := c.Change(context.Background(), SetChange{Remove: servers[4].addr})
	if err == nil || !strings.Contains(err.Error(), "can not be told that its votes end") {
		t.Errorf("got %v", err)
	}
	wantSize(t, c, 5)
	mustCycle(t, c)
}

func TestDeadMasterIsReplaced(t *testing.T) {
	servers := startServers(t, 4)
	c, other := quorumOf(t, 3, servers)
	hold(t, c, 20)
	servers[1].must("DEL lock-0") // a lock of the master that dies and one more
	servers[2].kill()
	awaitVoters(t, c, "12", "")
	mustChange(t, c, SetChange{Remove: servers[2].addr, Add: servers[3].addr})
	awaitVoters(t, c, "124", "")
	awaitVoters(t, other, "124", "")
	mustBeHeld(t, other, 20)
	servers[2].start() // empty
	mustCycle(t, c)
	awaitVoters(t, c, "124", "no member")
	awaitVoters(t, other, "124", "no member")
}

func TestProxyThatDoesNotKnowANewMemberGoesOnWithTheOthers(t *testing.T) {
	servers := startServers(t, 4)
	c, _ := quorumOf(t, 3, servers)
	stale := openCluster(t, servers[:3]...)
	awaitVoters(t, stale, "123", "")
	mustChange(t, c, SetChange{Add: servers[3].addr})
	wantSize(t, stale, 4)
	awaitVoters(t, stale, "123", "")
	mustCycle(t, stale)
	servers[0].kill()
	awaitVoters(t, stale, "", "") // it sees two records of three needed
	if out := decideOn(t, stale, lockSwap("k", "t")); out.Err == nil || !strings.Contains(out.Err.Error(), reasonUnknownMember) {
		t.Errorf("acquire without a quorum: %+v", out)
	}
	awaitVoters(t, c, "234", "")
	mustCycle(t, c)
}

func TestEveryDatabaseChanges(t *testing.T) {
	servers := startServers(t, 4)
	first := openCluster(t, servers[:3]...)
	awaitVoters(t, first, "123", "")
	for _, n := range []int{3, 7} {
		q, err := first.DB(n)
		if err != nil {
			t.Fatal(err)
		}
		await(t, "a quorum in every database", q.Ready)
	}
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	lines, err := c.Change(context.Background(), SetChange{Add: servers[3].addr})
	if err != nil || len(lines) != 3 || !strings.HasPrefix(lines[2], "db 7: ") {
		t.Errorf("%v %q", err, lines)
	}
	if _, err := c.Change(context.Background(), SetChange{Add: servers[3].addr}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same again: %v", err)
	}
	q, err := c.DB(5) // is opened with the members only
	if err != nil {
		t.Fatal(err)
	}
	await(t, "a quorum of 4 in a new database", func() bool { n, _ := q.Size(); return q.Ready() && n == 4 })
}

func TestChangesThatCanNotBeMadeAreRefused(t *testing.T) {
	servers := startServers(t, 5)
	c, _ := quorumOf(t, 3, servers)
	servers[3].must("SET somebody here")
	for _, tt := range []struct {
		change SetChange
		want   string
	}{
		{SetChange{Add: "10.0.0.1:1"}, "is not among the --masters of this proxy"},
		{SetChange{Add: servers[0].addr}, "already"},
		{SetChange{Add: servers[3].addr}, "holds 1 keys"},
		{SetChange{Remove: servers[4].addr}, "already"},
		{SetChange{Remove: "10.0.0.1:1", Add: servers[4].addr}, "is no member: the members are"},
	} {
		if lines, err := c.Change(context.Background(), tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v %q, want %q", tt.change, err, lines, tt.want)
		}
	}
	servers[2].kill()
	awaitVoters(t, c, "12", "")
	if _, err := c.Change(context.Background(), SetChange{Add: servers[4].addr}); err == nil || !strings.Contains(err.Error(), "does not vote, and a change of the set needs all others") {
		t.Errorf("with a master down: %v", err)
	}
	wantSize(t, c, 3)
}

func TestOneChangeAtATime(t *testing.T) {
	servers := startServers(t, 5)
	c, other := quorumOf(t, 3, servers)
	unlock, err := other.lockSet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Change(context.Background(), SetChange{Add: servers[3].addr}); err != ErrChanging {
		t.Errorf("got %v, want %v", err, ErrChanging)
	}
	unlock()
	mustChange(t, c, SetChange{Add: servers[3].addr})
}

// threeAndOne is three masters of a quorum and a fourth that is empty.
func threeAndOne() []view {
	return append(healthy(), view{name: "m4", open: true, id: lifeOf(3, 1), steadyAt: 10})
}

var fourMasters = electorate{name: "redlock", size: 4, opTimeout: 50}

// proposed is the change of set that the views would lead to.
func proposed(t *testing.T, views []view, add string, leaves int) *record {
	t.Helper()
	a := fourMasters.convene(views, nil)
	next, err := a.set.changed(add, leaves, a.seats.names)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestAChangeThatOneMasterHasIsCarriedOnByEveryProxy(t *testing.T) {
	views := threeAndOne()
	e := fourMasters
	e.proposal = proposed(t, views, "m4", nobody)
	a := e.convene(views, nil)
	if got := numbers(4, func(i int) bool { return a.writes[i] != nil }); got != "123" {
		t.Fatalf("writes to %q, want those that stay", got)
	}
	views[1].raw = a.writes[1] // and the one that began it dies
	a = fourMasters.convene(views, nil)
	if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "" {
		t.Errorf("%q vote between two sets", got)
	}
	a = obey(t, fourMasters, views, a)
	if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "123" || len(a.seats.masters) != 4 || !a.lost[3] {
		t.Errorf("%q vote, seats %+v, lost %v", got, a.seats, a.lost)
	}
	restored(fourMasters, views, 3)
	a = obey(t, fourMasters, views, fourMasters.convene(views, nil))
	if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "1234" {
		t.Errorf("%q vote at last: %+v", got, a.standings)
	}
}

func TestAWithdrawalThatMetAChangeIsKept(t *testing.T) {
	views := threeAndOne()
	next := proposed(t, views, "m4", nobody)
	views[0].raw = next.at(0)
	for i := 1; i < 3; i++ {
		views[i].raw = recordOf(i, 1, 1, 0) // master 3 was withdrawn meanwhile
	}
	a := obey(t, fourMasters, views, fourMasters.convene(views, nil))
	if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "12" || !a.lost[2] {
		t.Errorf("%q vote: %+v", got, a.standings)
	}
}

func TestOfTwoChangesTheOneWithAMajorityCounts(t *testing.T) {
	views := threeAndOne()
	one, two := proposed(t, views, "m4", 0), proposed(t, views, "m4", 2)
	one.Change, two.Change = "z", "a"
	views[1].raw = one.at(1)
	views[0].raw = two.at(0)
	a := fourMasters.convene(views, nil)
	if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 || a.writes[i] != nil }); got != "" {
		t.Errorf("%q vote or are written to while two changes are under way", got)
	}
	views[1].raw = two.at(1) // as if it had taken the other one first
	views[2].raw = one.at(2)
	a = obey(t, fourMasters, views, fourMasters.convene(views, nil))
	if a.set.Change != "a" || a.seats.masters[2] != 3 {
		t.Errorf("set %+v, seats %+v", a.set, a.seats)
	}
}

func TestASetHasNoVotesUntilAMajorityOfTheOldOneHasIt(t *testing.T) {
	t.Run("two changes, with a quorum of the new set each", func(t *testing.T) {
		views := append(threeAndOne()[:3], view{name: "m4", open: true, id: lifeOf(3, 1), keys: 5, lastSeen: 1, steadyAt: 10, steppedAt: 5})
		for i := range views {
			views[i].raw = recordOf(i, 1, 1, 1, 1)
		}
		one, two := proposed(t, views, "", 3), proposed(t, views, "", 0)
		for i := range 2 {
			views[i].raw, views[i+2].raw = one.at(i), two.at(i+1)
		}
		for _, pair := range [][2]int{{0, 1}, {2, 3}} { // this proxy reaches no others
			part := slices.Clone(views)
			for k := range part {
				part[k].open = k == pair[0] || k == pair[1]
				part[k].reason = "refused"
			}
			a := fourMasters.convene(part, nil)
			if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "" {
				t.Errorf("%q vote", got)
			}
		}
	})
	t.Run("one of the old set and the one that joins, when all it may have forgotten has expired", func(t *testing.T) {
		views := threeAndOne()
		next := proposed(t, views, "m4", 2)
		views[0].open, views[0].reason = false, "refused"
		views[1].raw = next.at(1)
		views[2].open, views[2].reason = false, "refused"
		restored(fourMasters, views, 3)
		a := obey(t, fourMasters, views, fourMasters.convene(views, nil))
		if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "" {
			t.Errorf("%q vote: master 1 and 3 may still vote in the old set", got)
		}
	})
	t.Run("a majority that has it no longer is remembered", func(t *testing.T) {
		views := threeAndOne()
		next := proposed(t, views, "m4", 2)
		views[0].raw, views[1].raw = next.at(0), next.at(1)
		restored(fourMasters, views, 3)
		a := obey(t, fourMasters, views, fourMasters.convene(views, nil))
		views[3].restored = ""
		views[0].open, views[0].reason = false, "refused"
		a = fourMasters.convene(views, nil)
		if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "24" {
			t.Errorf("%q vote: %+v", got, a.standings)
		}
	})
}

func TestAProxyDoesNotGoBackToASetThatIsOver(t *testing.T) {
	views := threeAndOne()
	next := proposed(t, views, "m4", 2)
	views[0].raw, views[1].raw = next.at(0), next.at(1)
	e := fourMasters
	a := obey(t, e, views, e.convene(views, nil))
	e.seen, e.last = true, a.set
	views[0].id, views[0].raw = lifeOf(0, 2), nil // m1 lost all and got its locks back …
	obey(t, e, views, e.convene(views, nil))
	restored(e, views, 0)
	for _, k := range []int{1, 3} { // … and only m3 is there, which was replaced
		views[k].open, views[k].reason = false, "refused"
	}
	for range 2 {
		a = obey(t, e, views, e.convene(views, nil))
		if got := numbers(4, func(i int) bool { return a.standings[i].serial > 0 }); got != "" {
			t.Errorf("%q vote, and m2 and m4 may: seats %+v", got, a.seats)
		}
		e.last = a.set
	}
}

func TestALosingChangeIsNotTakenForTheOneBefore(t *testing.T) {
	views := threeAndOne()
	one, two := proposed(t, views, "m4", 2), proposed(t, views, "m4", 0) // m4 in the place of m3, of m1
	views[0].raw, views[1].raw, views[2].raw = one.at(0), one.at(1), two.at(2)
	views[2].durable, views[2].id = true, lifeOf(2, 2)
	restored(fourMasters, views, 3)
	obey(t, fourMasters, views, fourMasters.convene(views, nil))
	views[3].restored = ""
	e := electorate{name: "redlock", size: 5, opTimeout: 50}
	views = append(views, view{name: "m5", open: true, id: lifeOf(4, 1), steadyAt: 10})
	a := e.convene(views, nil)
	next, err := a.set.changed("m5", nobody, a.seats.names)
	if err != nil {
		t.Fatal(err)
	}
	views[0].raw = next.at(0)
	a = obey(t, e, views, e.convene(views, nil))
	if a.seats.masters[2] != 3 || a.standings[2].serial != 0 {
		t.Errorf("m3, which was replaced, sits in place of m4 or votes: seats %+v, standing %+v", a.seats, a.standings[2])
	}
}

func TestAMasterThatMissedTwoChangesIsRefilled(t *testing.T) {
	views := threeAndOne()
	first := proposed(t, views, "m4", nobody)
	for i := range 3 {
		views[i].raw = first.at(i)
	}
	restored(fourMasters, views, 3)
	obey(t, fourMasters, views, fourMasters.convene(views, nil))
	old := views[0].raw
	for range 2 { // one leaves and comes back
		a := fourMasters.convene(views, nil)
		next, err := a.set.changed("m4", 3, a.seats.names)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 3; i++ {
			views[i].raw = next.at(i)
		}
	}
	views[0].raw = old
	a := fourMasters.convene(views, nil)
	if a.standings[0].serial != 0 || !a.lost[0] || !strings.Contains(a.standings[0].reason, "away while the set") {
		t.Errorf("standing %+v", a.standings[0])
	}
}

func TestOperationsInFlightSurviveAChange(t *testing.T) {
	servers := startServers(t, 4)
	c, other := quorumOf(t, 3, servers)
	stop, failed := make(chan struct{}), make(chan int)
	for _, cl := range []*Cluster{c, other} {
		go func() {
			n, errs := 0, 0
			for {
				select {
				case <-stop:
					t.Logf("%d acquires", n)
					failed <- errs
					return
				default:
				}
				n++
				out := decideOn(t, cl, lockSwap(fmt.Sprintf("key-%p-%d", cl, n), "token"))
				if out.Err != nil {
					errs++
					t.Log(out.Err)
				}
			}
		}()
	}
	time.Sleep(50 * time.Millisecond) // some load
	mustChange(t, c, SetChange{Add: servers[3].addr})
	mustChange(t, other, SetChange{Remove: servers[0].addr})
	close(stop)
	if n := <-failed + <-failed; n > 0 {
		t.Errorf("%d acquires failed", n)
	}
}
