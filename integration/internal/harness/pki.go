package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates for tests.
type Authority struct {
	File string // its own certificate

	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	issued      int64
}

// KeyPair is the files of a certificate and its key.
type KeyPair struct{ Cert, Key string }

// NewAuthority makes an authority whose files are in dir.
func NewAuthority(dir, name string) (*Authority, error) {
	a := &Authority{dir: dir, File: filepath.Join(dir, name+".crt")}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return a, writePEM(a.File, "CERTIFICATE", der)
}

// Issue makes a certificate for a name and 127.0.0.1, good until a time, and
// writes it over an older one of that name.
func (a *Authority) Issue(name string, until time.Time) (KeyPair, error) {
	pair := KeyPair{filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, err
	}
	a.issued++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1 + a.issued), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until,
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return pair, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair, err
	}
	if err := writePEM(pair.Key, "PRIVATE KEY", secret); err != nil {
		return pair, err
	}
	return pair, writePEM(pair.Cert, "CERTIFICATE", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// Client is what a client connects with that trusts the authority; own may be
// empty.
func (a *Authority) Client(own KeyPair) (*tls.Config, error) {
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(a.File)
	if err != nil {
		return nil, err
	}
	pool.AppendCertsFromPEM(pem)
	c := &tls.Config{RootCAs: pool}
	if own.Cert != "" {
		pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// DialTLS is Dial with TLS.
func DialTLS(addr string, config *tls.Config) (*Conn, error) {
	dialer := &net.Dialer{Timeout: ioTimeout}
	c, err := tls.DialWithDialer(dialer, "tcp", addr, config)
	if err != nil {
		return nil, err
	}
	return NewConn(c), nil
}
