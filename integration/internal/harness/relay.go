package harness

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Relay is a TCP network in front of one server, that can be slow or lose what
// it carries.
type Relay struct {
	ln     net.Listener
	target atomic.Pointer[string]
	delay  atomic.Int64   // of each direction
	lossy  [2]atomic.Bool // by direction
	dials  atomic.Int64

	mu    sync.Mutex
	pipes map[*pipe]bool
}

// The directions of a relay.
const (
	requests = iota
	replies
)

// pipe is one connection through a relay.
type pipe struct {
	client, server net.Conn
	broken         [2]atomic.Bool // something was lost in this direction
	open           atomic.Int32   // directions that still carry something
}

// StartRelay listens on a port of its own and connects to target.
func StartRelay(target string) (*Relay, error) { return StartRelayOn("127.0.0.1", target) }

// StartRelayOn is StartRelay for another address of this machine.
func StartRelayOn(host, target string) (*Relay, error) {
	port, err := FreePortOf(host)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", HostAddr(host, port))
	if err != nil {
		return nil, err
	}
	r := &Relay{ln: ln, pipes: make(map[*pipe]bool)}
	r.Retarget(target)
	go r.accept()
	return r, nil
}

// Addr is where the relay listens.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

// Retarget makes new connections go to another server, like a name that has
// moved to another address. Those that are open stay.
func (r *Relay) Retarget(target string) { r.target.Store(&target) }

// Delay makes everything take d longer, in each direction.
func (r *Relay) Delay(d time.Duration) { r.delay.Store(int64(d)) }

// Lose, if on, swallows what is sent, as a network that drops packets: nothing
// arrives and no connection ends. A connection that lost something carries
// nothing any more in that direction after that, not even its end.
func (r *Relay) Lose(on bool) {
	r.LoseRequests(on)
	r.LoseReplies(on)
}

// LoseRequests is Lose for what goes to the server only: it executes nothing.
func (r *Relay) LoseRequests(on bool) { r.lossy[requests].Store(on) }

// LoseReplies is Lose for what comes from the server only: it executes what
// nobody hears of.
func (r *Relay) LoseReplies(on bool) { r.lossy[replies].Store(on) }

// Cut ends all connections, at both ends. What is still on its way is lost.
func (r *Relay) Cut() {
	for _, p := range r.all() {
		p.close()
	}
}

// HalfOpen ends all connections at the server only: the other end is not told.
func (r *Relay) HalfOpen() {
	for _, p := range r.all() {
		p.broken[requests].Store(true)
		p.broken[replies].Store(true)
		p.server.Close()
	}
}

// Dials is how many connections were made so far.
func (r *Relay) Dials() int64 { return r.dials.Load() }

// Close ends the relay and its connections.
func (r *Relay) Close() {
	r.ln.Close()
	r.Cut()
}

func (r *Relay) all() []*pipe {
	r.mu.Lock()
	defer r.mu.Unlock()
	pipes := make([]*pipe, 0, len(r.pipes))
	for p := range r.pipes {
		pipes = append(pipes, p)
	}
	return pipes
}

func (p *pipe) close() {
	p.client.Close()
	p.server.Close()
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
	server, err := net.Dial("tcp", *r.target.Load())
	if err != nil {
		client.Close()
		return
	}
	p := &pipe{client: client, server: server}
	p.open.Store(2)
	r.mu.Lock()
	r.pipes[p] = true
	r.mu.Unlock()
	go r.carry(p, requests, server, client)
	go r.carry(p, replies, client, server)
}

// chunk is data on its way.
type chunk struct {
	data []byte
	due  time.Time
}

// carry copies from one connection to the other, late, until either ends.
func (r *Relay) carry(p *pipe, direction int, to, from net.Conn) {
	wire := make(chan chunk, 1024)
	go func() {
		for c := range wire {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
		if !p.broken[direction].Load() {
			to.Close()
		}
		r.carried(p)
	}()
	defer close(wire)
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && r.lossy[direction].Load() {
			p.broken[direction].Store(true)
		}
		if n > 0 && !p.broken[direction].Load() {
			wire <- chunk{append([]byte(nil), buf[:n]...), time.Now().Add(time.Duration(r.delay.Load()))}
		}
		if err != nil {
			return
		}
	}
}

// carried forgets a connection when both of its directions have ended.
func (r *Relay) carried(p *pipe) {
	if p.open.Add(-1) > 0 {
		return
	}
	p.close()
	r.mu.Lock()
	delete(r.pipes, p)
	r.mu.Unlock()
}
