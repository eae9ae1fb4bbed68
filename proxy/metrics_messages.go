package proxy

import "github.com/prometheus/client_golang/prometheus"

// The families about publish/subscribe.
var (
	descPublished     = desc("messages_published_total", "Messages that clients published, by whether a quorum of masters took them.", "result")
	descReceived      = desc("messages_received_total", "Messages that came from the masters, once for each channel or pattern that fits.")
	descCopies        = desc("message_copies_total", "Messages that further masters sent, too, and that were dropped.")
	descDelivered     = desc("messages_delivered_total", "Messages that were handed to the connections of subscribers.")
	descSubscriptions = desc("subscriptions", "Channels and patterns that clients subscribe to.", "kind")
)

// messages shows what became of messages.
type messages struct {
	m     *Metrics
	locks Locks
}

// Describe names the families.
func (s messages) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{descPublished, descReceived, descCopies, descDelivered, descSubscriptions} {
		ch <- d
	}
}

// Collect reads the counters.
func (s messages) Collect(ch chan<- prometheus.Metric) {
	counter(ch, descDelivered, s.m.delivered.Load())
	if s.locks == nil {
		return
	}
	n := s.locks.Bus().Stats()
	counter(ch, descPublished, n.Published, "quorum")
	counter(ch, descPublished, n.Unpublished, "no_quorum")
	counter(ch, descReceived, n.Received)
	counter(ch, descCopies, n.Copies)
	gauge(ch, descSubscriptions, float64(n.Channels), "channel")
	gauge(ch, descSubscriptions, float64(n.Patterns), "pattern")
}
