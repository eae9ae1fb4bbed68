package harness

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Relay is a TCP network in front of one server, that can be slow or lose what
// it carries.
type Relay struct {
	ln     net.Listener
	target string
	delay  atomic.Int64 // of each direction
	lossy  atomic.Bool
	dials  atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

// StartRelay listens on a port of its own and connects to target.
func StartRelay(target string) (*Relay, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", LocalAddr(port))
	if err != nil {
		return nil, err
	}
	r := &Relay{ln: ln, target: target}
	go r.accept()
	return r, nil
}

// Addr is where the relay listens.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

// Delay makes everything take d longer, in each direction.
func (r *Relay) Delay(d time.Duration) { r.delay.Store(int64(d)) }

// Lose, if on, swallows what is sent, as a network that drops packets: nothing
// arrives and no connection ends. A connection that lost something carries
// nothing any more after that.
func (r *Relay) Lose(on bool) { r.lossy.Store(on) }

// Dials is how many connections were made so far.
func (r *Relay) Dials() int64 { return r.dials.Load() }

// Close ends the relay and its connections.
func (r *Relay) Close() {
	r.ln.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
}

func (r *Relay) accept() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.dials.Add(1)
		go r.serve(client)
	}
}

func (r *Relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		client.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	var broken atomic.Bool
	go r.carry(server, client, &broken)
	r.carry(client, server, &broken)
}

// chunk is data on its way.
type chunk struct {
	data []byte
	due  time.Time
}

// carry copies from one connection to the other, late, until either ends.
func (r *Relay) carry(to, from net.Conn, broken *atomic.Bool) {
	wire := make(chan chunk, 1024)
	go func() {
		defer to.Close()
		for c := range wire {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
	}()
	defer close(wire)
	for {
		buf := make([]byte, 16<<10)
		n, err := from.Read(buf)
		if n > 0 && r.lossy.Load() {
			broken.Store(true)
		}
		if n > 0 && !broken.Load() {
			wire <- chunk{buf[:n], time.Now().Add(time.Duration(r.delay.Load()))}
		}
		if err == io.EOF && broken.Load() {
			return // the end of a connection gets lost, too
		}
		if err != nil {
			return
		}
	}
}
