package main

import (
	"fmt"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

const stoppedCallers = 64

// runStopped measures what the loss of one master costs: it is stopped, without
// a word, right before the measurement.
func (b *bench) runStopped() (s section, err error) {
	wanted := map[int]float64{3: 0.8, 5: 0.9}
	for _, n := range b.masters {
		f, err := b.startField(n)
		if err != nil {
			return s, err
		}
		defer f.close()
		results, err := b.contest("all up, or one stopped", n, stoppedCallers, f.withAndWithout(viaProxy))
		if err == nil && !b.quick { // it takes a quarter of a minute, so once is enough
			once := *b
			once.rounds = 1
			var more []result
			more, err = once.contest("all up, or one stopped", n, stoppedCallers, f.withAndWithout(viaMaster))
			results = append(results, more...)
		}
		if err != nil {
			return s, err
		}
		f.close()
		s.Results = append(s.Results, results...)
		s.tables = append(s.tables, stoppedTable(n, results))
		for i := range results {
			if r := &results[i]; wanted[n] > 0 && rivals[r.Contestant] != "" {
				left := find(results, r.Contestant+oneStopped, n, stoppedCallers).median(cyclesOf) / r.median(cyclesOf)
				s.goals = append(s.goals, atLeast(fmt.Sprintf("N=%d: cycles/s with one master stopped ÷ all up, %s", n, r.Contestant), wanted[n], left))
			}
		}
	}
	return s, nil
}

const oneStopped = ", one master stopped"

// withAndWithout are contestants with all masters and with one that is stopped.
func (f *field) withAndWithout(all []contestant) (entries []entry) {
	for _, c := range all {
		entries = append(entries, entry{c.name, func(length time.Duration) (sample, error) {
			return f.sample(c, distinctKeys, stoppedCallers, length, nil)
		}}, entry{c.name + oneStopped, func(length time.Duration) (sample, error) {
			victim := f.masters[len(f.masters)-1]
			s, err := f.sample(c, distinctKeys, stoppedCallers, length, victim.Freeze)
			victim.Thaw()
			if err == nil {
				err = f.waitAllVote()
			}
			return s, err
		}})
	}
	return entries
}

// waitAllVote waits until all masters vote at the proxy.
func (f *field) waitAllVote() error {
	return harness.Eventually(30*time.Second, func() error {
		info, err := harness.Do(f.proxy.Addr, "INFO", "redlock")
		if err == nil && !strings.Contains(info, fmt.Sprintf(`voting:%d\r`, len(f.masters))) {
			err = fmt.Errorf("not all masters vote: %s", info)
		}
		return err
	})
}

func stoppedTable(n int, results []result) table {
	left := column{"÷ all up", func(r *result) string {
		up := find(results, strings.TrimSuffix(r.Contestant, oneStopped), n, stoppedCallers)
		return fmt.Sprintf("%.3f", r.median(cyclesOf)/up.median(cyclesOf))
	}}
	return tableOf(fmt.Sprintf("%d masters, callers: %d", n, stoppedCallers), results, append(timesAndCPU[:4:4], left)...)
}
