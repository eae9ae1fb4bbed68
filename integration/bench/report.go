package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// result is all samples of one contestant with one number of masters and
// callers.
type result struct {
	Contestant string   `json:"contestant"`
	Masters    int      `json:"masters"`
	Callers    int      `json:"callers"`
	Samples    []sample `json:"samples"`

	where where
}

func (r *result) add(c contestant, masters, callers int, s sample) {
	r.Contestant, r.where, r.Masters, r.Callers = c.name, c.where, masters, callers
	r.Samples = append(r.Samples, s)
}

// median is the median of each number of the samples.
func (r *result) median() sample {
	of := func(number func(sample) float64) float64 {
		all := make([]float64, len(r.Samples))
		for i, s := range r.Samples {
			all[i] = number(s)
		}
		slices.Sort(all)
		return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	}
	return sample{
		Cycles:    of(func(s sample) float64 { return s.Cycles }),
		P50:       of(func(s sample) float64 { return s.P50 }),
		P99:       of(func(s sample) float64 { return s.P99 }),
		ProxyCPU:  of(func(s sample) float64 { return s.ProxyCPU }),
		MasterCPU: of(func(s sample) float64 { return s.MasterCPU }),
		Mallocs:   of(func(s sample) float64 { return s.Mallocs }),
	}
}

func writeJSON(w io.Writer, results []result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(results)
}

// rival is the name of the redsync contestant that a client through the proxy
// is compared with: the same driver.
var rivals = map[string]string{
	"rueidis → redlock-proxy":  "redsync + rueidis → masters",
	"go-redis → redlock-proxy": "redsync + go-redis → masters",
}

// writeTable prints Markdown, a table for each number of masters and callers.
func writeTable(w io.Writer, results []result) {
	for start := 0; start < len(results); {
		end := start
		for end < len(results) && results[end].Masters == results[start].Masters && results[end].Callers == results[start].Callers {
			end++
		}
		writeGroup(w, results[start:end])
		start = end
	}
}

func writeGroup(w io.Writer, group []result) {
	fmt.Fprintf(w, "**%d masters, %d callers**\n\n", group[0].Masters, group[0].Callers)
	fmt.Fprintln(w, "| | cycles/s | p50 µs | p99 µs | proxy CPU µs/cycle | masters' CPU µs/cycle | proxy allocations/operation | against redsync |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---:|")
	for i := range group {
		r := &group[i]
		m := r.median()
		proxyCPU, mallocs := "–", "–"
		if r.where == throughProxy {
			proxyCPU, mallocs = fmt.Sprintf("%.1f", m.ProxyCPU), fmt.Sprintf("%.1f", m.Mallocs)
		}
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %.0f | %s | %.1f | %s | %s |\n",
			r.Contestant, m.Cycles, m.P50, m.P99, proxyCPU, m.MasterCPU, mallocs, ratio(r, group))
	}
	fmt.Fprintln(w)
	for i := range group {
		if n, first := group[i].failed(); n > 0 {
			fmt.Fprintf(w, "%s: %d cycles FAILED, the first with %q\n\n", group[i].Contestant, n, first)
		}
	}
}

// failed counts the failed cycles of all samples; there should be none.
func (r *result) failed() (n int, first string) {
	for _, s := range r.Samples {
		n += s.Failed
		if first == "" {
			first = s.Failure
		}
	}
	return n, first
}

// ratio is how many times the cycles of redsync with the same driver a client
// through the proxy makes.
func ratio(r *result, group []result) string {
	rival, ok := rivals[r.Contestant]
	if !ok {
		return "–"
	}
	for i := range group {
		if group[i].Contestant == rival {
			return fmt.Sprintf("%.2f×", r.median().Cycles/group[i].median().Cycles)
		}
	}
	return "–"
}
