package conf

import (
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
	p.MetricsPassword = p.secret("metrics-password", p.MetricsPassword, p.metricsPassFile)
	p.finishMasters()
	p.finishTLS()
	p.checkAccess()
	p.checkTTLs()
	p.checkBuffers()
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
	certificates := p.mastersTLS()
	if p.masterList == "" {
		p.checkCount(p.EmbeddedMasters)
		p.unused("without --masters", "masters-username", "masters-password", "masters-password-file",
			"masters-tls-ca-cert-file", "masters-tls-cert-file", "masters-tls-key-file")
		return
	}
	base := Master{Username: p.mastersUser, Password: p.mastersPass, TLS: certificates.Config}
	found, err := parseMasters(p.masterList, base)
	if err != nil {
		p.fault(p.source("masters"), err)
		return
	}
	p.Masters = found
	p.checkCount(len(found))
	p.unused("with --masters", "embedded-masters")
	if p.withoutTLS() {
		p.unused("without a rediss:// master", "masters-tls-ca-cert-file", "masters-tls-cert-file", "masters-tls-key-file")
		return
	}
	p.MastersTLS = certificates
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

func (p *parser) checkAccess() {
	if p.ACLFile != "" {
		for _, name := range []string{"requirepass", "requirepass-file", "user"} {
			if p.option(name).given {
				p.fault(p.source("aclfile"), fmt.Errorf("%s is given too; users and their passwords are in the file", p.source(name)))
			}
		}
		return
	}
	if p.RequirePass == "" && p.passFile == "" && p.User != "default" {
		p.fault(p.source("user"), errors.New("needs a password: --requirepass-file or --requirepass"))
	}
	if p.RequirePass != "" || p.ProtectedMode {
		return
	}
	for _, address := range p.openAddresses() {
		p.warn("no password and protected mode off: whoever can reach %s can take and release any lock; set --requirepass-file or keep the network trusted", address)
	}
}

// openAddresses are those that others than this machine reach, without showing
// a certificate.
func (p *parser) openAddresses() (open []string) {
	if p.Listen != "" && !loopback(p.Listen) {
		open = append(open, p.Listen)
	}
	if p.TLSListen != "" && !p.ClientCertificates && !loopback(p.TLSListen) {
		open = append(open, p.TLSListen)
	}
	return open
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
	p.differ("metrics-addr", p.MetricsAddr, "listen", p.Listen)
	p.differ("metrics-addr", p.MetricsAddr, "tls-port", p.TLSListen)
	p.differ("tls-port", p.TLSListen, "listen", p.Listen)
	if p.MetricsAddr != "" && p.StatusPage && p.MetricsPassword == "" && !loopback(p.MetricsAddr) {
		p.warn("whoever can reach %s sees the names of locks and the addresses of clients on the status page; set --metrics-password-file, or --status-page=false", p.MetricsAddr)
	}
	if p.Command != Healthcheck && p.option("address").source == "--address" {
		p.fault("--address", errors.New("is for healthcheck only; to listen somewhere else use --listen"))
	}
	switch {
	case p.Address != "":
	case p.Listen != "":
		p.Address = reachable(p.Listen)
	default:
		p.Address = reachable(p.TLSListen)
	}
}

// differ reports an address that is that of another setting, where clients
// connect.
func (p *parser) differ(name, address, other, taken string) {
	if address != "" && address == taken && !strings.HasSuffix(taken, ":0") {
		p.fault(p.source(name), fmt.Errorf("%s is what clients connect to (--%s); it needs another port", address, other))
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
