package main

import (
	"slices"
	"syscall"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// sample is one measurement of one contestant. A CPU time is that of a cycle in
// microseconds; that of masters is of all of them together.
type sample struct {
	Cycles    float64 `json:"cycles_per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	ProxyCPU  float64 `json:"proxy_cpu_us_per_cycle"`
	MasterCPU float64 `json:"masters_cpu_us_per_cycle"`
	ClientCPU float64 `json:"client_cpu_us_per_cycle"`
	Tries     float64 `json:"acquires_sent_per_second"`
	AtMaster  float64 `json:"sets_per_second_at_a_master,omitempty"`
	Count     int     `json:"cycles"`
	Failed    int     `json:"failed_cycles"`
	Failure   string  `json:"first_failure,omitempty"`
}

// outcome is what came of a measurement. Failed cycles, those that did not have
// their lock though they should, are counted but not timed.
type outcome struct {
	latencies harness.Latencies
	tries     int // acquires that were sent
	failed    int
	failure   error // the first of them
}

func (o *outcome) merge(b outcome) {
	o.latencies = append(o.latencies, b.latencies...)
	o.tries += b.tries
	o.failed += b.failed
	if o.failure == nil {
		o.failure = b.failure
	}
}

// usage is what servers and this process have used since they started.
type usage struct {
	proxy, masters, client time.Duration
	sets                   float64 // SET commands at one master
}

// clientCPU is the processor time of this process, in which all clients run.
func clientCPU() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

func newSample(o outcome, took time.Duration, before, after usage) sample {
	cycles := float64(max(len(o.latencies), 1))
	s := sample{
		Cycles:    float64(len(o.latencies)) / took.Seconds(),
		P50:       micros(o.latencies.Quantile(0.50)),
		P99:       micros(o.latencies.Quantile(0.99)),
		ProxyCPU:  micros(after.proxy-before.proxy) / cycles,
		MasterCPU: micros(after.masters-before.masters) / cycles,
		ClientCPU: micros(after.client-before.client) / cycles,
		Tries:     float64(o.tries) / took.Seconds(),
		AtMaster:  (after.sets - before.sets) / took.Seconds(),
		Count:     len(o.latencies),
		Failed:    o.failed,
	}
	if o.failure != nil {
		s.Failure = o.failure.Error()
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// result is all samples of one contestant under one load.
type result struct {
	Load       string   `json:"load"`
	Contestant string   `json:"contestant"`
	Masters    int      `json:"masters"`
	Callers    int      `json:"callers"`
	Samples    []sample `json:"samples"`
}

// spread is the median of a number of the samples, and the least and the most.
type spread struct{ median, least, most float64 }

// Numbers of a sample, for [result.of].
func cyclesOf(s sample) float64 { return s.Cycles }
func p50Of(s sample) float64    { return s.P50 }
func p99Of(s sample) float64    { return s.P99 }
func proxyOf(s sample) float64  { return s.ProxyCPU }
func masterOf(s sample) float64 { return s.MasterCPU }
func clientOf(s sample) float64 { return s.ClientCPU }

func (r *result) of(number func(sample) float64) spread {
	all := make([]float64, len(r.Samples))
	for i, s := range r.Samples {
		all[i] = number(s)
	}
	slices.Sort(all)
	return spread{(all[(len(all)-1)/2] + all[len(all)/2]) / 2, all[0], all[len(all)-1]}
}

func (r *result) median(number func(sample) float64) float64 { return r.of(number).median }

// failed counts the failed cycles of all samples; there should be none.
func (r *result) failed() (n int, first string) {
	for _, s := range r.Samples {
		n += s.Failed
		if first == "" {
			first = s.Failure
		}
	}
	return n, first
}
