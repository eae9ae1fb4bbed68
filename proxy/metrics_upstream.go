package proxy

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"redlock-proxy/redlock"
)

// The families about the masters and the quorum.
var (
	descVotes   = desc("master_votes", "1 if the master's answers are counted, 0 if not.", "master")
	descState   = desc("master_state", "1 for the state that the master is in, 0 for the others.", "master", "state")
	descQueue   = desc("master_queue_length", "Calls that wait to be sent to the master or for its answer.", "master")
	descLatency = desc("master_latency_seconds", "Recent time from sending a batch to the master to its answer.", "master")
	descFailed  = desc("master_failures_total", "Calls to the master that gave no vote, by reason.", "master", "reason")
	descReady   = desc("quorum_ready", "1 if enough masters vote for operations to be decided, 0 if not.")
	descSize    = desc("quorum_size", "Masters that an operation needs.")
	descUndo    = desc("undo_total", "Copies that failed attempts had created, by what became of them.", "result")
	descSplit   = desc("split_retries_total", "Rounds that were tried again because nobody had a majority.")
	descTooLate = desc("too_late_total", "Grants and extends that came too late to be handed to the client.")
	descReRead  = desc("read_retries_total", "Reads that were repeated because the answers did not decide.")
	descHerded  = desc("herded_total", "Acquires answered from the round of another client's acquire of the same key.")
	descLate    = desc("late_copies_total", "Copies that a master created after the deadline of their operation.")
	descRounds  = desc("rounds_total", "Attempts that were sent to the masters.")
)

// upstream shows the state of the masters, as it is at the scrape, and the
// counters of the engine.
type upstream struct{ locks Locks }

// Describe names the families.
func (u upstream) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{
		descVotes, descState, descQueue, descLatency, descFailed, descReady, descSize,
		descUndo, descSplit, descTooLate, descReRead, descLate, descHerded, descRounds,
	} {
		ch <- d
	}
	for _, d := range restartDescs {
		ch <- d
	}
}

// Collect asks for the present state.
func (u upstream) Collect(ch chan<- prometheus.Metric) {
	if u.locks == nil {
		return
	}
	seen := map[string]bool{} // a master that is listed twice would spoil the scrape
	for _, report := range u.locks.Report() {
		if name := label(report.Name); !seen[name] {
			seen[name] = true
			collectMaster(ch, &report)
			collectRestart(ch, name, &report)
		}
	}
	q, err := u.locks.DB(0)
	if err != nil {
		return
	}
	_, need := q.Size()
	gauge(ch, descSize, float64(need))
	gauge(ch, descReady, oneIf(q.Ready()))
	collectRounds(ch, u.locks)
	collectRestorations(ch, u.locks)
}

func collectMaster(ch chan<- prometheus.Metric, r *redlock.MasterReport) {
	name := label(r.Name)
	gauge(ch, descVotes, oneIf(r.Votes), name)
	collectState(ch, name, r.State)
	gauge(ch, descQueue, float64(r.Queue), name)
	gauge(ch, descLatency, r.Latency.Seconds(), name)
	for reason, n := range r.Failures {
		counter(ch, descFailed, n, name, label(reason))
	}
}

// masterStates are those of [redlock.MasterReport].
var masterStates = [...]string{"votes", "connecting", "down", "does not vote", "no member"}

// collectState shows every state that a master may be in, so that none of the
// series ends when it is in another one.
func collectState(ch chan<- prometheus.Metric, name, present string) {
	known := false
	for _, state := range masterStates {
		gauge(ch, descState, oneIf(state == present), name, state)
		known = known || state == present
	}
	if !known {
		gauge(ch, descState, 1, name, label(present))
	}
}

// engineStats is the sum of what the engine counted in every database in use.
type engineStats struct {
	rounds, splitRetries, readRetries, tooLate, lateCopies, herded uint64
	undone, undoCancelled, leftToTTL                               uint64
	repairs, notOwed                                               uint64
}

func readStats(locks Locks) engineStats {
	var sum engineStats
	for _, q := range locks.Quorums() {
		s := &q.Stats
		sum.rounds += s.Rounds.Load()
		sum.splitRetries += s.SplitRetries.Load()
		sum.readRetries += s.ReadRetries.Load()
		sum.tooLate += s.TooLate.Load()
		sum.lateCopies += s.LateCopies.Load()
		sum.herded += s.Herded.Load()
		sum.undone += s.Undone.Load()
		sum.undoCancelled += s.UndoCancelled.Load()
		sum.leftToTTL += s.LeftToTTL.Load()
		sum.repairs += s.Repairs.Load()
		sum.notOwed += s.NotOwed.Load()
	}
	return sum
}

func collectRounds(ch chan<- prometheus.Metric, locks Locks) {
	s := readStats(locks)
	counter(ch, descRounds, s.rounds)
	counter(ch, descSplit, s.splitRetries)
	counter(ch, descReRead, s.readRetries)
	counter(ch, descTooLate, s.tooLate)
	counter(ch, descLate, s.lateCopies)
	counter(ch, descHerded, s.herded)
	counter(ch, descUndo, s.undone, "undone")
	counter(ch, descUndo, s.undoCancelled, "cancelled")
	counter(ch, descUndo, s.leftToTTL, "left_to_ttl")
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// label makes a text from a master fit for a label, which must be UTF-8.
func label(s string) string { return strings.ToValidUTF8(s, "?") }
