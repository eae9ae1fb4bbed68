package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The README shows the table between these lines.
const (
	beginMark = "<!-- clients:begin -->"
	endMark   = "<!-- clients:end -->"
)

// table renders results as Markdown: a row per library, a column per scenario,
// and notes with the reasons below.
func table(results []result) string {
	results = slices.Clone(results)
	sortResults(results)
	var t tableWriter
	t.WriteString("| language | library | " + strings.Join(scenarios, " | ") + " |\n")
	t.WriteString("|---|---|" + strings.Repeat(":-:|", len(scenarios)) + "\n")
	for len(results) > 0 {
		r := results[0].row()
		n := 0
		for n < len(results) && results[n].row() == r {
			n++
		}
		t.row(r, results[:n])
		results = results[n:]
	}
	t.WriteString("\n✓ the same as with one Redis; – the library has no such operation.\n")
	for i, note := range t.notes {
		fmt.Fprintf(&t, "%s%d. %s\n", leading(i), i+1, note)
	}
	return t.String()
}

// leading separates the list of notes from what is above it.
func leading(i int) string {
	if i == 0 {
		return "\n"
	}
	return ""
}

type tableWriter struct {
	strings.Builder
	notes []string
}

func (t *tableWriter) row(r row, results []result) {
	fmt.Fprintf(t, "| %s | %s |", r.language, strings.TrimSpace(r.library+" "+r.version))
	for _, s := range scenarios {
		i := slices.IndexFunc(results, func(r result) bool { return r.Scenario == s })
		if i < 0 {
			t.WriteString(" |")
			continue
		}
		fmt.Fprintf(t, " %s |", t.cell(&results[i]))
	}
	t.WriteString("\n")
}

func (t *tableWriter) cell(r *result) string {
	word := map[string]string{differs: "differs", unsupported: "refused", notRun: "not run"}[r.Result]
	switch {
	case r.Result == pass:
		return "✓"
	case r.lacks():
		return "–"
	}
	return fmt.Sprintf("%s (%d)", word, t.note(r.Detail))
}

// note returns the number of the note with a text.
func (t *tableWriter) note(text string) int {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "proxy: "), "\n", " ")
	i := slices.Index(t.notes, text)
	if i < 0 {
		i = len(t.notes)
		t.notes = append(t.notes, text)
	}
	return i + 1
}

// update writes the committed results and the README's section.
func update(root string, results []result) error {
	if err := writeResults(filepath.Join(root, "integration", "clients", "results.json"), results); err != nil {
		return err
	}
	file := filepath.Join(root, "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, _, after, err := section(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+"\n"+table(results)+after), 0o644)
}

// checkReadme says whether the README shows the committed results.
func checkReadme(root string, results []result) []string {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return []string{err.Error()}
	}
	_, shown, _, err := section(string(text))
	switch {
	case err != nil:
		return []string{err.Error()}
	case strings.TrimSpace(shown) != strings.TrimSpace(table(results)):
		return []string{"the table in README.md is not that of integration/clients/results.json: run go run ./clients/run -update in integration"}
	}
	return nil
}

// section cuts a text at the marks, which stay in before and after.
func section(text string) (before, between, after string, err error) {
	i, j := strings.Index(text, beginMark), strings.Index(text, endMark)
	if i < 0 || j < i {
		return "", "", "", fmt.Errorf("README.md has no lines %s and %s", beginMark, endMark)
	}
	i += len(beginMark)
	return text[:i], text[i:j], text[j:], nil
}
