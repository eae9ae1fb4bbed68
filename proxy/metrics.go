package proxy

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// result is how an operation ended, as a metric label.
type result uint8

const (
	resultApplied   result = iota // a quorum did what was asked
	resultHeld                    // a quorum says: another value is there
	resultAbsent                  // a quorum says: nothing is there to release or extend
	resultRead                    // a quorum says what is there; nothing else was asked
	resultNoQuorum                // no quorum: an error
	resultInvalid                 // refused before any master was asked: bad options, TTL, script
	resultAbandoned               // the client left before it could read the reply
	results
)

// String is the result's label.
func (r result) String() string {
	return [...]string{"applied", "held", "absent", "read", "no_quorum", "invalid", "abandoned"}[r]
}

// rejection is why a connection was not served, as a metric label.
type rejection uint8

const (
	rejectedMaxClients rejection = iota
	rejectedProtectedMode
	rejectedShutdown
	rejections
)

// String is the rejection's label.
func (r rejection) String() string {
	return [...]string{"max_clients", "protected_mode", "shutdown"}[r]
}

// Metrics counts what the proxy does, in a registry of its own. Counting takes
// an atomic addition and no allocation. A nil *Metrics counts nothing.
type Metrics struct {
	operations [resp.Kinds][results]atomic.Uint64
	durations  [resp.Kinds]prometheus.Observer
	commands   []atomic.Uint64 // by command.index
	rejected   [rejections]atomic.Uint64
	door       door

	open           atomic.Int64
	accepted       atomic.Uint64
	notServed      atomic.Uint64
	protocolErrors atomic.Uint64
	authFailures   atomic.Uint64
	defaultTTLs    atomic.Uint64
	delivered      atomic.Uint64

	handshakeFailures atomic.Uint64
	denials           [denials]atomic.Uint64
	certificates      []certificate

	registry *prometheus.Registry
}

// durationBuckets reach from a fast round on one machine to far beyond the
// default op timeout of 50 ms, in seconds.
var durationBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}

// NewMetrics returns the metrics of one proxy of the given version. The state
// of locks is read whenever the metrics are.
func NewMetrics(version string, locks Locks) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	names := commandNames()
	m.commands = make([]atomic.Uint64, len(names))
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "redlock_proxy_operation_duration_seconds",
		Help:    "Time from reading a lock command to handing its reply to the client's connection.",
		Buckets: durationBuckets,
	}, []string{"kind"})
	for kind := range resp.Kinds {
		m.durations[kind] = histogram.WithLabelValues(kind.String())
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "redlock_proxy_build_info",
		Help:        "1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(histogram, build,
		counters{m, names},
		upstream{locks},
		messages{m, locks},
		access{m}, &m.door,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError, // the rest is worth having
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
}

// operation counts one lock command. took is the time from reading it to
// handing its reply to the socket.
func (m *Metrics) operation(kind resp.Kind, r result, took time.Duration) {
	if m == nil {
		return
	}
	m.operations[kind][r].Add(1)
	m.durations[kind].Observe(took.Seconds())
}

// invalid counts a lock command that was refused without asking a master.
func (m *Metrics) invalid(kind resp.Kind) {
	if m != nil {
		m.operations[kind][resultInvalid].Add(1)
	}
}

// command counts a utility command by its index.
func (m *Metrics) command(index int) {
	if m != nil {
		m.commands[index].Add(1)
	}
}

// unserved counts a command that was refused as unknown or unsupported.
func (m *Metrics) unserved() {
	if m != nil {
		m.notServed.Add(1)
	}
}

// connected counts an accepted connection; disconnected its end.
func (m *Metrics) connected() {
	if m != nil {
		m.accepted.Add(1)
		m.open.Add(1)
	}
}

func (m *Metrics) disconnected() {
	if m != nil {
		m.open.Add(-1)
	}
}

// reject counts a connection that was turned away.
func (m *Metrics) reject(why rejection) {
	if m != nil {
		m.rejected[why].Add(1)
	}
}

// protocolError counts a connection that was closed for what it sent.
func (m *Metrics) protocolError() {
	if m != nil {
		m.protocolErrors.Add(1)
	}
}

// authFailed counts a wrong user or password.
func (m *Metrics) authFailed() {
	if m != nil {
		m.authFailures.Add(1)
	}
}

// defaultTTL counts a command that gave no TTL.
func (m *Metrics) defaultTTL() {
	if m != nil {
		m.defaultTTLs.Add(1)
	}
}

// deliveredTo counts a message for one subscriber.
func (m *Metrics) deliveredTo() {
	if m != nil {
		m.delivered.Add(1)
	}
}

// resultOf says what came of a lock command, given all its outcomes.
func resultOf(kind resp.Kind, outs []redlock.Outcome) result {
	r := resultAbsent
	for i := range outs {
		switch out := &outs[i]; {
		case out.Err != nil:
			return resultNoQuorum
		case out.Applied:
			r = resultApplied
		case out.Case != redlock.CaseAbsent && r == resultAbsent:
			r = resultHeld
		}
	}
	if kind == resp.KindRead || len(outs) == 0 {
		return resultRead
	}
	return r
}

// processed is the number of commands that were served.
func (m *Metrics) processed() uint64 {
	var sum uint64
	for kind := range m.operations {
		for r := range m.operations[kind] {
			sum += m.operations[kind][r].Load()
		}
	}
	for i := range m.commands {
		sum += m.commands[i].Load()
	}
	return sum
}

// turnedAway is the number of rejected connections.
func (m *Metrics) turnedAway() uint64 {
	var sum uint64
	for i := range m.rejected {
		sum += m.rejected[i].Load()
	}
	return sum
}
