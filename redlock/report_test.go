package redlock

import (
	"strings"
	"testing"
	"time"
)

// A step of a master's clock is in the report, with its size, and the offset as
// long as there is a connection.
func TestClockIsReported(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	for _, r := range c.Report() {
		if clock := r.Clock; !clock.Known || clock.Offset.Abs() > 100*time.Millisecond || clock.Steps != 0 {
			t.Errorf("at first: %+v", clock)
		}
	}
	stepClock(c, 1, time.Hour)
	mustCycle(t, c)
	await(t, "the step in the report", func() bool { return c.Report()[1].Clock.Steps == 1 })
	if step := c.Report()[1].Clock.LastStep; step.Abs() < time.Hour-time.Second || step.Abs() > time.Hour+time.Second {
		t.Errorf("the step is reported as %v", step)
	}
	awaitVoters(t, c, "123", "")
	if n := c.Restorations(); n.Admitted[Resynchronised] != 1 || n.Failed != 0 {
		t.Errorf("restorations: %+v", n)
	}
}

// What is wrong in another database than 0 is reported, too.
func TestOtherDatabasesAreReported(t *testing.T) {
	servers := startServers(t, 3)
	c := openCluster(t, servers...)
	awaitVoters(t, c, "123", "")
	if _, err := c.DB(3); err != nil {
		t.Fatal(err)
	}
	await(t, "votes in database 3", func() bool { return c.Quorums()[1].Ready() })
	for _, s := range servers[:2] { // and nobody else to ask
		client := s.client()
		do(t, client, "EVAL", "redis.call('SELECT', 3) return redis.call('FLUSHDB')", "0")
	}
	await(t, "the flushed database in the report", func() bool {
		r := c.Report()[0]
		return r.Votes && strings.HasPrefix(r.Reason, "not in database 3: its record is gone")
	})
}

func TestWhatIsOwedIsCounted(t *testing.T) {
	q := New(Config{Masters: []Master{down{}, down{}, down{}}, OpTimeout: time.Second, Clock: SystemClock()})
	for range 3 {
		q.owe(stray{master: 1, lost: true})
	}
	if owed := q.Owed(); owed[0] != 0 || owed[1] != 3 || owed[2] != 0 {
		t.Errorf("owed: %v, want 3 to the second", owed)
	}
	for range maxOwed {
		q.owe(stray{master: 1, lost: true})
	}
	if owed, dropped := q.Owed()[1], q.Stats.NotOwed.Load(); owed != maxOwed || dropped != 3 {
		t.Errorf("%d are owed and %d were dropped, want %d and 3", owed, dropped, maxOwed)
	}
}

// down is a master that is away.
type down struct{}

func (down) Name() string    { return "down" }
func (down) Send(*Call) bool { return false }
func (down) Down() string    { return "down" }
