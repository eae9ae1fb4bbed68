//go:build linux

package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// events is what an attacker, or its neighbour, has done.
type events struct {
	Sent   int64 // of the kind that its rate is about
	Closed int64 // connections that the proxy closed
	Open   int64 // connections at the end
}

// actor is an attacker or its neighbour.
type actor struct {
	addr         string
	rate         float64 // events a second
	until        time.Time
	scale        int
	sent, closed atomic.Int64
	open         []net.Conn // for the actor's own goroutine, until the end
}

// act runs an attack, or well-behaved traffic, at the rate of the attack.
func (r *role) act(a *attack, run func(a *actor)) (events, error) {
	x := &actor{addr: r.addr, rate: a.rate, until: time.Now().Add(r.seconds), scale: r.scale}
	run(x)
	time.Sleep(time.Until(x.until))
	e := events{Sent: x.sent.Load(), Closed: x.closed.Load(), Open: int64(len(x.open))}
	for _, c := range x.open {
		c.Close()
	}
	return e, nil
}

// connections is a number of connections, fewer if it is only to be seen that it
// works.
func (a *actor) connections(n int) int { return max(n/a.scale, 10) }

// each calls f at the rate until the end, or until it returns false. Each call
// is so many events.
func (a *actor) each(batch int, f func() bool) {
	pause := time.Duration(float64(batch) / a.rate * float64(time.Second))
	for due := time.Now(); due.Before(a.until); due = due.Add(pause) {
		time.Sleep(time.Until(due))
		if !f() {
			return
		}
		a.sent.Add(int64(batch))
	}
}

// eachConn calls f with a new connection at the rate, at most a few hundred at
// a time, and closes it afterwards.
func (a *actor) eachConn(f func(c net.Conn)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, 300)
	a.each(1, func() bool {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if c := a.dial(); c != nil {
				f(c)
				c.Close()
			}
		})
		return true
	})
	wg.Wait()
}

// dial opens a connection whose port can be used again at once; nil if it
// cannot.
func (a *actor) dial() net.Conn {
	c, err := net.DialTimeout("tcp", a.addr, time.Second)
	if err != nil {
		return nil
	}
	c.(*net.TCPConn).SetLinger(0)
	return c
}

// keep is dial for a connection that stays open.
func (a *actor) keep() net.Conn {
	c := a.dial()
	if c != nil {
		a.open = append(a.open, c)
	}
	return c
}

// throw sends bytes and waits a moment for the proxy to close the connection.
func (a *actor) throw(c net.Conn, bytes []byte) {
	c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	_, err := c.Write(bytes)
	if err == nil {
		_, err = io.Copy(io.Discard, c)
	}
	if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
		a.closed.Add(1)
	}
}

// write is a write that gives up soon.
func write(c net.Conn, bytes []byte) error {
	c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := c.Write(bytes)
	return err
}
