package redlock

import (
	"maps"
	"time"
)

// MasterReport is the present state of one master, for operators.
type MasterReport struct {
	Name   string // its address
	State  string // "votes", "connecting", "down" or "does not vote"
	Reason string // why it does not vote; empty if it does
	Votes  bool
	Server string // name and version, empty until it was first seen
	RunID  string
	// Latency is a moving average of the time from sending a batch to its last
	// answer.
	Latency time.Duration
	Queue   int // calls waiting to be sent
	// Failures counts calls that brought no vote, by reason: Redis's error code
	// (READONLY, OOM, …), or one of "down", "queue full", "not sent",
	// "connection lost", "not counted".
	Failures map[string]uint64
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
	r := MasterReport{Name: u.addr.Address, Queue: u.worker.queue.length()}
	u.mu.Lock()
	defer u.mu.Unlock()
	r.Latency, r.Failures = u.took, maps.Clone(u.count)
	if u.facts != nil {
		r.Server, r.RunID = u.facts.version, u.facts.id.run
	}
	switch {
	case u.wire != nil:
		r.State = "does not vote"
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
