package main

import (
	"fmt"
	"slices"
)

// rivals is whom a client through the proxy is compared with: redsync with the
// same driver.
var rivals = map[string]string{
	rueidisProxy: redsyncRueidis,
	goRedisProxy: redsyncGoRedis,
	rawProxy:     redsyncRueidis,
}

// runCycles measures callers that each lock keys of their own.
func (b *bench) runCycles() (s section, err error) {
	extra := []contestant{
		{name: rawProxy, raw: true},
		{name: "redsync + rueidis, one connection each → masters", where: onMasters, open: openRedsyncRueidis(-1)},
	}
	for _, c := range viaProxy {
		if b.other != "" {
			extra = append(extra, contestant{name: c.name + " by the other program", where: throughOther, open: c.open})
		}
	}
	for _, n := range b.masters {
		f, err := b.startField(n)
		if err != nil {
			return s, err
		}
		defer f.close()
		for _, callers := range b.callers {
			results, err := b.contest(distinctKeys.name, n, callers, f.entries(distinctKeys, callers, viaProxy, extra, viaMaster, viaOne))
			if err != nil {
				return s, err
			}
			s.Results = append(s.Results, results...)
			s.tables = append(s.tables, cyclesTable(results, n, callers))
		}
		f.close()
	}
	s.goals = cycleGoals(s.Results)
	return s, nil
}

func cyclesTable(results []result, masters, callers int) table {
	against := column{"against redsync", func(r *result) string {
		rival := find(results, rivals[r.Contestant], masters, callers)
		if rival == nil {
			return "–"
		}
		return fmt.Sprintf("%.2f×", r.median(cyclesOf)/rival.median(cyclesOf))
	}}
	return tableOf(fmt.Sprintf("%d masters, callers: %d", masters, callers), results, slices.Concat(timesAndCPU, []column{against})...)
}

// cycleGoals compares with what is wanted for three and for five masters.
func cycleGoals(results []result) (goals []goal) {
	ratios := []struct {
		name    string
		callers int
		least   [2]float64
	}{
		{rueidisProxy, 64, [2]float64{2.2, 3.3}},
		{rueidisProxy, 512, [2]float64{2.7, 4.6}},
		{goRedisProxy, 64, [2]float64{2.2, 4}},
	}
	cpu := map[int][2]float64{64: {20, 26}, 512: {11, 14}}
	for i, n := range []int{3, 5} {
		for _, g := range ratios {
			r, rival := find(results, g.name, n, g.callers), find(results, rivals[g.name], n, g.callers)
			if r != nil && rival != nil {
				goals = append(goals, atLeast(fmt.Sprintf("N=%d: cycles/s, %s ÷ %s, %d callers", n, g.name, rival.Contestant, g.callers), g.least[i], r.median(cyclesOf)/rival.median(cyclesOf)))
			}
		}
		if r, rival := find(results, goRedisProxy, n, 1), find(results, redsyncGoRedis, n, 1); r != nil && rival != nil {
			goals = append(goals, atMost(fmt.Sprintf("N=%d: p50, %s ÷ %s, 1 caller", n, goRedisProxy, redsyncGoRedis), 1.15, r.median(p50Of)/rival.median(p50Of)))
		}
		for _, callers := range []int{64, 512} {
			if r := find(results, rueidisProxy, n, callers); r != nil {
				goals = append(goals, atMost(fmt.Sprintf("N=%d: CPU µs of the proxy per cycle, %s, %d callers", n, rueidisProxy, callers), cpu[callers][i], r.median(proxyOf)))
			}
		}
	}
	return goals
}
