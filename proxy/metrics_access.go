package proxy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The families about who gets in.
var (
	descHandshakes = desc("tls_handshake_failures_total", "Client connections that could not agree on TLS: no TLS, no good certificate, too slow.")
	descDenials    = desc("acl_denied_total", "Commands that the user had no right to, by what it lacks.", "right")
	descExpiry     = desc("certificate_expiry_timestamp_seconds", "When the certificate in use expires, as Unix time, by whom it is shown to.", "to")
)

// access shows who did not get in, or not at all.
type access struct{ m *Metrics }

// Describe names the families.
func (a access) Describe(ch chan<- *prometheus.Desc) {
	ch <- descHandshakes
	ch <- descDenials
	ch <- descExpiry
}

// Collect reads the counters.
func (a access) Collect(ch chan<- prometheus.Metric) {
	counter(ch, descHandshakes, a.m.handshakeFailures.Load())
	for d := notDenied + 1; d < denials; d++ {
		counter(ch, descDenials, a.m.denials[d].Load(), d.String())
	}
	for _, c := range a.m.certificates {
		if t := c.Expires(); !t.IsZero() {
			gauge(ch, descExpiry, float64(t.Unix()), c.ShownTo())
		}
	}
}

// certificate is one that is in use.
type certificate interface {
	ShownTo() string // "clients" or "masters"
	Expires() time.Time
}

// watch shows the certificates among what is read again.
func (m *Metrics) watch(list []Reloadable) {
	for _, r := range list {
		if c, ok := r.(certificate); ok {
			m.certificates = append(m.certificates, c)
		}
	}
}

// handshakeFailed counts a client that could not agree on TLS.
func (m *Metrics) handshakeFailed() {
	if m != nil {
		m.handshakeFailures.Add(1)
	}
}

// denied counts a command that the user had no right to.
func (m *Metrics) denied(d denial) {
	if m != nil {
		m.denials[d].Add(1)
	}
}
