package main

import "fmt"

// runGrowth measures what a cycle costs while many locks are held.
func (b *bench) runGrowth() (s section, err error) {
	const few, callers, masters = 1000, 64, 3
	many := 1_000_000
	if b.quick {
		many = 5000
	}
	patient := *b
	patient.flags = append(b.flags[:len(b.flags):len(b.flags)], "--op-timeout", "1s") // no lock may be missing
	var entries []entry
	for _, live := range []int{few, many} {
		f, err := patient.startField(masters)
		if err != nil {
			return s, err
		}
		defer f.close()
		say("taking %d locks", live)
		if err := f.fill(live); err != nil {
			return s, err
		}
		e := f.entries(distinctKeys, callers, viaProxy[:1])[0]
		e.name = fmt.Sprintf("%s, %d live locks", e.name, live)
		entries = append(entries, e)
	}
	if s.Results, err = b.contest("many live locks", masters, callers, entries); err != nil || len(s.Results) < 2 {
		return s, err
	}
	s.tables = []table{tableOf("", s.Results, timesAndCPU...)}
	growth := s.Results[1].median(serversOf) / s.Results[0].median(serversOf)
	s.goals = []goal{atMost(fmt.Sprintf("CPU per cycle, proxy and masters, at %d live locks ÷ at %d", many, few), 1.1, growth)}
	return s, nil
}

// serversOf is the CPU time of proxy and masters.
func serversOf(s sample) float64 { return s.ProxyCPU + s.MasterCPU }

// fill takes n locks.
func (f *field) fill(n int) error {
	p, err := openPipeline(f.proxy.Addr)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.fill(n)
}
