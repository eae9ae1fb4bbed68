package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// part is a piece of the benchmark that can be run alone.
type part struct {
	name, title string
	run         func(*bench) (section, error)
}

func allParts() []part {
	return []part{
		{"cycles", "Distinct keys", (*bench).runCycles},
		{"stores", "Against etcd and ZooKeeper", (*bench).runStores},
		{"pollers", "1,000 pollers of one key", (*bench).runPollers},
		{"hot", "64 callers over 8 hot keys", (*bench).runHot},
		{"stopped", "One master stopped", (*bench).runStopped},
		{"idle", "Idle connections", (*bench).runIdle},
		{"growth", "Many live locks", (*bench).runGrowth},
		{"allocations", "Heap allocations", (*bench).runAllocations},
	}
}

func partNames() (names []string) {
	for _, p := range allParts() {
		names = append(names, p.name)
	}
	return names
}

// partsNamed are the parts in a list of names, all if it is empty.
func partsNamed(list string) ([]part, error) {
	all := allParts()
	if list == "" {
		return all, nil
	}
	var chosen []part
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(partNames(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// entry is a contestant on its servers, ready to be measured again and again.
type entry struct {
	name   string
	sample func(length time.Duration) (sample, error)
}

// entries are contestants on the field, under one load.
func (f *field) entries(what load, callers int, all ...[]contestant) (entries []entry) {
	for _, c := range slices.Concat(all...) {
		entries = append(entries, entry{c.name, func(length time.Duration) (sample, error) {
			return f.sample(c, what, callers, length, nil)
		}})
	}
	return entries
}

// contest measures all entries. The order alternates, so that nobody always
// runs after the same one.
func (b *bench) contest(load string, masters, callers int, entries []entry) ([]result, error) {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !strings.Contains(e.name, b.only) })
	results := make([]result, len(entries))
	for i, e := range entries {
		results[i] = result{Load: load, Contestant: e.name, Masters: masters, Callers: callers}
	}
	defer say("")
	for round := range b.rounds {
		for i := range entries {
			if round%2 == 1 {
				i = len(entries) - 1 - i
			}
			say("%s, %d masters, %d callers, round %d of %d: %s", load, masters, callers, round+1, b.rounds, entries[i].name)
			s, err := entries[i].sample(b.seconds)
			if err != nil {
				return nil, fmt.Errorf("%s, %d callers: %w", entries[i].name, callers, err)
			}
			results[i].Samples = append(results[i].Samples, s)
		}
	}
	return results, nil
}

// say shows what is being done, on one line of a terminal.
func say(format string, args ...any) {
	if i, err := os.Stderr.Stat(); err != nil || i.Mode()&os.ModeCharDevice == 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "\r%-110s\r", "")
	fmt.Fprintf(os.Stderr, format, args...)
}

// find is the result of a contestant, nil if it was not measured.
func find(results []result, name string, masters, callers int) *result {
	for i := range results {
		if r := &results[i]; r.Contestant == name && r.Masters == masters && r.Callers == callers {
			return r
		}
	}
	return nil
}
