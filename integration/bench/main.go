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

// plan is what to measure.
type plan struct {
	seconds time.Duration // of one measurement
	rounds  int
	masters []int // quorum sizes
	callers []int
	only    string // part of a contestant's name
	binary  string
	flags   []string // of the proxy
	json    bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	p, err := readPlan()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redlock-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if p.binary == "" {
		if p.binary, err = harness.Build("..", dir); err != nil {
			return err
		}
	}
	results, err := p.measure(dir)
	if err != nil {
		return err
	}
	if p.json {
		return writeJSON(os.Stdout, results)
	}
	fmt.Printf("%d CPUs, %s, %d rounds of %v, medians\n\n", runtime.NumCPU(), runtime.Version(), p.rounds, p.seconds)
	writeTable(os.Stdout, results)
	return nil
}

func readPlan() (plan, error) {
	var p plan
	seconds := flag.Float64("seconds", 3, "length of one measurement")
	flag.IntVar(&p.rounds, "rounds", 5, "measurements of each contestant, of which the median is shown")
	masters := flag.String("n", "3,5", "numbers of masters")
	callers := flag.String("callers", "1,64,512", "numbers of concurrent callers")
	quick := flag.Bool("quick", false, "a few seconds in all, to see that it works: -seconds 0.3 -rounds 1 -n 3 -callers 64")
	flag.StringVar(&p.only, "only", "", "only contestants whose name contains this")
	flag.StringVar(&p.binary, "binary", "", "redlock-proxy program; empty: build it from the parent directory")
	flags := flag.String("proxy-flags", "", "further flags of the proxy, separated by spaces")
	flag.BoolVar(&p.json, "json", false, "print every measurement as JSON, not a table")
	flag.Parse()
	if *quick {
		*seconds, p.rounds, *masters, *callers = 0.3, 1, "3", "64"
	}
	p.seconds = time.Duration(*seconds * float64(time.Second))
	p.flags = strings.Fields(*flags)
	var err error
	if p.masters, err = numbers(*masters); err != nil {
		return p, fmt.Errorf("-n: %w", err)
	}
	if p.callers, err = numbers(*callers); err != nil {
		return p, fmt.Errorf("-callers: %w", err)
	}
	if p.rounds < 1 || p.seconds <= 0 || flag.NArg() > 0 {
		return p, fmt.Errorf("-rounds and -seconds must be above 0, and there are no arguments")
	}
	return p, nil
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

// measure runs everything: for each number of masters and callers, all
// contestants in turn, several rounds.
func (p plan) measure(dir string) ([]result, error) {
	var all []result
	for _, n := range p.masters {
		f, err := startField(p, dir, n)
		if err != nil {
			return nil, err
		}
		for _, callers := range p.callers {
			results, err := p.contest(f, callers)
			if err != nil {
				f.close()
				return nil, err
			}
			all = append(all, results...)
		}
		f.close()
	}
	return all, nil
}

// contest measures all contestants with one number of callers. The order
// alternates, so that nobody always runs after the same one.
func (p plan) contest(f *field, callers int) ([]result, error) {
	contestants := slices.DeleteFunc(contestants(), func(c contestant) bool { return !strings.Contains(c.name, p.only) })
	results := make([]result, len(contestants))
	for round := range p.rounds {
		for i := range contestants {
			if round%2 == 1 {
				i = len(contestants) - 1 - i
			}
			fmt.Fprintf(os.Stderr, "\r%d masters, %d callers, round %d of %d: %-40s", len(f.masters), callers, round+1, p.rounds, contestants[i].name)
			s, err := f.sample(contestants[i], callers, p.seconds)
			if err != nil {
				return nil, fmt.Errorf("%s, %d callers: %w", contestants[i].name, callers, err)
			}
			results[i].add(contestants[i], len(f.masters), callers, s)
		}
	}
	fmt.Fprint(os.Stderr, "\r", strings.Repeat(" ", 90), "\r")
	return results, nil
}
