package proxy

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// cut is why a connection was closed by this side, as a metric label. Those
// that broke the protocol have a counter of their own.
type cut uint8

const (
	cutIdle          cut = iota // silent for too long
	cutSlow                     // a command, or the password, did not arrive in time
	cutUnread                   // it does not read what it is sent
	cutOtherProtocol            // HTTP, TLS or something else that is not Redis
	cutMemory                   // all together hold too much, and it holds most
	cutPanic                    // a fault of this program
	cuts
)

// String is the cut's label.
func (c cut) String() string {
	return [...]string{"idle", "slow", "unread", "other_protocol", "memory", "panic"}[c]
}

var (
	descCut          = desc("connections_cut_total", "Client connections that were closed by the proxy, by reason.", "reason")
	descAcceptErrors = desc("accept_errors_total", "How often a connection could not be accepted, usually for too many open files.")
	descBuffers      = desc("client_buffers_bytes", "What the connections of clients hold in buffers larger than some 16 KiB.")
)

// door counts what clients are kept from doing.
type door struct {
	cut          [cuts]atomic.Uint64
	acceptErrors atomic.Uint64
	buffers      atomic.Int64
}

// Describe names the families.
func (*door) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{descCut, descAcceptErrors, descBuffers} {
		ch <- d
	}
}

// Collect reads the counters.
func (d *door) Collect(ch chan<- prometheus.Metric) {
	for why := range cuts {
		counter(ch, descCut, d.cut[why].Load(), why.String())
	}
	counter(ch, descAcceptErrors, d.acceptErrors.Load())
	gauge(ch, descBuffers, float64(d.buffers.Load()))
}

// cutOff counts a connection that was closed.
func (m *Metrics) cutOff(why cut) {
	if m != nil {
		m.door.cut[why].Add(1)
	}
}

// acceptFailed counts a connection that could not be accepted.
func (m *Metrics) acceptFailed() {
	if m != nil {
		m.door.acceptErrors.Add(1)
	}
}

// holds notes that the buffers of connections hold so many bytes.
func (m *Metrics) holds(n int64) {
	if m != nil {
		m.door.buffers.Store(n)
	}
}
