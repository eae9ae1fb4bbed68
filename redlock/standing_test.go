package redlock

import (
	"context"
	"strings"
	"testing"
	"time"
)

// stepClock makes a cluster believe that a master's clock has jumped.
func stepClock(c *Cluster, place int, by time.Duration) {
	u := c.databases[0].steward.ups[place]
	u.mu.Lock()
	defer u.mu.Unlock()
	u.link.clock.lo -= by
	u.link.clock.hi -= by
}

func TestProxyWhoseOwnClockSteppedKeepsOutItselfOnly(t *testing.T) {
	servers := startServers(t, 3)
	sleeper, other := openCluster(t, servers...), openCluster(t, servers...)
	awaitVoters(t, sleeper, "123", "")
	awaitVoters(t, other, "123", "")
	for i := range servers {
		stepClock(sleeper, i, time.Hour)
	}
	awaitVoters(t, sleeper, "", "clock stepped by")
	mustCycle(t, other)
	awaitVoters(t, other, "123", "")
	if _, err := sleeper.Admit(context.Background(), "all"); err != nil {
		t.Error(err)
	}
	awaitVoters(t, sleeper, "123", "")
	awaitVoters(t, other, "123", "")
}

func TestFirstRecordIsOnlyWrittenToAnEmptyDatabase(t *testing.T) {
	servers := startServers(t, 3)
	servers[2].must("SET somebody here")
	c := openCluster(t, servers...)
	awaitVoters(t, c, "", "holds 1 keys")
	s := c.databases[0].steward
	view := s.ups[2].view()
	if err := s.ups[2].write(&view, []byte("{}"), true); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v, want not empty", err)
	}
	if got := servers[2].must("EXISTS " + recordKey("redlock")); got != ":0" {
		t.Errorf("a record was written: %s", got)
	}
}

func TestRecordThatAnotherProxyChangedIsNotOverwritten(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	u := c.databases[0].steward.ups[0]
	view := u.view()
	view.raw = []byte("what it was")
	if err := u.write(&view, []byte("lost update"), false); err != nil {
		t.Fatal(err)
	}
	mustCycle(t, c)
	awaitVoters(t, c, "123", "")
}

func TestMasterThatIsEmptyWhenItsRecordIsReplacedDoesNotVote(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	u := c.databases[0].steward.ups[0]
	view := u.view()
	servers[0].must("FLUSHALL")
	if err := u.write(&view, []byte("{}"), false); err != nil {
		t.Fatal(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if votes, _ := u.link.votes(); votes && u.link.record == nil {
		t.Error("it votes without a record")
	}
}

func TestFirstStartLooksForRecordsAgain(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	s := c.databases[0].steward
	servers[0].must("FLUSHALL")
	s.mu.Lock()
	s.shape.seen = false
	for _, u := range s.ups { // as if it had connected before another proxy's first start
		u.mu.Lock()
		u.raw = nil
		u.mu.Unlock()
	}
	s.mu.Unlock()
	s.settle(nil)
	if _, votes, _ := s.ups[0].stands(); votes {
		t.Error("an emptied master was admitted by a second first start")
	}
}

func TestClockStepInvalidatesWhatWasRestoredBefore(t *testing.T) {
	s := &steward{voids: newVoids(1), restoring: []*restoration{{generation: 1, noticed: 5, done: "resynchronised"}}}
	for steppedAt, want := range map[time.Duration]string{4: "resynchronised", 6: ""} {
		views := []view{{generation: 1, steppedAt: steppedAt}}
		if s.tell(views); views[0].restored != want {
			t.Errorf("step at %d: %q, want %q", steppedAt, views[0].restored, want)
		}
	}
}

func TestWhatWasReadDoesNotCountIfAMasterThatWasReadHasLostItsVoteSince(t *testing.T) {
	for _, tt := range []struct {
		lost   int // the master
		readAt time.Duration
		want   string
	}{{1, 10, ""}, {1, 30, "resynchronised"}, {2, 10, "resynchronised"}} {
		s := &steward{voids: newVoids(3), restoring: []*restoration{{generation: 1, done: "resynchronised", readAt: tt.readAt}}}
		s.restoring[0].sources.set(1)
		s.voids.void(tt.lost)
		s.voids.decided(s.voids.count(), 20)
		views := []view{{generation: 1}}
		if s.tell(views); views[0].restored != tt.want {
			t.Errorf("master %d lost its vote at 20, read at %d: %q, want %q", tt.lost, tt.readAt, views[0].restored, tt.want)
		}
	}
}

func TestClockStepInvalidatesAnAdmissionThatIsBeingWritten(t *testing.T) {
	l := newLink(0)
	generation := l.opened(identity{}, 0, 0, suffix{ok: true})
	second := int64(time.Second / time.Microsecond)
	l.judge(generation, 1000, 2000, suffix{timeMicros: 100 * second, ok: true}) // steps at 2000
	l.outdate(0, 3)                                                             // decided before
	l.admit(generation, 3, "", 0)
	if votes, _ := l.votes(); votes {
		t.Error("it votes by an admission from before the step")
	}
	l.outdate(2000, 4)
	l.admit(generation, 4, "", 0)
	if votes, reason := l.votes(); !votes {
		t.Error(reason)
	}
}

func TestLargestOpTimeoutIsRecorded(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	var masters []MasterAddr
	for _, s := range servers {
		masters = append(masters, MasterAddr{Address: s.addr})
	}
	slow, err := Open(ClusterConfig{Masters: masters, OpTimeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	client := servers[0].client()
	await(t, "the record has 3000 ms", func() bool {
		text, _ := do(t, client, "GET", recordKey("redlock")).ToString()
		return strings.Contains(text, `"op_timeout_ms":3000`)
	})
	awaitVoters(t, c, "123", "")
	awaitVoters(t, slow, "123", "")
}

func TestProxyWithALongerListOrAnotherOrderFollowsTheRecords(t *testing.T) {
	servers := startServers(t, 5)
	c := openCluster(t, servers[:3]...)
	awaitVoters(t, c, "123", "")
	longer := openCluster(t, servers...)
	awaitVoters(t, longer, "123", "it is no member of the quorum: REDLOCK MASTERS ADD")
	mustCycle(t, longer)
	other := openCluster(t, servers[1], servers[0], servers[2])
	awaitVoters(t, other, "123", "")
	mustCycle(t, other)
}
