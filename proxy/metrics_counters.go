package proxy

import (
	"github.com/prometheus/client_golang/prometheus"

	"redlock-proxy/resp"
)

// desc describes one metric family of this proxy.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("redlock_proxy_"+name, help, labels, nil)
}

// The families that are counted here.
var (
	descOperations = desc("operations_total", "Lock commands by kind and by what came of them.", "kind", "result")
	descCommands   = desc("commands_total", "Other commands that were served, by name.", "command")
	descNotServed  = desc("commands_refused_total", "Commands that are unknown or that a lock proxy does not serve.")
	descOpen       = desc("connections", "Client connections that are open.")
	descAccepted   = desc("connections_accepted_total", "Client connections that were accepted.")
	descRejected   = desc("connections_rejected_total", "Client connections that were turned away, by reason.", "reason")
	descProtocol   = desc("protocol_errors_total", "Client connections that were closed because they broke the protocol or a limit.")
	descAuth       = desc("auth_failures_total", "AUTH and HELLO commands with a wrong user or password.")
	descDefaultTTL = desc("default_ttl_total", "Commands that gave no TTL and got the default one.")
)

// counters shows the atomics of Metrics to Prometheus.
type counters struct {
	m        *Metrics
	commands []string // the name of each index
}

// Describe names the families.
func (c counters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{
		descOperations, descCommands, descNotServed, descOpen, descAccepted,
		descRejected, descProtocol, descAuth, descDefaultTTL,
	} {
		ch <- d
	}
}

// Collect reads the counters.
func (c counters) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for kind := range resp.Kinds {
		for r := range results {
			count(descOperations, c.m.operations[kind][r].Load(), kind.String(), r.String())
		}
	}
	for i, name := range c.commands {
		count(descCommands, c.m.commands[i].Load(), name)
	}
	for why := range rejections {
		count(descRejected, c.m.rejected[why].Load(), why.String())
	}
	ch <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(c.m.open.Load()))
	count(descNotServed, c.m.notServed.Load())
	count(descAccepted, c.m.accepted.Load())
	count(descProtocol, c.m.protocolErrors.Load())
	count(descAuth, c.m.authFailures.Load())
	count(descDefaultTTL, c.m.defaultTTLs.Load())
}

// commandNames returns the utility commands in the order of their indexes.
func commandNames() []string {
	table := commandTable()
	names := make([]string, len(table))
	for name, cmd := range table {
		names[cmd.index] = name
	}
	return names
}
