package integration

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// pki is an authority and certificates of a server and a client.
type pki struct {
	*harness.Authority
	server, client harness.KeyPair
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	a, err := harness.NewAuthority(t.TempDir(), "authority")
	if err != nil {
		t.Fatal(err)
	}
	return &pki{a, issue(t, a, "server", time.Hour), issue(t, a, "client", time.Hour)}
}

// issue makes a certificate that is good for so long.
func issue(t *testing.T, a *harness.Authority, name string, life time.Duration) harness.KeyPair {
	t.Helper()
	pair, err := a.Issue(name, time.Now().Add(life))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// config is what a client connects with; own may be empty.
func (p *pki) config(t *testing.T, own harness.KeyPair) *tls.Config {
	t.Helper()
	c, err := p.Client(own)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// flags make a proxy listen with TLS, too.
func (p *pki) flags(addr string, more ...string) []string {
	return append([]string{"--tls-port", addr, "--tls-cert-file", p.server.Cert, "--tls-key-file", p.server.Key, "--tls-ca-cert-file", p.File}, more...)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return harness.LocalAddr(port)
}

// startTLSProxy starts a proxy with embedded masters and returns where it
// listens with TLS, beside its plain address.
func startTLSProxy(t *testing.T, p *pki, flags ...string) (proxy *harness.Proxy, addr string) {
	t.Helper()
	addr = freeAddr(t)
	return startProxyOn(t, nil, p.flags(addr, flags...)...), addr
}

func dialTLS(t *testing.T, addr string, config *tls.Config) *harness.Conn {
	t.Helper()
	c, err := harness.DialTLS(addr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// pingTLS says why a client cannot be served: a missing certificate shows when
// it reads.
func pingTLS(addr string, config *tls.Config) error {
	c, err := harness.DialTLS(addr, config)
	if err != nil {
		return err
	}
	defer c.Close()
	reply, err := c.Do("PING")
	if err == nil && reply != "+PONG" {
		err = fmt.Errorf("PING: %s", reply)
	}
	return err
}

func TestRedisCLIOverTLS(t *testing.T) {
	p := newPKI(t)
	proxy, addr := startTLSProxy(t, p)
	for _, version := range []string{"-2", "-3"} {
		got := redisCLI(t, addr, session, version, "--tls", "--cacert", p.File, "--cert", p.client.Cert, "--key", p.client.Key)
		if got := strings.ReplaceAll(got, "\n\n", "\n"); got != sessionAnswers {
			t.Errorf("got\n%s\nwant\n%s", got, sessionAnswers)
		}
		do(t, proxy.Addr, "DEL", "lock:a", "lock:b", "lock:c") // the other port leads to the same locks
	}
}

func TestClientCertificates(t *testing.T) {
	p, foreign := newPKI(t), newPKI(t)
	tests := []struct {
		mode  string
		own   harness.KeyPair
		fault string // a part of the client's error; empty: served
	}{
		{"yes", p.client, ""},
		{"yes", harness.KeyPair{}, "certificate required"},
		{"yes", foreign.client, "unknown certificate authority"},
		{"yes", issue(t, p.Authority, "expired", -time.Hour), "expired certificate"},
		{"optional", p.client, ""},
		{"optional", harness.KeyPair{}, ""},
		{"optional", foreign.client, "unknown certificate authority"},
		{"no", harness.KeyPair{}, ""},
		{"no", foreign.client, ""},
	}
	for _, mode := range []string{"yes", "optional", "no"} {
		proxy, addr := startTLSProxy(t, p, "--tls-auth-clients", mode)
		faults := 0
		for _, tt := range tests {
			if tt.mode != mode {
				continue
			}
			config := p.config(t, tt.own)
			// Else crypto/tls keeps a certificate back that it knows will not do.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(config.Certificates) == 0 {
					return &tls.Certificate{}, nil
				}
				return &config.Certificates[0], nil
			}
			err := pingTLS(addr, config)
			if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("--tls-auth-clients %s: got %v, want %q", mode, err, tt.fault)
			}
			if tt.fault != "" {
				faults++
			}
		}
		eventually(t, soon, func() error {
			if n, err := proxy.Metric("redlock_proxy_tls_handshake_failures_total"); err != nil || int(n) != faults {
				return fmt.Errorf("%v handshakes failed, %v, want %d", n, err, faults)
			}
			return nil
		})
	}
}

func TestProtocolVersions(t *testing.T) {
	p := newPKI(t)
	for _, tt := range []struct {
		protocols string
		version   uint16
		served    bool
	}{
		{"TLSv1.2 TLSv1.3", tls.VersionTLS12, true},
		{"TLSv1.2 TLSv1.3", tls.VersionTLS13, true},
		{"TLSv1.3", tls.VersionTLS12, false},
		{"TLSv1.2", tls.VersionTLS12, true},
		{"TLSv1.2", tls.VersionTLS13, false},
	} {
		_, addr := startTLSProxy(t, p, "--tls-protocols", tt.protocols)
		config := p.config(t, p.client)
		config.MinVersion, config.MaxVersion = tt.version, tt.version
		if err := pingTLS(addr, config); (err == nil) != tt.served {
			t.Errorf("--tls-protocols %q, a client with %s: %v", tt.protocols, tls.VersionName(tt.version), err)
		}
	}
}

func waitForLog(t *testing.T, proxy *harness.Proxy, text string) {
	t.Helper()
	eventually(t, soon, func() error {
		if !strings.Contains(proxy.Log(), text) {
			return fmt.Errorf("the log does not say %q", text)
		}
		return nil
	})
}

func TestAnExpiredCertificateIsWarnedOfAndRefusedByClients(t *testing.T) {
	p := newPKI(t)
	issue(t, p.Authority, "server", -time.Hour)
	proxy, addr := startTLSProxy(t, p)
	waitForLog(t, proxy, "expired at")
	if err := pingTLS(addr, p.config(t, p.client)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("got %v", err)
	}
}

// TestWithTLSOnly closes the plain port; the healthcheck finds its way.
func TestWithTLSOnly(t *testing.T) {
	p := newPKI(t)
	addr := freeAddr(t)
	flags := append(p.flags(addr), "--listen", "off")
	process, err := harness.Start(binary, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	eventually(t, 10*time.Second, func() error { return pingTLS(addr, p.config(t, p.client)) })
	if code, log := runProxy(t, nil, append([]string{"healthcheck"}, flags...)...); code != 0 {
		t.Errorf("healthcheck: exit code %d\n%s", code, log)
	}
	if !strings.Contains(process.Log(), "listening "+addr+" with TLS, with a certificate") {
		t.Errorf("it says\n%s", process.Log())
	}
}

// TestTooManyClientsWithTLS: who is turned away before TLS is agreed on is not
// told why, as with Redis; nobody waits for it.
func TestTooManyClientsWithTLS(t *testing.T) {
	p := newPKI(t)
	proxy, addr := startTLSProxy(t, p, "--maxclients", "2")
	config := p.config(t, p.client)
	var first *harness.Conn
	eventually(t, soon, func() (err error) { // the connections of the start are gone
		if first, err = harness.DialTLS(addr, config); err == nil {
			_, err = first.Do("PING")
		}
		return err
	})
	defer first.Close()
	second := dial(t, proxy.Addr)
	expect(t, second, "+PONG", "PING")
	for range 3 {
		if err := pingTLS(addr, config); err == nil {
			t.Error("a third client is served")
		}
	}
	expect(t, first, "+PONG", "PING")
	second.Close()
	eventually(t, soon, func() error { return pingTLS(addr, config) })
}

func TestWhoSpeaksNoTLSIsCountedAndLoggedOnce(t *testing.T) {
	proxy, addr := startTLSProxy(t, newPKI(t))
	for range 3 {
		c := dial(t, addr)
		c.Queue("PING")
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if line, err := c.ReadLine(); err == nil {
			t.Errorf("answered %q", line)
		}
	}
	eventually(t, soon, func() error {
		if n, err := proxy.Metric("redlock_proxy_tls_handshake_failures_total"); err != nil || n != 3 {
			return fmt.Errorf("%v failures, %v", n, err)
		}
		return nil
	})
	if n := strings.Count(proxy.Log(), "could not agree on TLS"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}
