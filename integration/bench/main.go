package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// bench is what to measure, and how.
type bench struct {
	parts   []part
	seconds time.Duration // of one measurement
	rounds  int
	masters []int // quorum sizes
	callers []int
	only    string // part of a contestant's name
	quick   bool
	flags   []string // of the proxy
	json    bool
	profile string // where to write a profile to, instead of measuring

	binary string
	other  string
	dir    string // for files, on a disk
	memory string // the same on tmpfs
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	b, err := readFlags()
	if err != nil {
		return err
	}
	remove, err := b.makeDirs()
	defer remove()
	if err != nil {
		return err
	}
	if b.binary == "" && b.profile == "" {
		if b.binary, err = harness.Build("..", b.dir); err != nil {
			return err
		}
	}
	if b.profile != "" {
		return b.runProfile()
	}
	start := time.Now()
	report := report{CPUs: runtime.NumCPU(), Go: runtime.Version(), Rounds: b.rounds, Seconds: b.seconds.Seconds()}
	for _, p := range b.parts {
		s, err := p.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		s.Part, s.title = p.name, p.title
		report.Sections = append(report.Sections, s)
		if !b.quick {
			report.Goals = append(report.Goals, s.goals...)
		}
	}
	report.Took = time.Since(start).Round(time.Second).String()
	if b.json {
		return report.writeJSON(os.Stdout)
	}
	report.writeMarkdown(os.Stdout)
	return nil
}

func readFlags() (*bench, error) {
	b := &bench{}
	seconds := flag.Float64("seconds", 1.5, "length of one measurement")
	flag.IntVar(&b.rounds, "rounds", 3, "measurements of each contestant, of which the median is shown")
	masters := flag.String("n", "3,5", "numbers of masters")
	callers := flag.String("callers", "1,64,512", "numbers of concurrent callers on keys of their own")
	parts := flag.String("part", "", "only these parts of: "+strings.Join(partNames(), ", "))
	flag.BoolVar(&b.quick, "quick", false, "prove that everything works: every part, but small and short; the times say nothing")
	flag.StringVar(&b.only, "only", "", "only contestants whose name contains this")
	flag.StringVar(&b.binary, "binary", "", "redlock-proxy program; empty: build it from the parent directory")
	flag.StringVar(&b.other, "other", "", "another redlock-proxy program, to be measured beside it in the part cycles")
	flag.StringVar(&b.dir, "dir", "", "directory on a disk for the servers' data; empty: that for temporary files")
	flags := flag.String("proxy-flags", "", "further flags of the proxy, separated by spaces")
	flag.BoolVar(&b.json, "json", false, "print every measurement as JSON, not tables")
	flag.StringVar(&b.profile, "profile", "", "measure nothing, but write a CPU profile of the proxy to this file: the default.pgo that it is built with")
	flag.Parse()
	if b.quick {
		*seconds, b.rounds, *masters, *callers = 0.2, 1, "3", "64"
	}
	b.seconds = time.Duration(*seconds * float64(time.Second))
	b.flags = strings.Fields(*flags)
	if b.quick {
		b.flags = append(b.flags, "--op-timeout", "1s") // others may be using the machine
	}
	if b.rounds < 1 || b.seconds <= 0 || flag.NArg() > 0 {
		return nil, fmt.Errorf("-rounds and -seconds must be above 0, and there are no arguments")
	}
	var err error
	if b.parts, err = partsNamed(*parts); err != nil {
		return nil, fmt.Errorf("-part: %w", err)
	}
	if b.masters, err = numbers(*masters); err != nil {
		return nil, fmt.Errorf("-n: %w", err)
	}
	if b.callers, err = numbers(*callers); err != nil {
		return nil, fmt.Errorf("-callers: %w", err)
	}
	return b, nil
}

// numbers reads a list such as "1,64,512".
func numbers(list string) ([]int, error) {
	var all []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", s)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all, nil
}

// makeDirs makes the directories for files; remove removes them.
func (b *bench) makeDirs() (remove func(), err error) {
	disk := b.dir
	if b.dir, err = os.MkdirTemp(disk, "redlock-bench"); err != nil {
		return func() {}, err
	}
	shared := "/dev/shm"
	if _, err := os.Stat(shared); err != nil {
		shared = disk // no tmpfs that everybody may use
	}
	b.memory, err = os.MkdirTemp(shared, "redlock-bench")
	return func() {
		os.RemoveAll(b.dir)
		os.RemoveAll(b.memory)
	}, err
}
