//go:build linux

package main

import (
	"bytes"
	"io"
	"net"
	"strings"

	"redlock-proxy/integration/internal/harness"
)

// traffic is what well-behaved clients send.
type traffic struct {
	name string
	run  func(a *actor)
}

var (
	pipelined = traffic{"the same commands, read", func(a *actor) {
		const batch = 100
		commands := bytes.Repeat(harness.Command("ECHO", strings.Repeat("x", 100)), batch)
		c := a.login()
		a.each(batch, func() bool { return c != nil && send(c, commands) })
	}}
	idle = traffic{"as many with a PING each", func(a *actor) {
		n := a.connections(10_000)
		a.each(1, func() bool {
			if c := a.keep(); c != nil {
				ping(c)
			}
			n--
			return n > 0
		})
	}}
	single = traffic{"as many PINGs", func(a *actor) {
		var all []net.Conn
		for range a.connections(1_000) {
			if c := a.login(); c != nil {
				all = append(all, c)
			}
		}
		i := 0
		a.each(1, func() bool {
			i++
			return len(all) > 0 && send(all[i%len(all)], harness.Command("PING"))
		})
	}}
	large = traffic{"as many ECHOs of 64 KB, read", func(a *actor) {
		command := harness.Command("ECHO", strings.Repeat("x", 64<<10))
		c := a.login()
		a.each(1, func() bool { return c != nil && send(c, command) })
	}}
	long = traffic{"as many, with an ECHO of 64 KB each", func(a *actor) {
		command := harness.Command("ECHO", strings.Repeat("x", 64<<10))
		a.eachConn(func(c net.Conn) {
			if send(c, command) {
				io.ReadFull(c, make([]byte, 64<<10))
			}
		})
	}}
	short = traffic{"as many, with a PING each", func(a *actor) { a.eachConn(ping) }}
)

// login is keep, logs in where there is a password, and reads all replies.
func (a *actor) login() net.Conn {
	c, err := dialIn(a.addr)
	if err != nil {
		return nil
	}
	a.open = append(a.open, c.Conn)
	go discard(c.Conn)
	return c.Conn
}

// send waits until the bytes are sent.
func send(c net.Conn, bytes []byte) bool {
	_, err := c.Write(bytes)
	return err == nil
}

// ping asks and reads the answer.
func ping(c net.Conn) {
	if send(c, harness.Command("PING")) {
		c.Read(make([]byte, len("+PONG\r\n")))
	}
}

func discard(c net.Conn) { io.Copy(io.Discard, c) }
