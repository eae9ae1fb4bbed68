package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redlock-proxy/integration/internal/harness"
)

// notRun are the blocks of the documents, by the start of their first line, that
// are not run by TestTheReadmesCommands, and why.
var notRun = map[string]string{
	"./integration/run.sh":              "runs this test",
	"for port in":                       "run by TestTheReadmesThreeMasters",
	"NOQUORUM 1 of 3":                   "no command: TestLossIsShown",
	"docker build":                      "run by TestImage in integration/deploy",
	"cd integration && go run":          "run by integration/run.sh, with -quick",
	"docker compose":                    "pulls images; the file is read by TestCompose in integration/deploy",
	"kubectl":                           "needs a cluster; TestManifestsFitTogether in integration/deploy",
	"systemctl":                         "needs the unit installed; TestSystemdUnit in integration/deploy",
	"redlock-proxy --listen off":        "needs certificates; tls_test.go makes its own",
	"user ops on":                       "no command: a file that TestUsersOfTheReadme reads",
	"$ redis-cli -p 6380 redlock locks": "needs locks that are on some masters only; the proxy's own tests have them",
	"appendonly yes":                    "no command: run by TestTheReadmesPersistence",
	"sequenceDiagram":                   "a picture",
	"client := redis.NewClient":         "Go: clients/go",
	"const redlock = new Redlock":       "JavaScript: clients/node",
	"r = redis.Redis":                   "Python: clients/python",
	"RELEASE = <<~LUA":                  "Ruby: clients/ruby",
}

// documents are what operators read.
var documents = []string{"../README.md", "deploy/README.md"}

// block is a piece of code in a document.
type block struct {
	section string // under "## …"
	lines   []string
}

// blocksOf returns the code in a document: what is fenced, and what is indented
// by four or more, three more inside a list.
func blocksOf(t *testing.T, path string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section, fenced, open := "", false, false
	indented := regexp.MustCompile(`^( {4}| {7})\S`)
	for line := range strings.SplitSeq(string(text), "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence:
			fenced = !fenced
			open = false
			continue
		case !fenced && strings.HasPrefix(line, "## "):
			section = line[3:]
		}
		if !fenced && !indented.MatchString(line) && (!open || !strings.HasPrefix(line, "      ")) {
			open = false
			continue
		}
		if !open {
			all = append(all, block{section: section})
			open = true
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, strings.TrimSpace(line))
	}
	return all
}

// script joins what a block has for the shell.
func (b block) script() string { return strings.Join(b.lines, "\n") }

// TestTheReadmesCommands runs every command of the documents, one section after
// the other, as a user would who has masters of those names. What is not run has
// to be in notRun.
func TestTheReadmesCommands(t *testing.T) {
	unused := map[string]bool{}
	for start := range notRun {
		unused[start] = true
	}
	for _, path := range documents {
		sections := map[string][]block{}
		var order []string
		for _, b := range blocksOf(t, path) {
			if start := skipped(b); start != "" {
				delete(unused, start)
				continue
			}
			if sections[b.section] == nil {
				order = append(order, b.section)
			}
			sections[b.section] = append(sections[b.section], b)
		}
		for _, section := range order {
			t.Run(path+"/"+section, func(t *testing.T) { playSection(t, sections[section]) })
		}
	}
	for start := range unused {
		t.Errorf("no document has a block that begins with %q any more", start)
	}
}

func skipped(b block) string {
	for start := range notRun {
		if strings.HasPrefix(b.lines[0], start) {
			return start
		}
	}
	return ""
}

// TestTheReadmesThreeMasters runs the block that starts masters by a loop, with
// other ports.
func TestTheReadmesThreeMasters(t *testing.T) {
	var lines []string
	for _, b := range blocksOf(t, documents[0]) {
		if strings.HasPrefix(b.lines[0], "for port in") {
			lines = b.lines
		}
	}
	if len(lines) == 0 {
		t.Fatal("the README has no such block")
	}
	script := strings.Join(lines[:len(lines)-1], "\n")
	start := lines[len(lines)-1]
	for _, port := range []string{"7001", "7002", "7003"} {
		free, err := harness.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		script = strings.ReplaceAll(script, port, fmt.Sprint(free))
		start = strings.ReplaceAll(start, port, fmt.Sprint(free))
		t.Cleanup(func() { harness.Do(harness.LocalAddr(free), "SHUTDOWN", "NOSAVE") })
	}
	cmd := exec.Command("bash", "-euc", script)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &scene{named: map[string]*harness.Redis{}}
	s.run(t, start, nil)
	s.redisCLI(t, []string{"set", "my-lock", "token", "NX", "PX", "30000"}, []string{"OK"})
}

// TestTheReadmesPersistence: a redis-server takes the configuration.
func TestTheReadmesPersistence(t *testing.T) {
	for _, b := range blocksOf(t, documents[1]) {
		if b.lines[0] != "appendonly yes" {
			continue
		}
		file := filepath.Join(t.TempDir(), "redis.conf")
		if err := os.WriteFile(file, []byte(b.script()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		port, err := harness.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		r, err := harness.Start("redis-server", []string{file, "--port", fmt.Sprint(port), "--dir", t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Kill)
		eventually(t, soon, func() error {
			_, err := harness.Do(harness.LocalAddr(port), "PING")
			return err
		})
		if got := do(t, harness.LocalAddr(port), "CONFIG", "GET", "appendfsync"); got != `["appendfsync" "always"]` {
			t.Errorf("CONFIG GET appendfsync: %s", got)
		}
		return
	}
	t.Fatal("there is no such block")
}
