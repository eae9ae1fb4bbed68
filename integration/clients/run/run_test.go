package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadmeShowsTheCommittedResults(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "integration", "clients", "results.json")
	if _, err := os.Stat(file); err != nil {
		t.Logf("no results are committed: %v", err)
		return
	}
	results, err := readResults(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range append(checkReadme(root, results), incomplete(results)...) {
		t.Error(problem)
	}
	expected, err := readExpected(filepath.Join(root, "integration", "clients", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range unexpected(results, expected) {
		t.Error(problem)
	}
}

// results of one library: all pass but those given.
func resultsOf(language, library string, other ...result) (all []result) {
	for _, s := range scenarios {
		r := result{Language: language, Library: library, Version: "1.0", Scenario: s, Result: pass}
		for _, o := range other {
			if o.Scenario == s {
				r.Result, r.Detail = o.Result, o.Detail
			}
		}
		all = append(all, r)
	}
	return all
}

func TestTableHasARowPerLibraryAndNotesBelow(t *testing.T) {
	results := append(resultsOf("ruby", "redlock",
		result{Scenario: "extend-own", Result: unsupported, Detail: "library: it has no extend"},
		result{Scenario: "contention", Result: differs, Detail: "proxy: a; plain: b"}),
		resultsOf("java", "Redisson", result{Scenario: "acquire-free", Result: unsupported, Detail: "proxy: ERR not served"})...)
	got := table(results)
	for _, want := range []string{
		"| java | Redisson 1.0 | refused (1) | ✓ |",
		"| ruby | redlock 1.0 | ✓ | ✓ | ✓ | ✓ | ✓ | – | ✓ | ✓ | ✓ | differs (2) | ✓ | ✓ |",
		"\n1. ERR not served\n2. a; plain: b\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestLinesThatAreNoResultsAreNamed(t *testing.T) {
	for _, line := range []string{
		`hello`, `{}`, `{"language":"go","library":"x","version":"1","scenario":"nonsense","result":"pass","detail":""}`,
		`{"language":"go","library":"x","version":"1","scenario":"contention","result":"fine","detail":""}`,
		`{"language":"go","library":"x","version":"1","scenario":"contention","result":"differs","detail":""}`,
		`{"language":"php","library":"x","version":"1","scenario":"contention","result":"pass","detail":""}`,
		`{"language":"go","library":"x","version":"1","scenario":"contention","result":"pass","detail":"","more":1}`,
	} {
		if results, err := (suite{language: "go"}).parse(strings.NewReader(line + "\n")); err == nil {
			t.Errorf("%s: %v", line, results)
		}
	}
	good := `{"language":"go","library":"x","version":"1","scenario":"contention","result":"pass","detail":""}`
	results, err := suite{language: "go"}.parse(strings.NewReader(good + "\n\nnoise\n" + good + "\n"))
	if err == nil || len(results) != 2 {
		t.Errorf("%d results, %v", len(results), err)
	}
}

func TestWhatASuiteLeftOutIsNamed(t *testing.T) {
	all := resultsOf("go", "x")
	if problems := incomplete(all); problems != nil {
		t.Error(problems)
	}
	if problems := incomplete(all[1:]); len(problems) != 1 || !strings.Contains(problems[0], "0 results for acquire-free") {
		t.Error(problems)
	}
	if problems := incomplete(append(all, all[3])); len(problems) != 1 || !strings.Contains(problems[0], "2 results for release-other") {
		t.Error(problems)
	}
	if incomplete(nil) == nil {
		t.Error("no results at all are complete")
	}
}

func TestComparisonFindsWhatChangedInTheLanguagesThatRan(t *testing.T) {
	committed := append(resultsOf("go", "x"), resultsOf("ruby", "y")...)
	changed := resultsOf("go", "x", result{Scenario: "contention", Result: differs, Detail: "proxy: a; plain: b"})
	if problems := compare(committed, resultsOf("go", "x")); problems != nil {
		t.Error(problems)
	}
	if problems := compare(committed, changed); len(problems) != 1 || !strings.Contains(problems[0], "results.json says pass") {
		t.Error(problems)
	}
	if problems := compare(committed, resultsOf("go", "new")); len(problems) != 2*len(scenarios) {
		t.Errorf("%d problems", len(problems))
	}
	if merged := merge(committed, changed); len(merged) != len(committed) || compare(merged, changed) != nil {
		t.Error("merging does not take over what changed")
	}
}

func TestOnlyWhatIsExpectedMayDiffer(t *testing.T) {
	results := resultsOf("go", "x",
		result{Scenario: "contention", Result: differs, Detail: "proxy: a; plain: b"},
		result{Scenario: "extend-own", Result: unsupported, Detail: "library: none"},
		result{Scenario: "query-owned", Result: unsupported, Detail: "proxy: ERR not served"})
	if problems := unexpected(results, nil); len(problems) != 2 {
		t.Error(problems)
	}
	expected := []expectation{
		{Language: "go", Library: "*", Scenario: "contention", Result: differs, Reason: "because"},
		{Language: "go", Library: "x", Scenario: "*", Result: unsupported, Reason: "because"},
	}
	if problems := unexpected(results, expected); problems != nil {
		t.Error(problems)
	}
}

func TestSectionIsCutAtTheMarks(t *testing.T) {
	before, between, after, err := section("a\n" + beginMark + "\ntable\n" + endMark + "\nb\n")
	if err != nil || before != "a\n"+beginMark || between != "\ntable\n" || after != endMark+"\nb\n" {
		t.Errorf("%q, %q, %q, %v", before, between, after, err)
	}
	for _, text := range []string{"", beginMark, endMark + beginMark} {
		if _, _, _, err := section(text); err == nil {
			t.Errorf("%q has a section", text)
		}
	}
}
