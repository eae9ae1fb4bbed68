//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
)

// report prints a Markdown table.
func (s *stage) report(w io.Writer, all []result) {
	fmt.Fprintf(w, "%d CPUs, %s, %d rounds of %v, medians; victims: %d connections, a cycle every %v each\n\n",
		runtime.NumCPU(), runtime.Version(), s.rounds, s.seconds, victimConns, victimPause)
	fmt.Fprintln(w, "| attack | baseline | victims' p50 / p99, ms | in the baseline | p99 ÷ baseline | proxy grew by, MB | in the baseline |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|")
	for _, r := range all {
		fmt.Fprintf(w, "| %s, %.0f %s/s | %s | %s | %s | %s | %.0f | %s |\n", r.attack.name, r.attack.rate, r.attack.unit, r.attack.baseline.name,
			times(r.with), times(r.baseline), ratio(r.with, r.baseline), median(r.with, memory), orDash(r.baseline, memory))
	}
}

func p50(s sample) float64    { return s.victims.P50 / 1000 }
func p99(s sample) float64    { return s.victims.P99 / 1000 }
func memory(s sample) float64 { return float64(s.memory) / (1 << 20) }

func times(all []sample) string {
	if len(all) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f / %.2f", median(all, p50), median(all, p99))
}

func ratio(with, baseline []sample) string {
	if len(baseline) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", median(with, p99)/median(baseline, p99))
}

func orDash(all []sample, of func(sample) float64) string {
	if len(all) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", median(all, of))
}

// median is that of one number of the samples.
func median(all []sample, of func(sample) float64) float64 {
	var numbers []float64
	for _, s := range all {
		numbers = append(numbers, of(s))
	}
	slices.Sort(numbers)
	return (numbers[(len(numbers)-1)/2] + numbers[len(numbers)/2]) / 2
}
