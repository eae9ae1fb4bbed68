package integration

import (
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

func TestCertificatesAreReadAgain(t *testing.T) {
	p := newPKI(t)
	proxy, addr := startTLSProxy(t, p)
	old := dialTLS(t, addr, p.config(t, p.client))
	expect(t, old, "+PONG", "PING")
	first := serial(t, addr, p.config(t, p.client))

	issue(t, p.Authority, "server", time.Hour)
	waitForSerial(t, addr, p, func(n string) bool { return n != first }, 10*time.Second) // by itself

	second := serial(t, addr, p.config(t, p.client))
	if err := os.WriteFile(p.server.Key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy.Signal(syscall.SIGHUP)
	waitForLog(t, proxy, "cannot read again")
	if got := serial(t, addr, p.config(t, p.client)); got != second {
		t.Errorf("after a broken file the certificate is %s, want %s", got, second)
	}

	issue(t, p.Authority, "server", -time.Hour)
	proxy.Signal(syscall.SIGHUP)
	waitForLog(t, proxy, "the certificate expired at")

	issue(t, p.Authority, "server", time.Hour)
	proxy.Signal(syscall.SIGHUP)
	waitForSerial(t, addr, p, func(n string) bool { return n != second }, soon)
	expect(t, old, "+PONG", "PING")
}

// TestAnAuthorityThatIsGoneLetsNobodyIn, though it did before.
func TestAnAuthorityThatIsGoneLetsNobodyIn(t *testing.T) {
	p, next := newPKI(t), newPKI(t)
	proxy, addr := startTLSProxy(t, p)
	config := p.config(t, p.client)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for range 2 {
		if err := pingTLS(addr, config); err != nil {
			t.Fatal(err)
		}
	}
	other, err := os.ReadFile(next.File)
	if err != nil {
		t.Fatal(err)
	}
	trusted := p.config(t, p.client).RootCAs
	if err := os.WriteFile(p.File, other, 0o600); err != nil {
		t.Fatal(err)
	}
	proxy.Signal(syscall.SIGHUP)
	config.RootCAs = trusted
	eventually(t, soon, func() error {
		if err := pingTLS(addr, config); err == nil {
			return fmt.Errorf("still served")
		}
		return nil
	})
	theirs := next.config(t, next.client)
	theirs.RootCAs = trusted
	if err := pingTLS(addr, theirs); err != nil {
		t.Error(err)
	}
}

func serial(t *testing.T, addr string, config *tls.Config) string {
	t.Helper()
	c := dialTLS(t, addr, config)
	defer c.Close()
	return c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func waitForSerial(t *testing.T, addr string, p *pki, fits func(string) bool, timeout time.Duration) {
	t.Helper()
	eventually(t, timeout, func() error {
		if n := serial(t, addr, p.config(t, p.client)); !fits(n) {
			return fmt.Errorf("the certificate is still %s", n)
		}
		return nil
	})
}

// TestCertificatesForMastersAreReadAgain: a proxy that does not trust its masters
// begins to when the file is put right.
func TestCertificatesForMastersAreReadAgain(t *testing.T) {
	p, foreign := newPKI(t), newPKI(t)
	var urls []string
	for range 3 {
		port, err := harness.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		startRedis(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", p.server.Cert, "--tls-key-file", p.server.Key,
			"--tls-ca-cert-file", p.File, "--tls-auth-clients", "no")
		urls = append(urls, fmt.Sprintf("rediss://127.0.0.1:%d", port))
	}
	proxy := startUnreadyProxy(t, urls, "--masters-tls-ca-cert-file", foreign.File)
	waitForLog(t, proxy, "certificate signed by unknown authority")
	right, err := os.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign.File, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := proxy.WaitReady(20 * time.Second); err != nil {
		t.Error(err)
	}
}
