package proxy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redlock-proxy/redlock"
)

// The families about masters that may have lost locks, and about their clocks.
var (
	descRestoring    = desc("master_restoring", "1 while the master is given locks that it may have lost, or their end is awaited; 0 if not.", "master")
	descVotesAgain   = desc("master_votes_again_timestamp_seconds", "When the master votes again at the latest, because every lock that it may have forgotten has ended, in seconds since 1970. Only there while that is awaited.", "master")
	descRestorations = desc("restorations_total", "Admissions of masters that may have lost locks, as recorded by this proxy, by what allowed them to vote again.", "way")
	descResyncFailed = desc("resync_failures_total", "Resynchronisations of a master that had to be begun again.")
	descResyncKeys   = desc("resync_keys_total", "Keys that were given to masters by resynchronisations.")
	descRepairs      = desc("repairs_total", "Copies of locks that were sent to masters which lacked them when the lock was extended.")
	descOwed         = desc("master_owed", "Copies that may be left of failed acquires and of releases on a master that is away, to be looked at when it is back.", "master")
	descNotOwed      = desc("owed_dropped_total", "Such copies that were too many to be remembered; their TTL removes them.")
	descClockOffset  = desc("master_clock_offset_seconds", "How far the master's wall clock is ahead of this machine's.", "master")
	descClockSteps   = desc("master_clock_steps_total", "How often the master's clock moved by more than --clock-drift allows.", "master")
	descClockStep    = desc("master_clock_last_step_seconds", "By how much it did so the last time; 0 if never.", "master")
)

// restartDescs are all of these.
var restartDescs = [...]*prometheus.Desc{
	descRestoring, descVotesAgain, descRestorations, descResyncFailed, descResyncKeys, descRepairs,
	descOwed, descNotOwed, descClockOffset, descClockSteps, descClockStep,
}

// collectRestorations shows what came of masters that restarted or were away.
func collectRestorations(ch chan<- prometheus.Metric, locks Locks) {
	n := locks.Restorations()
	for way := redlock.Persisted; way < redlock.Ways; way++ {
		counter(ch, descRestorations, n.Admitted[way], way.String())
	}
	counter(ch, descResyncFailed, n.Failed)
	counter(ch, descResyncKeys, n.Keys)
	stats := readStats(locks)
	counter(ch, descRepairs, stats.repairs)
	counter(ch, descNotOwed, stats.notOwed)
}

func collectRestart(ch chan<- prometheus.Metric, name string, r *redlock.MasterReport) {
	gauge(ch, descRestoring, oneIf(r.Restoring), name)
	if r.VotesIn > 0 {
		gauge(ch, descVotesAgain, float64(time.Now().Add(r.VotesIn).UnixMilli())/1000, name)
	}
	gauge(ch, descOwed, float64(r.Owed), name)
	if r.Clock.Known {
		gauge(ch, descClockOffset, r.Clock.Offset.Seconds(), name)
	}
	counter(ch, descClockSteps, r.Clock.Steps, name)
	gauge(ch, descClockStep, r.Clock.LastStep.Seconds(), name)
}
