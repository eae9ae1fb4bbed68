//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redlock-proxy/integration/torture/caller"
	"redlock-proxy/integration/torture/ledger"
)

// result is what came of a trial.
type result struct {
	options
	grants     int
	faults     map[string]int
	replies    map[string]map[string]int
	histories  caller.Histories
	violations []ledger.Violation
	notRun     string
	report     string // file, empty if there was nothing to write
}

func (t *trial) result() *result {
	r := &result{options: t.options, grants: t.ledger.Grants(), faults: t.director.Counts(), replies: t.crew.Replies(), histories: t.crew.Checked(), violations: t.ledger.Violations()}
	if t.noNamespaces != "" {
		r.notRun = "partitions: " + t.noNamespaces
	}
	return r
}

func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "seed %d, %v, %d masters, %d proxies, op-timeout %v", r.seed, r.length, r.masters, r.proxies, r.opTimeout)
	if r.anyLoss {
		fmt.Fprint(w, ", any number of masters loses its memory")
	}
	fmt.Fprintf(w, "\nfaults:")
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(w, "\n  %4d %s", r.faults[name], name)
	}
	if r.notRun != "" {
		fmt.Fprintf(w, "\n  not run: %s", r.notRun)
	}
	fmt.Fprintf(w, "\nreplies:")
	for _, command := range slices.Sorted(maps.Keys(r.replies)) {
		fmt.Fprintf(w, "\n  %-7s", command)
		for _, kind := range slices.Sorted(maps.Keys(r.replies[command])) {
			fmt.Fprintf(w, " %s=%d", kind, r.replies[command][kind])
		}
	}
	h := r.histories
	fmt.Fprintf(w, "\n%d locks granted or extended, histories of single locks: %d linearizable, %d not, %d undecided\n", r.grants, h.Fine, h.Impossible, h.Undecided)
	for _, v := range r.violations[:min(len(r.violations), 20)] {
		fmt.Fprintf(w, "VIOLATION at %.4f s, %s: %s\n", v.At.Seconds(), v.Key, v.What)
	}
	if r.report != "" {
		fmt.Fprintf(w, "report: %s\n", r.report)
	}
	if len(r.violations) == 0 {
		fmt.Fprintln(w, "no violation")
	}
}

// writeReport writes what led to the violations: faults, the history of each
// key concerned, and what the proxies logged.
func (t *trial) writeReport(r *result) error {
	if err := os.MkdirAll(t.reports, 0o700); err != nil {
		return err
	}
	r.report = filepath.Join(t.reports, fmt.Sprintf("%s-%d.txt", time.Now().Format("20060102-150405"), t.seed))
	f, err := os.Create(r.report)
	if err != nil {
		return err
	}
	defer f.Close()
	r.print(f)
	fmt.Fprintf(f, "\nfaults, in seconds since %s\n%s\n\n", t.ledger.Start().Format("15:04:05.000"), strings.Join(t.events, "\n"))
	written := make(map[string]bool)
	for _, v := range r.violations {
		if !written[v.Key] {
			t.ledger.WriteHistory(f, v.Key)
			for _, m := range t.stage.Masters {
				m.WriteExecuted(f, v.Key, t.ledger.Start())
			}
		}
		written[v.Key] = true
	}
	for _, p := range t.stage.Proxies {
		fmt.Fprintf(f, "\nlog of proxy %d\n%s", p.Number+1, p.Log())
	}
	return f.Close()
}
