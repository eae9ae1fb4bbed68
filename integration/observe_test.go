package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// What operators may take over is in observe: alerts with their tests, and a
// dashboard.
const (
	alertsFile     = "observe/alerts.yml"
	alertTestsFile = "observe/alerts_test.yml"
	dashboardFile  = "observe/dashboard.json"
)

// tool is the path of a program of Debian's package prometheus, which only CI
// has to have.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name)
	}
	return path
}

// promtool runs promtool, which has to find no fault.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAlertRules(t *testing.T) {
	promtool(t, "", "check", "rules", alertsFile)
	promtool(t, "", "test", "rules", alertTestsFile)
}

// alertNames are the alerts in their order.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, alertsFile), -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatal("no alerts")
	}
	return names
}

// TestEveryAlertHasATestAndARunbook: a line in the README that its annotation
// names.
func TestEveryAlertHasATestAndARunbook(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../README.md"), "\n## Alerts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| [^|]{20,} \\|$").FindAllStringSubmatch(section, -1) {
		told = append(told, m[1])
	}
	names := alertNames(t)
	if !slices.Equal(names, told) {
		t.Errorf("alerts are %q, the README has lines for %q", names, told)
	}
	rules, tests := read(t, alertsFile), read(t, alertTestsFile)
	for _, name := range names {
		if !strings.Contains(rules, fmt.Sprintf("runbook: \"README.md#alerts %s\"\n", name)) {
			t.Errorf("the annotation of %s does not name its line in the README", name)
		}
		if n := strings.Count(tests, "alertname: "+name+"\n"); n != 3 { // quiet before, raised, quiet over proxies that are well
			t.Errorf("%s is tested %d times", name, n)
		}
	}
}

// expressions are those of a dashboard's panels, with values for its variables,
// by the title of the panel.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title       string
			Description string
			Type        string
			Targets     []struct{ Expr string }
		}
		Annotations struct{ List []struct{ Expr string } }
	}
	d := json.NewDecoder(strings.NewReader(read(t, dashboardFile)))
	if err := d.Decode(&dashboard); err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", "20s")
	all := map[string][]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], values.Replace(target.Expr))
		}
		if p.Type != "row" && (p.Description == "" || len(all[p.Title]) != len(p.Targets) || len(p.Targets) == 0) {
			t.Errorf("the panel %q has no description or shows nothing, or its title is there twice", p.Title)
		}
	}
	return all
}

// metricNames are the metrics of this proxy, or of its process, that a text
// speaks of.
func metricNames(text string) []string {
	return regexp.MustCompile(`\b(?:redlock_proxy|process)_\w+`).FindAllString(text, -1)
}

// TestPrometheusScrapesTheProxy with the alerts loaded: the metrics keep to the
// conventions, and there are data for all that alerts and panels ask for.
func TestPrometheusScrapesTheProxy(t *testing.T) {
	prometheus := tool(t, "prometheus")
	m := startMasters(t, 3)
	p := startProxy(t, m)
	server := startPrometheus(t, prometheus, p.Metrics)
	c := dial(t, p.Addr)
	keepBusy(t, p.Addr)
	on(t, c, "SET", "long-lived", "token", "NX", "PX", "60000")
	for i := range 2 { // a majority is lost: calls fail, and the others wait
		if err := m[i].Restart(); err != nil {
			t.Fatal(err)
		}
	}
	wanted := expressions(t)
	eventually(t, 40*time.Second, func() error { return server.hasDataFor(wanted) })
	eventually(t, 20*time.Second, func() error { return server.hasAlert("RedlockNoQuorum") })
	if err := server.rulesAreHealthy(len(alertNames(t))); err != nil {
		t.Error(err)
	}

	code, scrape, err := p.Get("/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatalf("/metrics: %d, %v", code, err)
	}
	promtool(t, scrape, "check", "metrics")
	shown := map[string]bool{}
	for _, name := range metricNames(scrape) {
		shown[name] = true
	}
	asked := map[string]bool{}
	for _, name := range metricNames(read(t, alertsFile) + read(t, dashboardFile)) {
		asked[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !shown[name] {
			t.Errorf("an alert or a panel asks for %s, which the proxy does not export", name)
		}
	}
}

// keepBusy uses the proxy in all the ways that metrics tell of, until the test
// ends.
func keepBusy(t *testing.T, addr string) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			key := fmt.Sprint("busy:", i%10)
			for _, args := range [][]string{{"SET", key, "t", "NX", "PX", "900"}, {"SET", key, "u", "NX", "PX", "900"}, {"DELEX", key, "IFEQ", "t"}, {"GET", key}, {"PUBLISH", "channel", "x"}, {"LLEN", "l"}} {
				harness.Do(addr, args...) // whatever comes of it
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
}

// prometheusServer is a Prometheus that runs.
type prometheusServer struct{ url string }

// startPrometheus starts a Prometheus that scrapes an address every second,
// until the test ends.
func startPrometheus(t *testing.T, program, target string) prometheusServer {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: redlock, static_configs: [{targets: [%q]}]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	process, err := harness.Start(program, []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", harness.LocalAddr(port), "--log.level", "warn"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("prometheus:\n%s", tail(process.Log(), 20))
		}
	})
	s := prometheusServer{"http://" + harness.LocalAddr(port)}
	eventually(t, 20*time.Second, func() error { return s.get("/api/v1/status/buildinfo", nil, &struct{}{}) })
	return s
}

// get asks the server's interface for programs and reads its data.
func (s prometheusServer) get(path string, form url.Values, data any) error {
	client := http.Client{Timeout: 10 * time.Second}
	reply, err := client.Get(s.url + path + "?" + form.Encode())
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// hasDataFor asks for every expression.
func (s prometheusServer) hasDataFor(expressions map[string][]string) error {
	for panel, all := range expressions {
		for _, e := range all {
			var data struct{ Result []json.RawMessage }
			if err := s.get("/api/v1/query", url.Values{"query": {e}}, &data); err != nil {
				return fmt.Errorf("panel %q: %s: %w", panel, e, err)
			}
			if len(data.Result) == 0 {
				return fmt.Errorf("panel %q: no data for %s", panel, e)
			}
		}
	}
	return nil
}

// hasAlert reports, as an error, if an alert is neither pending nor firing.
func (s prometheusServer) hasAlert(name string) error {
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	if err := s.get("/api/v1/alerts", nil, &data); err != nil {
		return err
	}
	for _, a := range data.Alerts {
		if a.Labels["alertname"] == name {
			return nil
		}
	}
	return fmt.Errorf("%s is not raised: %+v", name, data.Alerts)
}

// rulesAreHealthy reports, as an error, if so many rules were not evaluated
// without fault.
func (s prometheusServer) rulesAreHealthy(want int) error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := s.get("/api/v1/rules", nil, &data); err != nil {
		return err
	}
	healthy := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				return fmt.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
			healthy++
		}
	}
	if healthy != want {
		return fmt.Errorf("%d rules are healthy, there are %d", healthy, want)
	}
	return nil
}
