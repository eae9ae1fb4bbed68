// Command run runs the suites of real lock libraries, one per language, against
// the proxy and a plain redis-server, and prints which scenario passes with
// which library. See README.md in the directory above for what a suite is.
//
// It is run from within this repository:
//
//	cd integration && go run ./clients/run [-only go,python] [-check | -update | -install]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// options are the command's flags.
type options struct {
	only    []string
	timeout time.Duration
	check   bool
	update  bool
	serve   bool
	install bool
	ci      bool // every suite has to run
}

func main() {
	o := options{ci: os.Getenv("CI") != ""}
	only := flag.String("only", "", "run only these suites, separated by commas")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long one suite may take")
	flag.BoolVar(&o.check, "check", false, "fail if results.json or the README's table is stale, or a result is not expected")
	flag.BoolVar(&o.update, "update", false, "write results.json and the README's table")
	flag.BoolVar(&o.install, "install", false, "only fetch and build what the suites need")
	flag.BoolVar(&o.serve, "serve", false, "start servers for a suite, print its environment, and wait for the end of the input")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	if o.install {
		suites, err := findSuites(filepath.Join(root, "integration", "clients"), o.only)
		if err != nil {
			return err
		}
		return installAll(suites)
	}
	dir, err := os.MkdirTemp("", "redlock-clients")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := os.Getenv("TEST_PROXY_BINARY")
	if binary == "" {
		if binary, err = harness.Build(root, dir); err != nil {
			return err
		}
	}
	b := builder{binary: binary, dir: dir}
	if o.serve {
		return serve(b)
	}
	return runSuites(o, root, b)
}

// findRoot returns the repository's top directory, from anywhere in it.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "integration", "clients", "run")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("run this command from within the repository")
		}
		dir = parent
	}
}

// serve keeps servers for a suite that is being written.
func serve(b builder) error {
	bed, err := b.start()
	if err != nil {
		return err
	}
	defer bed.stop()
	for _, v := range bed.environment() {
		fmt.Println("export " + v)
	}
	fmt.Fprintln(os.Stderr, "the servers end with this command's input, or when it is interrupted")
	buf := make([]byte, 1)
	for {
		if _, err := os.Stdin.Read(buf); err != nil {
			return nil
		}
	}
}

func runSuites(o options, root string, b builder) error {
	clients := filepath.Join(root, "integration", "clients")
	suites, err := findSuites(clients, o.only)
	if err != nil {
		return err
	}
	committed, err := readResults(filepath.Join(clients, "results.json"))
	if err != nil {
		return err
	}
	expected, err := readExpected(filepath.Join(clients, "expected.json"))
	if err != nil {
		return err
	}
	fresh, problems := runAll(suites, b, o)
	fmt.Println(table(fresh))
	merged := merge(committed, fresh)
	if o.update {
		if err := update(root, merged); err != nil {
			return err
		}
	}
	if o.check {
		problems = append(problems, compare(committed, fresh)...)
		problems = append(problems, unexpected(fresh, expected)...)
		problems = append(problems, checkReadme(root, committed)...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems:\n  %s", len(problems), strings.Join(problems, "\n  "))
	}
	return nil
}

// runAll runs the suites one after the other: they share a small machine.
func runAll(suites []suite, b builder, o options) (all []result, problems []string) {
	for _, s := range suites {
		began := time.Now()
		fmt.Fprintf(os.Stderr, "== %s\n", s.language)
		results, err := s.run(b, o.timeout)
		fmt.Fprintf(os.Stderr, "== %s: %d results after %d s\n", s.language, len(results), int(time.Since(began).Seconds()))
		all = append(all, results...)
		var missing missingToolchain
		switch {
		case errors.As(err, &missing) && !o.ci:
			fmt.Fprintf(os.Stderr, "== %s is not run: %v\n", s.language, err)
		case err != nil:
			problems = append(problems, s.language+": "+err.Error())
		default:
			problems = append(problems, incomplete(results)...)
		}
	}
	return all, problems
}

// installAll fetches and builds what the suites need. What fails is said, and
// tried again when the suite is run.
func installAll(suites []suite) (err error) {
	for _, s := range suites {
		cmd := exec.Command("./run.sh")
		cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "INSTALL_ONLY=1")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if fault := cmd.Run(); fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.language, fault))
		}
	}
	return err
}

// findSuites lists the directories with a run.sh, or those asked for.
func findSuites(clients string, only []string) (suites []suite, err error) {
	scripts, err := filepath.Glob(filepath.Join(clients, "*", "run.sh"))
	if err != nil {
		return nil, err
	}
	for _, script := range scripts {
		dir := filepath.Dir(script)
		if name := filepath.Base(dir); len(only) == 0 || slices.Contains(only, name) {
			suites = append(suites, suite{language: name, dir: dir})
		}
	}
	if len(suites) < max(1, len(only)) {
		return nil, fmt.Errorf("%d suites found for %q in %s", len(suites), only, clients)
	}
	return suites, nil
}
