//go:build linux

package caller

import (
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
	"redlock-proxy/integration/torture/ledger"
)

// line is a caller's connections to all proxies, opened when first used.
type line struct {
	crew  *Crew
	name  string
	conns []*connection
}

type connection struct {
	*harness.Conn
	arrivals *harness.ArrivalConn
}

// reply is what came of a command.
type reply struct {
	text          string // as harness.Conn shows it; empty if there was none
	sent, arrived time.Duration
}

// known reports whether the reply says what happened.
func (r *reply) known() bool { return r.text != "" && !strings.HasPrefix(r.text, "-") }

// do sends a command about a key and waits for its reply.
func (l *line) do(proxy int, key string, args ...string) reply {
	c, err := l.open(proxy)
	if err != nil {
		time.Sleep(30 * time.Millisecond)
		now := l.crew.Ledger.Now()
		return l.note(proxy, key, args, reply{sent: now, arrived: now}, "not sent: "+err.Error())
	}
	c.Queue(args...)
	r := reply{sent: l.crew.Ledger.Now()}
	if err = c.Flush(); err == nil {
		r.text, err = c.Read()
	}
	if err != nil {
		l.hangUp(proxy)
		r.text, r.arrived = "", l.crew.Ledger.Now()
		return l.note(proxy, key, args, r, "lost: "+err.Error())
	}
	r.arrived = l.crew.Ledger.At(c.arrivals.Arrived())
	return l.note(proxy, key, args, r, r.text)
}

// shout sends a command and closes the connection without waiting.
func (l *line) shout(proxy int, key string, args ...string) {
	c, err := l.open(proxy)
	if err != nil {
		return
	}
	c.Queue(args...)
	now := l.crew.Ledger.Now()
	_ = c.Flush() // whether it was sent is not known either
	l.hangUp(proxy)
	l.note(proxy, key, args, reply{sent: now, arrived: now}, "hung up")
}

func (l *line) note(proxy int, key string, args []string, r reply, what string) reply {
	l.crew.count(args[0], what)
	l.crew.Ledger.Note(key, ledger.Op{Client: l.name, Proxy: proxy, Command: brief(args), Sent: r.sent, Arrived: r.arrived, Reply: what})
	return r
}

// brief is a command without the text of its script.
func brief(args []string) string {
	if args[0] == "EVAL" {
		return names[args[1]] + " " + strings.Join(args[3:], " ")
	}
	return strings.Join(args, " ")
}

func (l *line) open(proxy int) (*connection, error) {
	if c := l.conns[proxy]; c != nil {
		return c, nil
	}
	arrivals, err := harness.DialArrival(l.crew.Proxies[proxy])
	if err != nil {
		return nil, err
	}
	l.conns[proxy] = &connection{harness.NewConn(arrivals), arrivals}
	return l.conns[proxy], nil
}

func (l *line) hangUp(proxy int) {
	if c := l.conns[proxy]; c != nil {
		c.Close()
		l.conns[proxy] = nil
	}
}

func (l *line) close() {
	for i := range l.conns {
		l.hangUp(i)
	}
}
