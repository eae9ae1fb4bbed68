package proxy

import (
	"errors"
	"net"
	"time"
)

// A client that finds its connection closed while it sends a command cannot
// know what became of that command. So a server behind a load balancer takes
// leave in steps, in which clients lose nothing:
//
//  1. /readyz says that it is going away. Everybody is still served, also those
//     that the balancer sends until it has noticed.
//  2. After half of the drain time, a connection is closed right behind the
//     reply to a lock command if its client waits for nothing else. A client
//     that looks at a connection before it uses it connects anew, to another
//     proxy. It looks by PING perhaps, or is still logging in, or sends a script
//     again that was not known: so the end never comes behind other replies.
//  3. At the end the rest is closed: what is silent at once, what has commands
//     in flight behind their replies.
//
// In front of each end comes [session.linger], so that a command that crosses it
// is not executed, and what was answered arrives.

// drainReport is how often a long drain tells how far it is.
const drainReport = 5 * time.Second

// drain goes on serving for c.DrainTime, in steps 1 and 2. It ends early with
// the error of a server that failed.
func drain(c Config, server *Server, pages *StatusServer, failed <-chan error) error {
	pages.Drain()
	if c.DrainTime <= 0 {
		return nil
	}
	c.Logger.Info("draining: clients are still served, and /readyz tells balancers to send new ones elsewhere",
		"time", c.DrainTime, "connections", server.connections())
	part, end := time.After(c.DrainTime/2), time.After(c.DrainTime)
	stop := time.Now().Add(c.DrainTime)
	report := time.NewTicker(drainReport)
	defer report.Stop()
	for {
		select {
		case err := <-failed:
			return err
		case <-part:
			server.Part()
			c.Logger.Info("draining: connections are closed behind their next reply", "connections", server.connections())
		case <-report.C:
			c.Logger.Info("draining", "left", time.Until(stop).Round(time.Second), "connections", server.connections())
		case <-end:
			return nil
		}
	}
}

// Part makes every session that there is end behind its next reply to a lock
// command, unless its client has a transaction open or listens for messages. New ones are not
// concerned: whoever still connects has not been told to go elsewhere.
func (s *Server) Part() {
	for _, sess := range s.list() {
		sess.parting.Store(true)
	}
}

// connections is how many clients there are.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// quietTime is how long a connection has to be silent at the end for being
// closed: what has arrived meanwhile is served.
const quietTime = 10 * time.Millisecond

// drain makes the reader end when it has served what has arrived. Replies of
// commands it has read are still written.
func (s *session) drain() {
	quiet := quietTime
	if all := s.srv.cfg.ShutdownTimeout; all > 0 {
		quiet = min(quiet, all/2)
	}
	s.draining.Store(true)
	s.conn.SetReadDeadline(time.Now().Add(quiet))
}

var errDraining = errors.New("the server is shutting down")

// isOver reports whether the reader has to end instead of reading on.
func (s *session) isOver() bool {
	return s.draining.Load() ||
		s.parting.Load() && s.worked && !s.tx.open && len(s.tx.watches) == 0 && len(s.listening) == 0
}

// lingerTime is how long a connection that the server closes is still read: a
// command that crosses the end takes a round trip to come in.
const lingerTime = 200 * time.Millisecond

// linger closes a connection so that its client reads every reply and then the
// end. A connection that is simply closed with something unread is reset, and
// replies on their way may be lost with it. What comes in now is thrown away:
// to send it again elsewhere is safe.
func (s *session) linger() {
	defer s.srv.lingering.Done()
	defer s.conn.Close()
	conn := net.Conn(s.conn)
	if g, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = g.NetConn()
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	conn.SetReadDeadline(time.Now().Add(lingerTime))
	var rest [512]byte
	for {
		if _, err := conn.Read(rest[:]); err != nil {
			return
		}
	}
}
