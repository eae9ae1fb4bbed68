package conf

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// portOrAddress takes a port, or host:port.
func portOrAddress(dst *string) func(string) error {
	return func(s string) error {
		if _, err := strconv.Atoi(s); err == nil {
			*dst = s
			return checkPort(s)
		}
		if address(dst)(s) != nil {
			return fmt.Errorf("%q is neither a port nor host:port, like 6379 or 0.0.0.0:6379", s)
		}
		return nil
	}
}

// protocols takes the versions that are left of TLS, in Redis's spelling.
func protocols(dst *[]uint16) func(string) error {
	return func(s string) error {
		var versions []uint16
		for word := range strings.FieldsSeq(s) {
			switch strings.ToLower(word) {
			case "tlsv1.2":
				versions = append(versions, tls.VersionTLS12)
			case "tlsv1.3":
				versions = append(versions, tls.VersionTLS13)
			case "tlsv1", "tlsv1.1":
				return fmt.Errorf("%s is not safe any more; TLSv1.2 and TLSv1.3 are", word)
			default:
				return fmt.Errorf("%q is neither TLSv1.2 nor TLSv1.3", word)
			}
		}
		if len(versions) == 0 {
			return errors.New("names no version; write TLSv1.2, TLSv1.3 or both")
		}
		*dst = versions
		return nil
	}
}

// finishTLS makes what the TLS listener needs.
func (p *parser) finishTLS() {
	if p.tlsPort == "0" || p.tlsPort == "" {
		p.unused("without --tls-port", "tls-cert-file", "tls-key-file", "tls-ca-cert-file", "tls-auth-clients", "tls-protocols")
		if p.Listen == "" {
			p.fault(p.source("listen"), errors.New("off leaves nowhere to connect to; it needs --tls-port"))
		}
		return
	}
	p.TLSListen = p.tlsAddress()
	c := &Certificates{files: p.tlsFiles, readFile: p.readFile, server: true, base: p.listenerTLS()}
	switch {
	case p.tlsFiles.Cert == "":
		p.fault(p.source("tls-port"), errors.New("needs --tls-cert-file and --tls-key-file"))
	case p.tlsFiles.CA == "" && p.tlsAuthClients != "no":
		p.fault(p.source("tls-auth-clients"), fmt.Errorf("%s needs --tls-ca-cert-file, to know whose certificates are good; no asks for none", p.tlsAuthClients))
	case p.loadCertificates(c, "tls-"):
		p.TLS = c
		p.ClientCertificates = p.tlsAuthClients == "yes"
		if p.tlsAuthClients == "no" {
			p.unused("with --tls-auth-clients no", "tls-ca-cert-file")
		}
	}
}

// tlsAddress is where the TLS listener listens.
func (p *parser) tlsAddress() string {
	if _, err := strconv.Atoi(p.tlsPort); err != nil {
		return p.tlsPort
	}
	host := "127.0.0.1"
	if p.Listen != "" {
		host, _, _ = net.SplitHostPort(p.Listen)
	}
	return net.JoinHostPort(host, p.tlsPort)
}

// listenerTLS is what the files do not say. Session tickets save a client that
// connects again half of the handshake, but would let one in by a certificate
// that has been looked at earlier.
func (p *parser) listenerTLS() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS12}
	for _, version := range p.tlsProtocols {
		c.MinVersion, c.MaxVersion = min(c.MinVersion, version), max(c.MaxVersion, version)
	}
	switch p.tlsAuthClients {
	case "yes":
		c.ClientAuth, c.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	case "optional":
		c.ClientAuth, c.SessionTicketsDisabled = tls.VerifyClientCertIfGiven, true
	}
	return c
}

// mastersTLS is what rediss:// masters start from. There is no way to skip
// verification: who can impersonate a master can forge votes.
func (p *parser) mastersTLS() *Certificates {
	c := &Certificates{files: p.mastersTLSFiles, readFile: p.readFile, base: &tls.Config{MinVersion: tls.VersionTLS12}}
	p.loadCertificates(c, "masters-tls-")
	return c
}

// loadCertificates loads c for the first time, and reports what is wrong under
// the flags that begin with prefix.
func (p *parser) loadCertificates(c *Certificates, prefix string) (ok bool) {
	switch cert, key := prefix+"cert-file", prefix+"key-file"; {
	case c.files.Cert != "" && c.files.Key == "":
		p.fault(p.source(cert), fmt.Errorf("needs --%s too", key))
		return false
	case c.files.Key != "" && c.files.Cert == "":
		p.fault(p.source(key), fmt.Errorf("needs --%s too", cert))
		return false
	}
	first, err := c.load()
	if err != nil {
		p.certificateFaults(prefix, err)
		return false
	}
	c.now.Store(first)
	if t := first.expires; !t.IsZero() && t.Before(time.Now()) {
		p.warn("%s: the certificate in %s expired at %s", p.source(prefix+"cert-file"), c.files.Cert, t.UTC().Format(time.RFC3339))
	}
	return true
}

func (p *parser) certificateFaults(prefix string, err error) {
	var one *fileFault
	switch joined, several := err.(interface{ Unwrap() []error }); {
	case several:
		for _, e := range joined.Unwrap() {
			p.certificateFaults(prefix, e)
		}
	case errors.As(err, &one):
		p.fault(p.source(prefix+one.option), one.err)
	}
}

// Certificates are those that are in use.
func (c *Config) Certificates() (all []*Certificates) {
	for _, one := range []*Certificates{c.TLS, c.MastersTLS} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// HealthcheckTLS is what the healthcheck connects with: nil if there is a port
// without TLS. The certificate is right if it is the one that is configured,
// whatever names are in it.
func (c *Config) HealthcheckTLS() *tls.Config {
	if c.Listen != "" || c.TLS == nil {
		return nil
	}
	own := c.TLS.Config().Certificates
	return &tls.Config{
		Certificates:       own, // if it asks for one
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, own[0].Certificate[0]) {
				return errors.New("the certificate is not that of --tls-cert-file")
			}
			return nil
		},
	}
}
