package harness

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Balancer is a TCP load balancer as the usual ones are: it asks each backend
// for /readyz now and then, gives every new connection to the next one that was
// ready when it asked, and carries what comes, half-closes included. A
// connection whose backend cannot be reached is closed: there is no second try.
type Balancer struct {
	ln    net.Listener
	every time.Duration

	mu       sync.Mutex
	backends []*backend
	next     int
	refused  int
	stop     chan struct{}
}

type backend struct {
	proxy  *Proxy
	ready  bool
	served int // connections
}

// StartBalancer listens on a port of its own and asks its backends every so
// often.
func StartBalancer(every time.Duration) (*Balancer, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", LocalAddr(port))
	if err != nil {
		return nil, err
	}
	b := &Balancer{ln: ln, every: every, stop: make(chan struct{})}
	go b.accept()
	return b, nil
}

// Addr is where clients connect.
func (b *Balancer) Addr() string { return b.ln.Addr().String() }

// Add makes a proxy a backend; it gets connections once it has been ready.
func (b *Balancer) Add(p *Proxy) {
	one := &backend{proxy: p}
	b.mu.Lock()
	b.backends = append(b.backends, one)
	b.mu.Unlock()
	go b.watch(one)
}

// Refused is how many connections found no backend.
func (b *Balancer) Refused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// Served is how many connections a proxy was given.
func (b *Balancer) Served(p *Proxy) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.proxy == p {
			return one.served
		}
	}
	return 0
}

// Close ends the balancer; connections end with their clients or backends.
func (b *Balancer) Close() {
	b.ln.Close()
	close(b.stop)
}

func (b *Balancer) watch(one *backend) {
	ticker := time.NewTicker(b.every)
	defer ticker.Stop()
	for {
		code, _, err := one.proxy.Get("/readyz")
		b.mu.Lock()
		one.ready = err == nil && code == http.StatusOK
		b.mu.Unlock()
		select {
		case <-ticker.C:
		case <-b.stop:
			return
		}
	}
}

func (b *Balancer) accept() {
	for {
		client, err := b.ln.Accept()
		if err != nil {
			return
		}
		go b.carry(client)
	}
}

// pick returns the address of the next backend that is ready.
func (b *Balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		b.next++
		if one := b.backends[b.next%len(b.backends)]; one.ready {
			one.served++
			return one.proxy.Addr
		}
	}
	return ""
}

func (b *Balancer) carry(client net.Conn) {
	defer client.Close()
	addr := b.pick()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		b.mu.Lock()
		b.refused++
		b.mu.Unlock()
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(server, client) })
	both.Go(func() { copyHalf(client, server) })
	both.Wait()
}

// copyHalf carries one direction, and its end.
func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from) // the end is the end, whatever its reason
	to.(*net.TCPConn).CloseWrite()
}
