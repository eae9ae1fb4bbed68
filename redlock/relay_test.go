package redlock

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// relay is a network between a proxy and one server that can lose everything
// without closing anything.
type relay struct {
	ln       net.Listener
	to       string
	accepted atomic.Int64
	ended    chan struct{} // with the test

	mu      sync.Mutex
	blocked chan struct{} // nil: open; closed when it opens again
}

func startRelay(t *testing.T, to string, config *tls.Config) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	r := &relay{ln: ln, to: to, ended: make(chan struct{})}
	t.Cleanup(func() { ln.Close(); close(r.ended) })
	go r.serve()
	return r
}

func (r *relay) serve() {
	for {
		in, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.accepted.Add(1)
		out, err := net.Dial("tcp", r.to)
		if err != nil {
			in.Close()
			continue
		}
		go r.carry(in, out)
		go r.carry(out, in)
	}
}

func (r *relay) carry(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if wait := r.state(); wait != nil {
			select { // what was read is lost
			case <-wait:
			case <-r.ended:
			}
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (r *relay) state() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

func (r *relay) block() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked = make(chan struct{})
}

func (r *relay) unblock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked != nil {
		close(r.blocked)
		r.blocked = nil
	}
}

func TestSilentNetworkIsNoticedAndHeals(t *testing.T) {
	servers := startServers(t, 3)
	r := startRelay(t, servers[0].addr, nil)
	c := openCluster(t, &testServer{addr: r.ln.Addr().String()}, servers[1], servers[2])
	awaitVoters(t, c, "123", "")
	r.block()
	since := time.Now()
	awaitVoters(t, c, "23", "no answer for")
	if took := time.Since(since); took > 2*time.Second {
		t.Errorf("noticed after %v, want less than 2s", took)
	}
	mustCycle(t, c)
	r.unblock()
	awaitVoters(t, c, "123", "")
}

func TestConnectionThatIsReplacedIsKilledFirst(t *testing.T) {
	s := startServer(t)
	r := startRelay(t, s.addr, nil)
	c := openCluster(t, &testServer{addr: r.ln.Addr().String()})
	awaitVoters(t, c, "1", "")
	r.block()
	awaitVoters(t, c, "", "")
	ours := func() int {
		list, _ := do(t, s.client(), "CLIENT", "LIST").ToString()
		return strings.Count(list, "name=redlock-proxy")
	}
	if n := ours(); n != 1 {
		t.Fatalf("the server has %d connections of ours, want the old one", n)
	}
	// Only new connections get through: the old one stays open at the server.
	r.mu.Lock()
	r.blocked = nil
	r.mu.Unlock()
	awaitVoters(t, c, "1", "")
	if n := ours(); n != 1 {
		t.Errorf("the server has %d connections of ours, want the new one only", n)
	}
}

func TestServerThatHangsUpIsNotDialledInALoop(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var dials atomic.Int64
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			conn.Close()
		}
	}()
	c := openCluster(t, &testServer{addr: ln.Addr().String()})
	end := time.After(time.Second)
	for running := true; running; {
		select {
		case <-end:
			running = false
		default:
			decideOn(t, c, lockSwap("k", "t"))
		}
	}
	if n := dials.Load(); n < 2 || n > 12 {
		t.Errorf("dialled %d times in a second, want a few", n)
	}
}

func TestMasterBehindTLS(t *testing.T) {
	server := startServer(t)
	cert, pool := selfSigned(t)
	r := startRelay(t, server.addr, &tls.Config{Certificates: []tls.Certificate{cert}})
	for _, tt := range []struct {
		name, votes, reason string
		config              *tls.Config
	}{
		{"trusted", "1", "", &tls.Config{RootCAs: pool}},
		{"not trusted", "", "TLS: ", &tls.Config{RootCAs: x509.NewCertPool()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Open(ClusterConfig{Masters: []MasterAddr{{Address: r.ln.Addr().String(), TLS: func() *tls.Config { return tt.config }}}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			awaitVoters(t, c, tt.votes, tt.reason)
		})
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestVerificationBoundsWhatItReads(t *testing.T) {
	for name, answer := range map[string]string{
		"not Redis":      "HTTP/1.1 400 Bad Request\r\n\r\n",
		"a huge reply":   "$99999999999\r\n",
		"a huge array":   "*99999999999\r\n",
		"an empty line":  "\r\n",
		"a closed reply": "$10\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				theirs.Read(make([]byte, 4096))
				io.WriteString(theirs, answer)
				theirs.Close()
			}()
			if _, err := verify(ours, &MasterAddr{}, 0, "key", previous{}, SystemClock().Now); err == nil {
				t.Error("no error")
			}
		})
	}
}
