package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// history is what the plots show: a sample of the metrics every second, for two
// minutes.
type history struct {
	metrics *Metrics

	mu      sync.Mutex
	samples []sample // the oldest first
	last    totals
	at      time.Time // of last
}

const (
	historyPeriod = time.Second
	historyLength = 120
)

// sample is one second.
type sample struct {
	served, denied, failed float64       // lock commands per second; served ones are all that are answered
	p50, p99               time.Duration // of their durations, by the histogram's buckets; 0 without any
}

// totals are counters since the start.
type totals struct {
	served, denied, failed uint64
	count                  uint64
	buckets                [16]uint64 // cumulative, by durationBuckets
}

func newHistory(m *Metrics) *history {
	return &history{metrics: m, last: readTotals(m), at: time.Now()}
}

// run takes samples until ctx ends.
func (h *history) run(ctx context.Context) {
	tick := time.NewTicker(historyPeriod)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			h.take(readTotals(h.metrics), now)
		case <-ctx.Done():
			return
		}
	}
}

// take adds a sample: what has come since the last one.
func (h *history) take(t totals, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seconds := now.Sub(h.at).Seconds()
	if seconds <= 0 {
		return
	}
	rate := func(now, before uint64) float64 { return float64(now-before) / seconds }
	h.samples = append(h.samples, sample{
		served: rate(t.served, h.last.served), denied: rate(t.denied, h.last.denied), failed: rate(t.failed, h.last.failed),
		p50: quantile(&t, &h.last, .5), p99: quantile(&t, &h.last, .99),
	})
	h.samples = h.samples[max(0, len(h.samples)-historyLength):]
	h.last, h.at = t, now
}

// recent returns the samples.
func (h *history) recent() []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]sample(nil), h.samples...)
}

// readTotals adds up the metrics of all kinds of lock commands.
func readTotals(m *Metrics) (t totals) {
	for kind := range m.operations {
		for r := range m.operations[kind] {
			n := m.operations[kind][r].Load()
			switch result(r) {
			case resultNoQuorum, resultInvalid, resultAbandoned:
				t.failed += n
			case resultHeld:
				t.denied += n
				t.served += n
			default:
				t.served += n
			}
		}
		t.addDurations(m.durations[kind])
	}
	return t
}

func (t *totals) addDurations(o prometheus.Observer) {
	var d dto.Metric
	if o.(prometheus.Metric).Write(&d) != nil {
		return
	}
	t.count += d.Histogram.GetSampleCount()
	for i, b := range d.Histogram.Bucket[:min(len(d.Histogram.Bucket), len(t.buckets))] {
		t.buckets[i] += b.GetCumulativeCount()
	}
}

// quantile estimates a quantile of the durations between two totals, like
// Prometheus's histogram_quantile: evenly spread within a bucket.
func quantile(now, before *totals, q float64) time.Duration {
	rank := q * float64(now.count-before.count)
	if rank == 0 {
		return 0
	}
	low, below := 0.0, 0.0
	for i, high := range durationBuckets {
		upTo := float64(now.buckets[i] - before.buckets[i])
		if upTo >= rank && upTo > below {
			return time.Duration((low + (high-low)*(rank-below)/(upTo-below)) * float64(time.Second))
		}
		low, below = high, upTo
	}
	return time.Duration(low * float64(time.Second)) // or longer
}
