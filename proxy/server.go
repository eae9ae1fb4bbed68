package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/maphash"
	"net"
	"sync"
	"time"

	"github.com/tidwall/redcon"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// Server serves lock clients. Make one with [NewServer].
type Server struct {
	utilities
	cfg   Config
	env   resp.Env
	open  func(db int) (quorum, error)
	seed  maphash.Seed
	slots sync.Pool // of *slot
	hub   *hub
	see   *insight
	users *users

	ctx    context.Context // ends with Shutdown
	cancel context.CancelFunc

	mu       sync.Mutex
	lns      []net.Listener
	sessions map[*session]struct{}
	closing  bool
	idle     chan struct{} // closed when closing and no session is left

	lingering sync.WaitGroup // connections that are being closed

	idleOnce, defaultTTLOnce sync.Once

	notices       notices
	acceptErrors  acceptErrors
	memory        memory
	noTLS         window // of log lines about clients that could not agree on TLS
	loginFailures loginFailures
}

// reservedKeys is how the keys begin in which package redlock keeps the records
// of a quorum on its masters.
const reservedKeys = "redlock-proxy:"

// NewServer returns a server that does not listen yet.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Locks == nil {
		return nil, errNoLocks
	}
	s := newServer(cfg, func(db int) (quorum, error) { return cfg.Locks.DB(db) })
	s.hub = newHub(cfg.Locks.Bus())
	if cfg.ACLFile != "" {
		var err error
		if s.users, err = usersOf(cfg.ACLFile, &s.env); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newServer(cfg Config, open func(db int) (quorum, error)) *Server {
	s := &Server{
		utilities: newUtilities(),
		cfg:       cfg.withDefaults(),
		open:      open,
		seed:      maphash.MakeSeed(),
		slots:     sync.Pool{New: newSlot},
		sessions:  map[*session]struct{}{},
		idle:      make(chan struct{}),
		hub:       newHub(redlock.NewBus()),
		see:       newInsight(),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.env = resp.Env{
		Wall:       time.Now,
		DefaultTTL: s.cfg.DefaultTTL.Milliseconds(),
		MaxTTL:     s.cfg.MaxTTL.Milliseconds(),
		Reserved:   reservedKeys,
		Scripts:    s.scripts,
		Receivers:  func(channel []byte) int64 { return s.hub.receivers(string(channel)) },
	}
	s.users = onlyUser(s.user(), s.cfg.RequirePass, &s.env)
	return s
}

// Serve serves the clients that connect to ln until Shutdown is called, which
// closes ln; then it returns nil, at once. It may be called for several
// listeners.
//
// redcon accepts connections and reads the first command of each. The session
// takes over there, and redcon lets go of the connection and its buffers.
func (s *Server) Serve(ln net.Listener) error {
	limits := s.cfg.Limits
	limits.Held = s.holds
	guarded := resp.Listen(ln, limits)
	s.mu.Lock()
	s.lns = append(s.lns, guarded)
	closing := s.closing
	s.mu.Unlock()
	if closing {
		return guarded.Close()
	}
	server := redcon.NewServer(ln.Addr().String(), s.handle, s.accept, s.closed)
	server.AcceptError = func(err error) {
		s.cfg.Metrics.acceptFailed()
		s.acceptErrors.failed(s.cfg.Logger, err, time.Now())
	}
	if err := server.Serve(guarded); err != nil {
		return fmt.Errorf("serving clients on %s: %w", ln.Addr(), err)
	}
	return nil
}

// ServeTLS is Serve with TLS; config is asked for each connection.
func (s *Server) ServeTLS(ln net.Listener, config func() *tls.Config) error {
	return s.Serve(tlsListener{ln, config})
}

// accept decides about a new connection; false closes it.
func (s *Server) accept(conn redcon.Conn) bool {
	s.acceptErrors.accepted(s.cfg.Logger, time.Now())
	if why, text := s.refusal(conn.NetConn()); text != "" {
		s.noteRejected(why, conn.RemoteAddr(), text)
		conn.WriteError(text)
		return false
	}
	sess := newSession(s, conn.NetConn().(guarded))
	conn.SetContext(sess)
	if t := s.cfg.IdleTimeout; t > 0 {
		conn.NetConn().SetReadDeadline(time.Now().Add(t))
	}
	return s.enter(sess)
}

// handle takes a connection over from redcon, at its first command.
func (s *Server) handle(conn redcon.Conn, cmd redcon.Command) {
	sess := conn.Context().(*session)
	cmds := append([]redcon.Command{cmd}, conn.ReadPipeline()...)
	sess.detached = true
	conn.Detach()
	go sess.run(cmds)
}

// closed is called when redcon lets go of a connection.
func (s *Server) closed(conn redcon.Conn, err error) {
	sess := conn.Context().(*session)
	if sess.detached {
		return
	}
	sess.noteFault(err)
	s.leave(sess)
}

// enter takes up a session, unless the server is closing.
func (s *Server) enter(sess *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		s.goodbye(&sess.client)
		s.cfg.Metrics.reject(rejectedShutdown)
		return false
	}
	s.sessions[sess] = struct{}{}
	s.cfg.Metrics.connected()
	return true
}

// leave takes leave of a session whose connection is closed.
func (s *Server) leave(sess *session) {
	sess.unweigh()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, sess)
	s.goodbye(&sess.client)
	s.cfg.Metrics.disconnected()
	s.noteIdle()
}

// noteIdle tells Shutdown when no session is left. s.mu is locked.
func (s *Server) noteIdle() {
	if s.closing && len(s.sessions) == 0 {
		s.idleOnce.Do(func() { close(s.idle) })
	}
}

// Shutdown stops the server: it accepts and reads nothing more, and waits until
// the commands that were read are answered. After Config.ShutdownTimeout, or
// when ctx ends, it cuts the connections that are left, undoes what their
// commands did, and returns an error that says how many there were.
func (s *Server) Shutdown(ctx context.Context) error {
	if t := s.cfg.ShutdownTimeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	defer s.cancel()
	for _, sess := range s.close() {
		sess.drain()
	}
	select {
	case <-s.idle:
		s.lingering.Wait()
		return nil
	case <-ctx.Done():
	}
	left := s.list()
	for _, sess := range left {
		sess.kill()
	}
	s.cancel()
	<-s.idle
	return fmt.Errorf("shutdown: %d connections were cut with commands in flight, whose locks were given back: %w", len(left), ctx.Err())
}

// close stops accepting and returns the sessions there are.
func (s *Server) close() []*session {
	s.mu.Lock()
	s.closing = true
	lns := s.lns
	s.noteIdle()
	s.mu.Unlock()
	for _, ln := range lns {
		ln.Close()
	}
	return s.list()
}

func (s *Server) list() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*session, 0, len(s.sessions))
	for sess := range s.sessions {
		list = append(list, sess)
	}
	return list
}
