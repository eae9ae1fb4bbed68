package conf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// CertificateFiles are the paths of PEM files; empty ones are not used.
type CertificateFiles struct {
	Cert, Key string // the own certificate
	CA        string // the authorities to trust
}

// Certificates are what PEM files hold that one end of TLS connections needs.
// They may be read again while connections are made with them: those that
// there are go on, new ones get what is new.
//
// The methods may be called by several goroutines.
type Certificates struct {
	files    CertificateFiles
	readFile func(string) ([]byte, error)
	base     *tls.Config // what does not come from files
	server   bool        // CA is for clients' certificates

	loading sync.Mutex
	now     atomic.Pointer[loaded]
}

// loaded is what the files held when they were last in order.
type loaded struct {
	content [3][]byte // of Cert, Key and CA
	config  *tls.Config
	expires time.Time // of the own certificate; zero if there is none
}

// fileFault is what is wrong with one of the files; option is the end of the
// name of its flag.
type fileFault struct {
	option string
	err    error
}

func (f *fileFault) Error() string { return f.err.Error() }
func (f *fileFault) Unwrap() error { return f.err }

// ShownTo says at the other end of which connections they are seen: that of
// "clients" or of "masters".
func (c *Certificates) ShownTo() string {
	if c.server {
		return "clients"
	}
	return "masters"
}

// String says what they are, for the log.
func (c *Certificates) String() string { return "certificates for " + c.ShownTo() }

// Config is what to make the next connection with. It must not be modified.
func (c *Certificates) Config() *tls.Config { return c.now.Load().config }

// Expires is when the own certificate does; zero if there is none.
func (c *Certificates) Expires() time.Time { return c.now.Load().expires }

// Changed reports whether a file holds something else than was loaded.
func (c *Certificates) Changed() bool {
	content, err := c.read()
	if err != nil {
		return true
	}
	old := c.now.Load().content
	for i := range content {
		if !bytes.Equal(content[i], old[i]) {
			return true
		}
	}
	return false
}

// Reload reads the files again. If that fails, or would replace a certificate
// by one that has expired, everything stays as it is.
func (c *Certificates) Reload() error {
	c.loading.Lock()
	defer c.loading.Unlock()
	fresh, err := c.load()
	if err != nil {
		return err
	}
	if !fresh.expires.IsZero() && fresh.expires.Before(time.Now()) {
		return fmt.Errorf("%s: the certificate expired at %s", c.files.Cert, fresh.expires.UTC().Format(time.RFC3339))
	}
	c.now.Store(fresh)
	return nil
}

// read reads the files. Its errors are *fileFault, joined.
func (c *Certificates) read() (content [3][]byte, err error) {
	var faults []error
	for i, f := range [...]struct{ option, path string }{
		{"cert-file", c.files.Cert}, {"key-file", c.files.Key}, {"ca-cert-file", c.files.CA},
	} {
		if f.path == "" {
			continue
		}
		if content[i], err = c.readFile(f.path); err != nil {
			faults = append(faults, &fileFault{f.option, err})
		}
	}
	return content, errors.Join(faults...)
}

// load reads the files and makes the configuration of them. Its errors are
// *fileFault, joined.
func (c *Certificates) load() (*loaded, error) {
	content, err := c.read()
	if err != nil {
		return nil, err
	}
	l := &loaded{content: content, config: c.base.Clone()}
	return l, errors.Join(l.own(&c.files), l.authorities(c))
}

// own sets the own certificate.
func (l *loaded) own(files *CertificateFiles) error {
	if files.Cert == "" {
		return nil
	}
	pair, err := tls.X509KeyPair(l.content[0], l.content[1])
	if err != nil {
		return &fileFault{"cert-file", fmt.Errorf("%s with %s: %w", files.Cert, files.Key, err)}
	}
	l.config.Certificates, l.expires = []tls.Certificate{pair}, pair.Leaf.NotAfter
	return nil
}

// authorities sets whom to trust.
func (l *loaded) authorities(c *Certificates) error {
	if c.files.CA == "" {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(l.content[2]) {
		return &fileFault{"ca-cert-file", fmt.Errorf("%s holds no certificate in PEM form", c.files.CA)}
	}
	if c.server {
		l.config.ClientCAs = pool
	} else {
		l.config.RootCAs = pool
	}
	return nil
}
