package proxy

import (
	"errors"
	"net"
	"os"
	"time"

	"redlock-proxy/resp"
)

const (
	errMaxClients = "ERR max number of clients reached"

	errProtected = "DENIED redlock-proxy is running in protected mode because no password is set. " +
		"In this mode connections are only accepted from the loopback interface. " +
		"If you want to connect from other computers, do one of the following: " +
		"1) Set a password with --requirepass, and give it to the clients. " +
		"2) If only trusted hosts can reach this port, turn protected mode off with --protected-mode=false. " +
		"3) Connect from the host that the proxy runs on, by the loopback interface."
)

// refusal says why a new connection is not served; the text is empty if it is.
func (s *Server) refusal(conn net.Conn) (rejection, string) {
	switch {
	case s.clients.count() >= s.cfg.MaxClients:
		return rejectedMaxClients, errMaxClients
	case s.cfg.ProtectedMode && s.isOpen() && !isLocal(conn.RemoteAddr()) && !authenticates(conn):
		return rejectedProtectedMode, errProtected
	}
	return 0, ""
}

// authenticates reports whether a connection is one on which the client has to
// show a certificate.
func authenticates(conn net.Conn) bool {
	if g, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = g.NetConn()
	}
	c, ok := conn.(*tlsConn)
	return ok && c.authenticates
}

// isLocal reports whether a peer is on this host, as Redis sees it: it came by
// the loopback interface or a Unix socket.
func isLocal(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// noteFault counts and logs why the reading from a connection ended.
func (s *session) noteFault(err error) {
	var protocol *resp.ProtocolError
	var handshake *handshakeError
	var panicked *resp.PanicError
	switch {
	case errors.As(err, &handshake):
		s.noteHandshake(handshake)
	case errors.As(err, &protocol):
		s.srv.cfg.Metrics.protocolError()
	case errors.As(err, &panicked):
		s.notePanic(panicked)
	case errors.Is(err, resp.ErrNotRedis):
		s.noteCut(cutOtherProtocol, "Possible SECURITY ATTACK detected, connection closed", err)
	case errors.Is(err, resp.ErrSlow):
		s.noteCut(cutSlow, "closed the connection of a client that kept the proxy waiting", err)
	case errors.Is(err, os.ErrDeadlineExceeded) && !s.draining.Load():
		s.srv.cfg.Metrics.cutOff(cutIdle)
	}
}

// noteHandshake counts a client that could not agree on TLS with us, and logs
// one now and then.
func (s *session) noteHandshake(err *handshakeError) {
	s.srv.cfg.Metrics.handshakeFailed()
	if hidden, ok := s.srv.noTLS.open(time.Now()); ok {
		s.srv.cfg.Logger.Warn("could not agree on TLS with a client", "client", s.addr, "error", err.cause, "not_logged", hidden)
	}
}

// noteSlow counts and logs that a client was cut off because it did not read.
func (s *session) noteSlow(err error) {
	switch {
	case errors.Is(err, net.ErrClosed):
	case errors.Is(err, errLate), errors.Is(err, errUnread), errors.Is(err, os.ErrDeadlineExceeded):
		s.noteCut(cutUnread, "cut off a client that did not read its replies; what it was granted is given back", err)
	default:
		s.srv.cfg.Logger.Info("lost a client that did not read its replies; what it was granted is given back", "client", s.addr, "error", err)
	}
}

// noteCut counts a connection that is closed by this side, and logs it now and
// then.
func (s *session) noteCut(why cut, text string, err error) {
	s.srv.cfg.Metrics.cutOff(why)
	if more, due := s.srv.notices.due(why, s.addr, time.Now()); due {
		s.srv.cfg.Logger.Warn(text, "client", s.addr, "error", err, "others_of_this_address_not_logged", more)
	}
}

// noteDefaultTTL counts a lock without a TTL, and says once what happens to
// those.
func (s *Server) noteDefaultTTL() {
	s.cfg.Metrics.defaultTTL()
	s.defaultTTLOnce.Do(func() {
		s.cfg.Logger.Warn("a client stores a lock without a TTL; such locks get --default-ttl (said once, then counted)", "ttl", s.cfg.DefaultTTL)
	})
}
