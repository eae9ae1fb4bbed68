//go:build linux

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// attack is one way to do harm.
type attack struct {
	name     string
	rate     float64 // events a second
	unit     string  // what an event is
	run      func(a *actor)
	baseline *traffic // the same amount, well-behaved
	closes   bool     // the proxy has to close connections
	password bool     // the proxy asks for one
}

// The attacks, in the order of the report.
var attacks = []attack{
	{name: "a million pipelined commands, no reply is read", rate: 100_000, unit: "commands", run: unread, baseline: &pipelined},
	{name: "ten thousand connections with half a command each", rate: 4_000, unit: "connections", run: half, baseline: &idle},
	{name: "1,000 connections that send byte by byte", rate: 10_000, unit: "writes", run: drip, baseline: &single},
	{name: "arguments of 16 MB, never finished", rate: 1_500, unit: "writes of 64 KB", run: unfinished, baseline: &large},
	{name: "connections opened and closed", rate: 1_000, unit: "connections", run: churn, baseline: &short},
	{name: "absurd lengths of bulks and arrays", rate: 500, unit: "connections", run: throws(absurd), baseline: &short, closes: true},
	{name: "inline commands: quotes, NULs, lines of 64 KB", rate: 200, unit: "connections", run: throws(lines), baseline: &long, closes: true},
	{name: "RESP3 types as commands", rate: 500, unit: "connections", run: throws(types), baseline: &short, closes: true},
	{name: "random bytes", rate: 500, unit: "connections", run: random, baseline: &short, closes: true},
	{name: "HTTP and TLS on the plain port", rate: 300, unit: "connections", run: foreign, baseline: &short, closes: true},
	{name: "passwords guessed", rate: 2_000, unit: "AUTH", run: guess, baseline: &single, password: true},
}

func attackNamed(name string) *attack {
	for i := range attacks {
		if attacks[i].name == name {
			return &attacks[i]
		}
	}
	return nil
}

// check says what a measurement must not show.
func (a *attack) check(s sample) error {
	limit := int64(2*buffers + ownMemory + s.events.Open*perConnection)
	switch {
	case s.victims.Failed > 0:
		return fmt.Errorf("%d of %d cycles of the victims failed, one with %s", s.victims.Failed, s.victims.Cycles, s.victims.Fault)
	case s.victims.Cycles == 0 || s.events.Sent == 0:
		return fmt.Errorf("%d cycles of the victims and %d %s took place", s.victims.Cycles, s.events.Sent, a.unit)
	case a.closes && s.events.Closed == 0:
		return fmt.Errorf("none of %d connections was closed", s.events.Sent)
	case s.memory > limit:
		return fmt.Errorf("the proxy grew by %d MB, its limits add up to %d", s.memory>>20, limit>>20)
	}
	return nil
}

// unread pipelines and never reads. A connection that takes no more stays, and
// another is begun.
func unread(a *actor) {
	const batch = 100
	commands := bytes.Repeat(harness.Command("ECHO", strings.Repeat("x", 100)), batch)
	c := a.keep()
	a.each(batch, func() bool {
		if c == nil || write(c, commands) != nil {
			c = a.keep()
		}
		return true
	})
}

// half opens connections, sends half a command on each, and keeps them.
func half(a *actor) {
	n := a.connections(10_000)
	a.each(1, func() bool {
		if c := a.keep(); c != nil {
			write(c, []byte("*6\r\n$3\r\nSET\r\n$100\r\n"+strings.Repeat("x", 50)))
		}
		n--
		return n > 0
	})
}

// drip sends a command byte by byte on each of many connections.
func drip(a *actor) {
	for range a.connections(1_000) {
		if c := a.keep(); c != nil {
			write(c, []byte("*2\r\n$4\r\nECHO\r\n$1000000\r\n"))
		}
	}
	i := 0
	a.each(1, func() bool {
		i++
		write(a.open[i%len(a.open)], []byte("x"))
		return true
	})
}

// unfinished sends most of a long argument on each of some connections, and
// begins again where it is cut off.
func unfinished(a *actor) {
	const size = 64 << 10
	begin, piece := []byte("*2\r\n$4\r\nECHO\r\n$16000000\r\n"), bytes.Repeat([]byte("x"), size)
	conns := make([]net.Conn, 40)
	left := make([]int, len(conns))
	i := 0
	a.each(1, func() bool {
		i = (i + 1) % len(conns)
		if conns[i] == nil || left[i] > 0 && write(conns[i], piece) != nil {
			if conns[i] != nil {
				a.closed.Add(1)
				conns[i].Close()
			}
			if conns[i], left[i] = a.dial(), 15_900_000; conns[i] != nil {
				write(conns[i], begin)
			}
		}
		left[i] -= size
		return true
	})
}

// churn opens connections and closes them at once.
func churn(a *actor) { a.eachConn(func(net.Conn) {}) }

// throws sends one of some texts on each connection.
func throws(texts []string) func(a *actor) {
	return func(a *actor) {
		a.eachConn(func(c net.Conn) { a.throw(c, []byte(texts[rand.IntN(len(texts))])) })
	}
}

var absurd = []string{
	"*1\r\n$9223372036854775807\r\n", "*1\r\n$18446744073709551617\r\n", "*1\r\n$-5\r\n", "*1\r\n$\r\n", "*1\r\n$536870912\r\n", "*1\r\n$16777217\r\n",
	"*2000000000\r\n", "*2147483648\r\n", "*18446744073709551617\r\n", "*131073\r\n", "*131072\r\n$16777216\r\n", "*-9223372036854775808\r\n*0\r\n*-1\r\n$1\r\n",
	"*1\r\n$" + strings.Repeat("1", 70_000), "*" + strings.Repeat("9", 70_000), "*1\r\n$01\r\n", "*+1\r\n", "*1\r\n$0x10\r\n",
	strings.Repeat("*0\r\n", 10_000) + "*x\r\n", strings.Repeat("*1\r\n", 1_000),
}

var lines = []string{
	"SET k \"v\r\n", "SET k 'v\r\n", "SET k \"v\"w\r\n", "SET \x00 v\r\n", "\x00\r\n", strings.Repeat("x", 70_000), strings.Repeat("\"\\x41\" ", 9_000) + "\"\r\n",
	strings.Repeat("a ", 32_000) + "'\r\n", strings.Repeat("\r\n", 30_000) + "\"\r\n", strings.Repeat("\\", 60_000) + "\"\r\n",
}

var types = []string{
	"+PING\r\n\"\r\n", "*1\r\n+PING\r\n", "*1\r\n:1\r\n", "*1\r\n_\r\n", "*1\r\n#t\r\n", "*1\r\n,1.5\r\n", "*1\r\n(123\r\n", "*1\r\n=8\r\ntxt:PING\r\n",
	"*1\r\n%1\r\n", "*1\r\n~1\r\n", "*1\r\n>1\r\n", "*1\r\n|1\r\n", "*1\r\n*1\r\n$4\r\nPING\r\n", "*1\r\n$?\r\n;4\r\nPING\r\n;0\r\n", "*?\r\n$4\r\nPING\r\n.\r\n", "*1\r\n!5\r\nERR x\r\n",
}

// random sends random bytes.
func random(a *actor) {
	a.eachConn(func(c net.Conn) {
		bytes := make([]byte, 1+rand.IntN(4<<10))
		for i := range bytes {
			bytes[i] = byte(rand.Uint32())
		}
		a.throw(c, append(bytes, "\x00\n"...))
	})
}

// foreign speaks HTTP and TLS.
func foreign(a *actor) {
	requests := []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nSET k v\r\nFLUSHALL\r\n"}
	a.eachConn(func(c net.Conn) {
		if i := rand.IntN(3); i < len(requests) {
			a.throw(c, []byte(requests[i]))
			return
		}
		c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		err := tls.Client(c, &tls.Config{ServerName: "x"}).Handshake()
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
			a.closed.Add(1)
		}
	})
}

// guess tries passwords on a few connections, and begins anew where it is cut
// off.
func guess(a *actor) {
	conns := make([]net.Conn, 20)
	n := 0
	a.each(1, func() bool {
		n++
		c := &conns[n%len(conns)]
		if *c == nil || write(*c, harness.Command("AUTH", fmt.Sprint("guess", n))) != nil {
			if *c != nil {
				(*c).Close()
			}
			if *c = a.dial(); *c != nil {
				go discard(*c)
			}
		}
		return true
	})
}
