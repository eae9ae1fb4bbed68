package proxy

import (
	"errors"
	"net"

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
	case s.cfg.ProtectedMode && s.cfg.RequirePass == "" && !isLocal(conn.RemoteAddr()):
		return rejectedProtectedMode, errProtected
	}
	return 0, ""
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

// noteFault counts and logs a connection that ended for what the client sent.
func (s *session) noteFault(err error) {
	var protocol *resp.ProtocolError
	switch {
	case errors.As(err, &protocol):
		s.srv.cfg.Metrics.protocolError()
	case errors.Is(err, resp.ErrNotRedis):
		s.srv.cfg.Metrics.protocolError()
		s.srv.notRedisOnce.Do(func() {
			s.srv.cfg.Logger.Warn("closed a connection; later ones of the kind are only counted", "client", s.addr, "error", err)
		})
	}
}

// noteSlow logs that a client was cut off because it did not read.
func (s *session) noteSlow(err error) {
	switch {
	case errors.Is(err, net.ErrClosed):
	case errors.Is(err, errLate):
		s.srv.cfg.Logger.Warn("cut off a client that did not read its replies; what it was granted is given back", "client", s.addr)
	default:
		s.srv.cfg.Logger.Info("lost a client that did not read its replies; what it was granted is given back", "client", s.addr, "error", err)
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
