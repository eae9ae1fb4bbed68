package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The scenarios, in the order of the table. README.md says what they are.
var scenarios = []string{
	"acquire-free", "acquire-held", "release-own", "release-other", "release-after-lapse",
	"extend-own", "extend-after-lapse", "query-owned", "lapse-hands-over",
	"contention", "master-killed", "proxy-restarted",
}

// The results that a scenario may have.
const (
	pass        = "pass"
	differs     = "differs"
	unsupported = "unsupported"
	notRun      = "not-run"
)

// result is one line of a suite.
type result struct {
	Language string `json:"language"`
	Library  string `json:"library"`
	Version  string `json:"version"`
	Scenario string `json:"scenario"`
	Result   string `json:"result"`
	Detail   string `json:"detail"`
}

func (r *result) check() error {
	switch {
	case r.Library == "":
		return errors.New("no library")
	case !slices.Contains(scenarios, r.Scenario):
		return fmt.Errorf("unknown scenario %q", r.Scenario)
	case !slices.Contains([]string{pass, differs, unsupported, notRun}, r.Result):
		return fmt.Errorf("unknown result %q", r.Result)
	case r.Result != pass && r.Detail == "":
		return fmt.Errorf("%s without a detail", r.Result)
	}
	return nil
}

// row is what stands in one row of the table.
type row struct{ language, library, version string }

func (r *result) row() row { return row{r.Language, r.Library, r.Version} }

func (r row) String() string {
	return strings.TrimSpace(r.language + ": " + r.library + " " + r.version)
}

func (r *result) String() string {
	return fmt.Sprintf("%v, %s: %s %s", r.row(), r.Scenario, r.Result, r.Detail)
}

// sortResults sorts by row, then by scenario in the table's order.
func sortResults(results []result) {
	slices.SortStableFunc(results, func(a, b result) int {
		return cmp.Or(
			cmp.Compare(a.Language, b.Language),
			cmp.Compare(a.Library, b.Library),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(slices.Index(scenarios, a.Scenario), slices.Index(scenarios, b.Scenario)),
		)
	})
}

// incomplete names what a suite left out or said twice.
func incomplete(results []result) (problems []string) {
	seen := map[row]map[string]int{}
	var order []row
	for i := range results {
		r := results[i].row()
		if seen[r] == nil {
			seen[r] = map[string]int{}
			order = append(order, r)
		}
		seen[r][results[i].Scenario]++
	}
	if len(order) == 0 {
		return []string{"a suite printed no results"}
	}
	for _, r := range order {
		for _, s := range scenarios {
			if n := seen[r][s]; n != 1 {
				problems = append(problems, fmt.Sprintf("%v: %d results for %s, want 1", r, n, s))
			}
		}
	}
	return problems
}

// merge replaces the results of the languages that were run.
func merge(old, fresh []result) []result {
	ran := languages(fresh)
	merged := slices.DeleteFunc(slices.Clone(old), func(r result) bool { return ran[r.Language] })
	merged = append(merged, fresh...)
	sortResults(merged)
	return merged
}

func languages(results []result) map[string]bool {
	set := map[string]bool{}
	for _, r := range results {
		set[r.Language] = true
	}
	return set
}

// compare says where fresh results are not the committed ones, for the
// languages that were run. The details of what passes do not matter.
func compare(committed, fresh []result) (problems []string) {
	type cell struct {
		row
		scenario string
	}
	was := map[cell]string{}
	ran := languages(fresh)
	for _, r := range committed {
		if ran[r.Language] {
			was[cell{r.row(), r.Scenario}] = r.Result
		}
	}
	for i := range fresh {
		r := &fresh[i]
		c := cell{r.row(), r.Scenario}
		if old, ok := was[c]; !ok {
			problems = append(problems, fmt.Sprintf("%v: not in results.json, run with -update", r))
		} else if old != r.Result {
			problems = append(problems, fmt.Sprintf("%v; results.json says %s", r, old))
		}
		delete(was, c)
	}
	for c := range was {
		problems = append(problems, fmt.Sprintf("%v, %s: in results.json, but not seen any more; run with -update", c.row, c.scenario))
	}
	slices.Sort(problems)
	return problems
}

// expectation is a result other than pass that is accepted.
type expectation struct {
	Language string `json:"language"`
	Library  string `json:"library"`  // "*": any
	Scenario string `json:"scenario"` // "*": any
	Result   string `json:"result"`
	Reason   string `json:"reason"`
}

func (e *expectation) covers(r *result) bool {
	return e.Language == r.Language && e.Result == r.Result &&
		(e.Library == "*" || e.Library == r.Library) &&
		(e.Scenario == "*" || e.Scenario == r.Scenario)
}

// unexpected lists the results that are neither a pass nor accepted.
func unexpected(results []result, expected []expectation) (problems []string) {
	for i := range results {
		r := &results[i]
		if r.Result == pass || r.lacks() {
			continue
		}
		if !slices.ContainsFunc(expected, func(e expectation) bool { return e.covers(r) }) {
			problems = append(problems, fmt.Sprintf("%v (not in expected.json)", r))
		}
	}
	return problems
}

// lacks reports whether the library has no such operation.
func (r *result) lacks() bool {
	return r.Result == unsupported && strings.HasPrefix(r.Detail, "library:")
}

func readResults(file string) (results []result, err error) {
	err = readJSON(file, &results)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return results, err
}

func readExpected(file string) (expected []expectation, err error) {
	if err := readJSON(file, &expected); err != nil {
		return nil, err
	}
	for _, e := range expected {
		if e.Reason == "" || e.Result == "" || e.Language == "" {
			return nil, fmt.Errorf("%s: an entry without language, result or reason", file)
		}
	}
	return expected, nil
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// writeResults writes one line per result: a change is easy to read in a diff.
func writeResults(file string, results []result) error {
	var b strings.Builder
	b.WriteString("[")
	for i, r := range results {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(line)
	}
	b.WriteString("\n]\n")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
