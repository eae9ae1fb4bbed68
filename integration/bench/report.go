package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// report is everything that was measured.
type report struct {
	CPUs     int       `json:"cpus"`
	Go       string    `json:"go"`
	Rounds   int       `json:"rounds"`
	Seconds  float64   `json:"seconds"`
	Took     string    `json:"took"`
	Sections []section `json:"sections"`
	Goals    []goal    `json:"goals"`
}

// section is what one part has measured.
type section struct {
	Part    string             `json:"part"`
	Results []result           `json:"results,omitempty"`
	Numbers map[string]float64 `json:"numbers,omitempty"`

	title  string
	tables []table
	notes  []string
	goals  []goal
}

// table is a Markdown table; the first column is text, the others are numbers.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// goal is a number that is wanted.
type goal struct {
	What     string  `json:"goal"`
	Limit    float64 `json:"limit"`
	AtLeast  bool    `json:"at_least"` // otherwise at most
	Measured float64 `json:"measured"`
	Met      bool    `json:"met"`
}

func atLeast(what string, limit, measured float64) goal {
	return goal{what, limit, true, measured, measured >= limit}
}

func atMost(what string, limit, measured float64) goal {
	return goal{what, limit, false, measured, measured <= limit}
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) writeMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%d CPUs, %s, %d rounds of %.1f s: medians, in brackets the least and the most. %s in all.\n\n", r.CPUs, r.Go, r.Rounds, r.Seconds, r.Took)
	for _, s := range r.Sections {
		fmt.Fprintf(w, "### %s\n\n", s.title)
		for _, t := range s.tables {
			t.write(w)
		}
		for _, n := range append(s.notes, failures(s.Results)...) {
			fmt.Fprintf(w, "%s\n\n", n)
		}
	}
	if len(r.Goals) > 0 {
		goalTable(r.Goals).write(w)
	}
}

func (t table) write(w io.Writer) {
	if t.title != "" {
		fmt.Fprintf(w, "**%s**\n\n", t.title)
	}
	fmt.Fprintf(w, "| %s |\n|---|%s\n", strings.Join(t.head, " | "), strings.Repeat("---:|", len(t.head)-1))
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(w)
}

func goalTable(goals []goal) table {
	t := table{title: "Goals", head: []string{"goal", "wanted", "measured", "met"}}
	for _, g := range goals {
		sign, met := "≤", "no"
		if g.AtLeast {
			sign = "≥"
		}
		if g.Met {
			met = "yes"
		}
		t.rows = append(t.rows, []string{g.What, fmt.Sprintf("%s %.4g", sign, g.Limit), fmt.Sprintf("%.3g", g.Measured), met})
	}
	return t
}

// failures says which contestants had cycles that failed.
func failures(results []result) (notes []string) {
	for i := range results {
		if n, first := results[i].failed(); n > 0 {
			notes = append(notes, fmt.Sprintf("%s, %d masters, %d callers: %d cycles FAILED, the first with %q",
				results[i].Contestant, results[i].Masters, results[i].Callers, n, first))
		}
	}
	return notes
}

// column is a number of a result, as text.
type column struct {
	head string
	cell func(*result) string
}

// columns of most tables.
var timesAndCPU = []column{
	{"cycles/s", func(r *result) string {
		s := r.of(cyclesOf)
		return fmt.Sprintf("%.0f (%.0f–%.0f)", s.median, s.least, s.most)
	}},
	{"p50 µs", func(r *result) string { return fmt.Sprintf("%.0f", r.median(p50Of)) }},
	{"p99 µs", func(r *result) string { return fmt.Sprintf("%.0f", r.median(p99Of)) }},
	{"CPU µs/cycle: proxy", func(r *result) string { return orNone("%.1f", r.median(proxyOf)) }},
	{"masters", func(r *result) string { return fmt.Sprintf("%.1f", r.median(masterOf)) }},
	{"client", func(r *result) string { return fmt.Sprintf("%.1f", r.median(clientOf)) }},
}

// orNone is a number, or a dash for one that there is not.
func orNone(format string, n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf(format, n)
}

// tableOf is a table of results.
func tableOf(title string, results []result, columns ...column) table {
	t := table{title: title, head: []string{""}}
	for _, c := range columns {
		t.head = append(t.head, c.head)
	}
	for i := range results {
		row := []string{results[i].Contestant}
		for _, c := range columns {
			row = append(row, c.cell(&results[i]))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
