package conf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// finish makes what depends on more than one setting, and looks for
// contradictions.
func (p *parser) finish() {
	p.RequirePass = p.secret("requirepass", p.RequirePass, p.passFile)
	p.mastersPass = p.secret("masters-password", p.mastersPass, p.mastersPassFile)
	p.finishMasters()
	p.checkAccess()
	p.checkTTLs()
	p.checkAddresses()
}

// secret is the value of an option that has a -file twin.
func (p *parser) secret(name, value, file string) string {
	if file == "" {
		return value
	}
	source := p.source(name + "-file")
	if value != "" {
		p.fault(source, fmt.Errorf("%s is given too; use one of them", p.source(name)))
		return value
	}
	content, err := p.readFile(file)
	if err != nil {
		p.fault(source, err)
		return value
	}
	// Editors and echo end a file with a line break; secrets do not.
	value = strings.TrimRight(string(content), "\r\n")
	if value == "" {
		p.fault(source, fmt.Errorf("%s is empty", file))
	}
	return value
}

func (p *parser) finishMasters() {
	tlsConfig := p.tlsConfig()
	if p.masterList == "" {
		p.checkCount(p.EmbeddedMasters)
		p.unused("without --masters", "masters-username", "masters-password", "masters-password-file", "tls-ca", "tls-cert", "tls-key")
		return
	}
	base := Master{Username: p.mastersUser, Password: p.mastersPass, TLS: tlsConfig}
	found, err := parseMasters(p.masterList, base)
	if err != nil {
		p.fault(p.source("masters"), err)
		return
	}
	p.Masters = found
	p.checkCount(len(found))
	p.unused("with --masters", "embedded-masters")
	if p.withoutTLS() {
		p.unused("without a rediss:// master", "tls-ca", "tls-cert", "tls-key")
	}
}

// checkCount warns of numbers that are legal and give little.
func (p *parser) checkCount(n int) {
	switch {
	case n == 1:
		p.warn("1 master is no quorum: when it stops no lock can be had, and when it restarts locks may be lost; use 3 or 5")
	case n == 2:
		p.warn("2 masters: both must answer, so either of them stops everything; use 3 or 5")
	case n%2 == 0:
		p.warn("%d masters survive the loss of %d, no more than %d masters do; use an odd number", n, (n-1)/2, n-1)
	}
}

// unused warns of settings that have no effect here.
func (p *parser) unused(why string, names ...string) {
	for _, name := range names {
		if o := p.option(name); o.given && o.text != "" {
			p.warn("%s has no effect %s", o.source, why)
		}
	}
}

func (p *parser) withoutTLS() bool {
	for _, m := range p.Masters {
		if m.TLS != nil {
			return false
		}
	}
	return true
}

// tlsConfig is what rediss:// masters start from. There is no way to skip
// verification: who can impersonate a master can forge votes.
func (p *parser) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.tlsCA != "" {
		pem, err := p.readFile(p.tlsCA)
		c.RootCAs = x509.NewCertPool()
		if err == nil && !c.RootCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("%s holds no certificate in PEM form", p.tlsCA)
		}
		if err != nil {
			p.fault(p.source("tls-ca"), err)
		}
	}
	switch {
	case p.tlsCert == "" && p.tlsKey == "":
	case p.tlsKey == "":
		p.fault(p.source("tls-cert"), errors.New("needs --tls-key too"))
	case p.tlsCert == "":
		p.fault(p.source("tls-key"), errors.New("needs --tls-cert too"))
	default:
		p.ownCertificate(c)
	}
	return c
}

func (p *parser) ownCertificate(c *tls.Config) {
	certificate, certErr := p.readFile(p.tlsCert)
	if certErr != nil {
		p.fault(p.source("tls-cert"), certErr)
	}
	key, keyErr := p.readFile(p.tlsKey)
	if keyErr != nil {
		p.fault(p.source("tls-key"), keyErr)
	}
	if certErr != nil || keyErr != nil {
		return
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		p.fault(p.source("tls-cert"), fmt.Errorf("%s with %s: %w", p.tlsCert, p.tlsKey, err))
		return
	}
	c.Certificates = []tls.Certificate{pair}
}

func (p *parser) checkAccess() {
	if p.RequirePass == "" && p.passFile == "" && p.User != "default" {
		p.fault(p.source("user"), errors.New("needs a password: --requirepass-file or --requirepass"))
	}
	if p.RequirePass == "" && !p.ProtectedMode && !loopback(p.Listen) {
		p.warn("no password and protected mode off: whoever can reach %s can take and release any lock; set --requirepass-file or keep the network trusted", p.Listen)
	}
}

// checkTTLs lets a shorter --max-ttl pull the default TTL down with it.
func (p *parser) checkTTLs() {
	if p.MaxTTL == 0 || p.DefaultTTL <= p.MaxTTL {
		return
	}
	if p.option("default-ttl").given {
		p.fault(p.source("max-ttl"), fmt.Errorf("%v is shorter than --default-ttl %v; locks without a TTL could never be taken", p.MaxTTL, p.DefaultTTL))
	}
	p.DefaultTTL = p.MaxTTL
}

func (p *parser) checkAddresses() {
	if p.MetricsAddr != "" && p.MetricsAddr == p.Listen && !strings.HasSuffix(p.Listen, ":0") {
		p.fault(p.source("metrics-addr"), fmt.Errorf("%s is what clients connect to (--listen); it needs another port", p.MetricsAddr))
	}
	if p.Command != Healthcheck && p.option("address").source == "--address" {
		p.fault("--address", errors.New("is for healthcheck only; to listen somewhere else use --listen"))
	}
	if p.Address == "" {
		p.Address = reachable(p.Listen)
	}
}

// loopback says whether only this machine can reach a listening address.
func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable is how this machine gets to a listening address: "every
// interface" is none to connect to.
func reachable(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if strings.Contains(ip.String(), ":") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
