package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// sample is one measurement of one contestant.
type sample struct {
	Cycles    float64 `json:"cycles_per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	ProxyCPU  float64 `json:"proxy_cpu_us_per_cycle"`
	MasterCPU float64 `json:"masters_cpu_us_per_cycle"` // of all of them together
	Mallocs   float64 `json:"proxy_allocations_per_operation"`
	Failed    int     `json:"failed_cycles"`
	Failure   string  `json:"first_failure,omitempty"`
}

// sample runs one contestant for a while, after a short warm-up.
func (f *field) sample(c contestant, callers int, length time.Duration) (sample, error) {
	runner, err := c.open(f.addrs(c.where), callers)
	if err != nil {
		return sample{}, err
	}
	defer runner.Close()
	f.serial++
	prefix := strconv.Itoa(f.serial) + ":"
	if _, err := cycle(runner, prefix+"warm:", callers, min(length/5, 500*time.Millisecond)); err != nil {
		return sample{}, fmt.Errorf("warm-up: %w", err)
	}
	before, err := f.usage(c.where)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	run, err := cycle(runner, prefix, callers, length)
	took := time.Since(start)
	if err != nil {
		return sample{}, err
	}
	after, err := f.usage(c.where)
	if err != nil {
		return sample{}, err
	}
	return newSample(run, took, before, after), nil
}

func newSample(r outcome, took time.Duration, before, after usage) sample {
	l := r.latencies
	cycles := float64(len(l))
	s := sample{
		Cycles:    cycles / took.Seconds(),
		P50:       micros(l.Quantile(0.50)),
		P99:       micros(l.Quantile(0.99)),
		ProxyCPU:  micros(after.proxy-before.proxy) / cycles,
		MasterCPU: micros(after.masters-before.masters) / cycles,
		Failed:    r.failed,
		Mallocs:   (after.mallocs - before.mallocs) / cycles / 2, // a cycle is two operations
	}
	if r.failure != nil {
		s.Failure = r.failure.Error()
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// outcome is what came of a measurement. Failed cycles, those that did not have
// their lock though nobody else wanted it, are counted but not timed.
type outcome struct {
	latencies harness.Latencies
	failed    int
	failure   error // the first of them
}

func (o *outcome) merge(b outcome) {
	o.latencies = append(o.latencies, b.latencies...)
	o.failed += b.failed
	if o.failure == nil {
		o.failure = b.failure
	}
}

// cycle lets callers work for a while.
func cycle(runner cycler, prefix string, callers int, length time.Duration) (sum outcome, err error) {
	var over atomic.Bool
	timer := time.AfterFunc(length, func() { over.Store(true) })
	defer timer.Stop()
	perCaller := make([]outcome, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			name := prefix + strconv.Itoa(i) + ":"
			for n := 0; !over.Load(); n++ {
				perCaller[i].add(runner, name+strconv.Itoa(n))
			}
		})
	}
	all.Wait()
	for _, o := range perCaller {
		sum.merge(o)
	}
	if len(sum.latencies) < sum.failed {
		return sum, fmt.Errorf("%d of %d cycles failed: %w", sum.failed, sum.failed+len(sum.latencies), sum.failure)
	}
	return sum, nil
}

// add runs one cycle.
func (o *outcome) add(runner cycler, key string) {
	start := time.Now()
	if err := runner.Cycle(context.Background(), key); err != nil {
		o.merge(outcome{failed: 1, failure: err})
		return
	}
	o.latencies = append(o.latencies, time.Since(start))
}
