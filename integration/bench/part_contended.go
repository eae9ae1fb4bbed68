package main

import (
	"fmt"
	"slices"
)

const (
	pollerCount = 1000
	hotCallers  = 64
)

// runPollers measures callers that all ask for one key, again and again, while
// it goes from hand to hand.
func (b *bench) runPollers() (s section, err error) {
	callers := pollerCount
	if b.quick {
		callers = 50
	}
	columns := []column{
		{"hand-overs/s", func(r *result) string { return fmt.Sprintf("%.1f", r.median(cyclesOf)) }},
		{"acquires sent/s", func(r *result) string { return fmt.Sprintf("%.0f", r.median(triesOf)) }},
		{"SETs/s at a master", func(r *result) string { return fmt.Sprintf("%.0f", r.median(atMasterOf)) }},
		{"÷ sent", func(r *result) string { return fmt.Sprintf("%.3f", r.median(shareOf)) }},
		{"CPU µs per acquire: proxy", perTry(proxyOf)},
		{"masters", perTry(masterOf)},
		{"client", perTry(clientOf)},
	}
	s, err = b.contended(onePolledKey, callers, columns)
	for i := range s.Results {
		if r := &s.Results[i]; rivals[r.Contestant] != "" {
			s.goals = append(s.goals, atMost(fmt.Sprintf("N=%d: SETs at a master ÷ those of pollers, %s", r.Masters, r.Contestant), 0.1, r.median(shareOf)))
		}
	}
	s.notes = append(s.notes, fmt.Sprintf("Every poller waits %v between two tries; who gets the lock keeps it for %v.", pollPause, pollHold))
	return s, err
}

func triesOf(s sample) float64    { return s.Tries }
func atMasterOf(s sample) float64 { return s.AtMaster }

// shareOf is how much of what pollers send arrives at a master.
func shareOf(s sample) float64 { return s.AtMaster / max(s.Tries, 1) }

// perTry shows a CPU time per acquire instead of per cycle.
func perTry(number func(sample) float64) func(*result) string {
	return func(r *result) string {
		return orNone("%.1f", r.median(func(s sample) float64 { return number(s) * s.Cycles / max(s.Tries, 1) }))
	}
}

// runHot measures callers that share a few keys.
func (b *bench) runHot() (section, error) {
	tries := column{"acquires/cycle", func(r *result) string {
		return fmt.Sprintf("%.2f", r.median(func(s sample) float64 { return s.Tries / max(s.Cycles, 1) }))
	}}
	s, err := b.contended(hotKeys, hotCallers, slices.Concat(timesAndCPU, []column{tries}))
	s.notes = append(s.notes, fmt.Sprintf("A caller whose key is taken tries again after %v; p50 and p99 are from its first try to its release.", hotPause))
	return s, err
}

// contended measures a load where callers are in each other's way.
func (b *bench) contended(what load, callers int, columns []column) (s section, err error) {
	for _, n := range b.masters {
		f, err := b.startField(n)
		if err != nil {
			return s, err
		}
		defer f.close()
		results, err := b.contest(what.name, n, callers, f.entries(what, callers, viaProxy, viaMaster, viaOne))
		if err != nil {
			return s, err
		}
		s.Results = append(s.Results, results...)
		s.tables = append(s.tables, tableOf(fmt.Sprintf("%d masters", n), results, columns...))
		f.close()
	}
	return s, nil
}
