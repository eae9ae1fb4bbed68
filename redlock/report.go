package redlock

import (
	"fmt"
	"maps"
	"time"
)

// MasterReport is the present state of one master, for operators.
type MasterReport struct {
	Name   string // its address
	State  string // "votes", "connecting", "down", "does not vote" or "no member"
	Reason string // why it does not vote; empty if it does
	Votes  bool
	Server string // name and version, empty until it was first seen
	RunID  string
	// Latency is a moving average of the time from sending a batch to its last
	// answer.
	Latency time.Duration
	Queue   int // calls waiting to be sent
	// Owed is how many copies are to be looked at when the master is back: what
	// acquires that failed, and releases, may have left there.
	Owed int
	// Restoring is true while the master is given locks that it may have lost, or
	// their end is awaited. VotesIn is then the longest that it takes until it
	// votes; 0 if that is not known.
	Restoring bool
	VotesIn   time.Duration
	Clock     MasterClock
	// Failures counts calls that brought no vote, by reason: Redis's error code
	// (READONLY, OOM, …), or one of "down", "queue full", "not sent",
	// "connection lost", "not counted".
	Failures map[string]uint64
}

// MasterClock is what is known of a master's wall clock.
type MasterClock struct {
	Known    bool
	Offset   time.Duration // how far it is ahead of ours, as exactly as round trips tell
	Steps    uint64        // how often it moved by more than drift allows
	LastStep time.Duration // by how much the last time
}

// aheadOf is how far a master's clock is ahead of ours, which shows wall at the
// Clock time now.
func (c *clockOffset) aheadOf(wall time.Time, now time.Duration) time.Duration {
	return (c.lo+c.hi)/2 + now - time.Duration(wall.UnixNano())
}

// complete adds what the other databases have to say to the reports of database
// 0.
func (c *Cluster) complete(reports []MasterReport) []MasterReport {
	for n, d := range c.inUse() {
		if d == nil {
			continue
		}
		owed := d.quorum.Owed()
		for i := range reports {
			reports[i].Owed += owed[i]
			if n > 0 {
				other := d.masters[i].report()
				reports[i].add(n, &other)
			}
		}
	}
	return reports
}

// add takes in how the master is in another database.
func (r *MasterReport) add(db int, other *MasterReport) {
	r.Queue += other.Queue
	for label, n := range other.Failures {
		r.Failures[label] += n
	}
	r.Clock.Steps = max(r.Clock.Steps, other.Clock.Steps)
	r.Restoring = r.Restoring || other.Restoring
	r.VotesIn = max(r.VotesIn, other.VotesIn)
	if r.Votes && !other.Votes && r.Reason == "" {
		r.Reason = fmt.Sprintf("not in database %d: %s", db, other.Reason)
	}
}

// tallyOfFailures counts by label. There are few labels: see label.
type tallyOfFailures map[string]uint64

func (t tallyOfFailures) add(label string, n uint64) { t[label] += n }

// label is the reason of an answer without a vote as a metric has it.
func label(a *Answer) string {
	switch a.Status {
	case Unsent:
		return "not sent"
	case Lost:
		return "connection lost"
	case Answered:
		return "not counted"
	}
	switch a.Reason {
	case "LOADING", "READONLY", "OOM", "NOREPLICAS", "MISCONF", "MASTERDOWN", "CLUSTERDOWN",
		"MOVED", "ASK", "NOAUTH", "NOPERM", "BUSY", "NOSCRIPT":
		return a.Reason
	}
	return "error"
}

func (u *upstream) fail(label string, n uint64) {
	u.mu.Lock()
	u.count.add(label, n)
	u.mu.Unlock()
}

func (u *upstream) report() MasterReport {
	r := MasterReport{Name: u.addr.Address, Queue: u.worker.queue.length(), Restoring: u.restoring.Load()}
	if at := time.Duration(u.votesAt.Load()); r.Restoring && at > 0 {
		r.VotesIn = max(at-u.clock.Now(), time.Millisecond)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	r.Clock.Steps, r.Clock.LastStep = u.link.steps, u.link.lastStep
	r.Latency, r.Failures = u.took, maps.Clone(u.count)
	if u.facts != nil {
		r.Server, r.RunID = u.facts.version, u.facts.id.run
	}
	switch {
	case u.wire != nil:
		r.Clock.Known, r.Clock.Offset = true, u.link.clock.aheadOf(time.Now(), u.clock.Now())
		r.State = "does not vote"
		if u.in != nil && !u.member {
			r.State = "no member"
		}
		if r.Votes, r.Reason = u.link.votes(); r.Votes {
			r.State = "votes"
		}
	case u.down == "":
		r.State, r.Reason = "connecting", "connecting"
	default:
		r.State, r.Reason = "down", u.down
	}
	return r
}
