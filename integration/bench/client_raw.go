package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"
)

// pipeline is a client on a bare connection that costs next to nothing: one
// goroutine that keeps so many callers' commands on their way, and sends a
// caller's next command when it has read the reply to the one before.
type pipeline struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
	sha  string

	prefix  string
	callers []rawCaller
	waiting []int // callers in the order of the replies to come
}

// rawCaller is where one caller stands in its cycle.
type rawCaller struct {
	cycle     int
	key       string
	token     string
	releasing bool
	began     time.Time
}

func openPipeline(addr string) (*pipeline, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &pipeline{conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
	sum := sha1.Sum([]byte(releaseScript))
	p.sha = hex.EncodeToString(sum[:])
	p.command("SCRIPT", "LOAD", releaseScript)
	if err = p.flush(); err == nil {
		if _, err = p.r.ReadString('\n'); err == nil {
			_, err = p.r.ReadString('\n')
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return p, nil
}

func (p *pipeline) Close() { p.conn.Close() }

// play lets callers work for a while.
func (p *pipeline) play(prefix string, callers int, length time.Duration) (outcome, error) {
	var o outcome
	p.prefix, p.callers, p.waiting = prefix, make([]rawCaller, callers), p.waiting[:0]
	for i := range callers {
		p.acquire(i)
	}
	end := time.Now().Add(length)
	for len(p.waiting) > 0 {
		if p.r.Buffered() == 0 {
			if err := p.flush(); err != nil {
				return o, err
			}
		}
		reply, err := p.r.ReadSlice('\n')
		if err != nil {
			return o, err
		}
		i := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.advance(i, reply, end, &o)
	}
	return o, nil
}

// advance takes the reply to the ith caller's command.
func (p *pipeline) advance(i int, reply []byte, end time.Time, o *outcome) {
	c := &p.callers[i]
	now := time.Now()
	switch {
	case string(reply) == "+OK\r\n" && !c.releasing:
		c.releasing = true
		p.send(i, "EVALSHA", p.sha, "1", c.key, c.token)
		return
	case string(reply) == ":1\r\n" && c.releasing:
		o.latencies = append(o.latencies, now.Sub(c.began))
	default:
		o.merge(outcome{failed: 1, failure: fmt.Errorf("reply %q", reply)})
	}
	if now.Before(end) {
		p.acquire(i)
	}
}

func (p *pipeline) acquire(i int) {
	c := &p.callers[i]
	c.cycle++
	c.key = p.prefix + strconv.Itoa(i) + ":" + strconv.Itoa(c.cycle)
	c.token, c.releasing, c.began = newToken(), false, time.Now()
	p.send(i, "SET", c.key, c.token, "NX", "PX", "30000")
}

func (p *pipeline) send(i int, args ...string) {
	p.waiting = append(p.waiting, i)
	p.command(args...)
}

func (p *pipeline) command(args ...string) {
	p.out = append(p.out, '*')
	p.out = append(strconv.AppendInt(p.out, int64(len(args)), 10), "\r\n"...)
	for _, a := range args {
		p.out = append(p.out, '$')
		p.out = append(strconv.AppendInt(p.out, int64(len(a)), 10), "\r\n"...)
		p.out = append(append(p.out, a...), "\r\n"...)
	}
}

func (p *pipeline) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.conn.Write(p.out)
	p.out = p.out[:0]
	return err
}

// fill leaves n locks behind, which live for an hour.
func (p *pipeline) fill(n int) error {
	const window = 512
	for sent := 0; sent < n; {
		batch := min(window, n-sent)
		for range batch {
			p.command("SET", "live:"+strconv.Itoa(sent), newToken(), "NX", "PX", "3600000")
			sent++
		}
		if err := p.flush(); err != nil {
			return err
		}
		for range batch {
			reply, err := p.r.ReadSlice('\n')
			if err == nil && string(reply) != "+OK\r\n" {
				err = fmt.Errorf("reply %q", reply)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
