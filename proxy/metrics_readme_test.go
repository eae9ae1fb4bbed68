package proxy

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// inAllStates are masters of which everything is shown that can be.
func inAllStates() *testLocks {
	return newTestLocks(
		redlock.MasterReport{Name: "10.0.0.1:7001", State: "votes", Votes: true, Owed: 2, Clock: redlock.MasterClock{Known: true, Offset: 1500 * time.Millisecond}},
		redlock.MasterReport{Name: "10.0.0.2:7002", State: "down", Reason: "connection refused"},
		redlock.MasterReport{Name: "10.0.0.3:7003", State: "does not vote", Reason: "it restarted", Restoring: true, VotesIn: time.Minute,
			Clock: redlock.MasterClock{Steps: 1, LastStep: -time.Hour}, Failures: map[string]uint64{"not counted": 7}},
	)
}

// readmeSection is the README from a heading to the next one of its level.
func readmeSection(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("the README has no %q", heading)
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	return section
}

// quoted is what a text has between backquotes.
func quoted(text string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// firstColumn is what tables have between backquotes in their first column.
func firstColumn(text string) map[string]bool {
	all := map[string]bool{}
	for _, cell := range regexp.MustCompile("(?m)^\\| `.*?\\|").FindAllString(text, -1) {
		for _, name := range quoted(cell) {
			all[name] = true
		}
	}
	return all
}

// compare reports what is in only one of two lists.
func compare(t *testing.T, what string, shown, told map[string]bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if !told[name] {
			t.Errorf("the README lacks the %s %s", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if !shown[name] {
			t.Errorf("the README tells of the %s %s, which there is not", what, name)
		}
	}
}

// testCertificates are such as are shown to clients.
type testCertificates struct{ Reloadable }

func (testCertificates) ShownTo() string    { return "clients" }
func (testCertificates) Expires() time.Time { return time.Unix(2e9, 0) }

// TestTheReadmeHasEveryMetric, with its labels, and no other.
func TestTheReadmeHasEveryMetric(t *testing.T) {
	m := NewMetrics("1.2.3", inAllStates())
	m.watch([]Reloadable{testCertificates{}})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, f := range families {
		name, own := strings.CutPrefix(f.GetName(), "redlock_proxy_")
		if !own {
			continue
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		shown[name] = true
	}
	table, _, _ := strings.Cut(readmeSection(t, "## What can be seen"), "info redlock")
	compare(t, "metric", shown, firstColumn(table))
}

// TestTheReadmeHasEveryFieldOfInfoRedlock and no other.
func TestTheReadmeHasEveryFieldOfInfoRedlock(t *testing.T) {
	s, c := newTestServer(t, func(cfg *Config) { cfg.Locks = inAllStates() })
	for kind := range s.cfg.Metrics.operations {
		s.cfg.Metrics.operations[kind][resultNoQuorum].Add(1)
	}
	text, _ := say(t, s, c, "INFO redlock")
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+):(.*)\r$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`^op_.*`).ReplaceAllString(m[1], "op_KIND")
		name = regexp.MustCompile(`^master\d+$`).ReplaceAllString(name, "masterN")
		shown[name] = true
		if name == "masterN" {
			for _, field := range regexp.MustCompile(`(?:^|,)(\w+)=`).FindAllStringSubmatch(m[2], -1) {
				shown["masterN: "+field[1]] = true
			}
		}
	}
	_, table, _ := strings.Cut(readmeSection(t, "## What can be seen"), "info redlock")
	told := firstColumn(table)
	_, row, _ := strings.Cut(table, "| `masterN` |")
	row, _, _ = strings.Cut(row, "\n")
	for _, name := range quoted(row) {
		told["masterN: "+name] = true
	}
	compare(t, "field", shown, told)
}
