package integration

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// scene is where the commands of one section are run.
type scene struct {
	named map[string]*harness.Redis // by name in the document
	proxy *harness.Proxy
}

var masterName = regexp.MustCompile(`redis-\w+:6379`)

func playSection(t *testing.T, blocks []block) {
	s := &scene{named: map[string]*harness.Redis{}}
	text := ""
	for _, b := range blocks {
		text += b.script() + "\n"
	}
	if !isStart(text) { // a proxy is there already
		s.startProxies(t, text)
	}
	for _, b := range blocks {
		s.play(t, b.lines)
	}
}

// play runs the commands of a block. What follows one with a prompt is what it
// has to say.
func (s *scene) play(t *testing.T, lines []string) {
	t.Helper()
	for i := 0; i < len(lines); i++ {
		command, prompted := strings.CutPrefix(lines[i], "$ ")
		var want []string
		for prompted && i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") {
			i++
			want = append(want, lines[i])
		}
		s.run(t, command, want)
	}
}

// startProxies has a quorum of three, and then a proxy that is told of further
// masters, too: those that the text names.
func (s *scene) startProxies(t *testing.T, text string) {
	t.Helper()
	names := []string{"redis-1:6379", "redis-2:6379", "redis-3:6379"}
	s.start(t, []string{"--masters", strings.Join(names, ",")})
	for _, name := range masterName.FindAllString(text, -1) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 3 {
		s.start(t, []string{"--masters", strings.Join(names, ",")})
	}
}

// isStart says that a command starts a proxy.
func isStart(command string) bool {
	return strings.HasPrefix(command, "go run .") || strings.HasPrefix(command, "redlock-proxy")
}

func (s *scene) run(t *testing.T, command string, want []string) {
	t.Helper()
	t.Log(command)
	words := strings.Fields(command)
	switch {
	case strings.HasPrefix(command, "redis-cli -p 6380 "):
		s.redisCLI(t, words[3:], want)
	case strings.HasPrefix(command, "go run ."):
		s.start(t, words[3:])
	case words[0] == "redlock-proxy":
		s.start(t, words[1:])
	default:
		t.Errorf("nobody runs %q: let this test do it, or say in notRun why not", command)
	}
}

// start starts a proxy in the place of the one before.
func (s *scene) start(t *testing.T, args []string) {
	t.Helper()
	if s.proxy != nil {
		s.proxy.Kill()
	}
	var masters []string
	var flags []string
	for i := 0; i < len(args); i += 2 {
		switch args[i] {
		case "--masters":
			masters = strings.Split(s.addresses(t, args[i+1]), ",")
		case "--metrics-addr": // the test has one of its own
		default:
			flags = append(flags, args[i], args[i+1])
		}
	}
	s.proxy = startUnreadyProxy(t, masters, flags...)
	if s.named["redis-old:6379"] == nil && !strings.Contains(t.Name(), "library") {
		s.ready(t)
		return
	}
	// Until it has met them: redlock status shows them.
	eventually(t, soon, func() error {
		if page := do(t, s.proxy.Addr, "REDLOCK", "STATUS"); strings.Contains(page, "connecting") {
			return errors.New(page)
		}
		return nil
	})
}

func (s *scene) ready(t *testing.T) {
	t.Helper()
	if err := s.proxy.WaitReady(20 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// addresses puts real servers into the places of their names. What was in use
// before holds locks.
func (s *scene) addresses(t *testing.T, text string) string {
	t.Helper()
	return masterName.ReplaceAllStringFunc(text, func(name string) string {
		r := s.named[name]
		if r == nil {
			r = startRedis(t)
			s.named[name] = r
			if name == "redis-old:6379" || strings.Contains(t.Name(), "library") {
				do(t, r.Addr(), acquire("old", "lock", lockTTL)...)
			}
		}
		return r.Addr()
	})
}

// redisCLI runs redis-cli against the proxy; its output has to begin with want,
// or not be an error.
func (s *scene) redisCLI(t *testing.T, args, want []string) {
	t.Helper()
	_, port, _ := strings.Cut(s.proxy.Addr, ":")
	for i := range args {
		args[i] = s.addresses(t, args[i])
	}
	out, err := exec.Command("redis-cli", append([]string{"-p", port, "--no-raw"}, args...)...).CombinedOutput()
	got := strings.TrimSpace(string(out))
	if err != nil || strings.HasPrefix(got, "(error)") || len(want) > 0 && got != strings.Join(want, "\n") {
		t.Fatalf("redis-cli %q: %v\n%s\nwant %q", args, err, got, want)
	}
	if args[0] == "redlock" {
		s.ready(t)
		s.awaitVotes(t)
	}
}

// awaitVotes waits until every member votes.
func (s *scene) awaitVotes(t *testing.T) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		page := do(t, s.proxy.Addr, "REDLOCK", "STATUS")
		if strings.Contains(page, "does not vote") {
			return errors.New(page)
		}
		return nil
	})
}
