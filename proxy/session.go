package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/tidwall/redcon"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// session is one client connection. One goroutine, the reader, runs
// [session.run]; the rest happens where operations are done, see write.go.
type session struct {
	client
	srv  *Server
	conn guarded
	line line
	out  writer

	detached bool        // redcon has let go of the connection
	grown    atomic.Bool // the reader has served commands on its present stack
	parting  atomic.Bool // the reader has to end when its client waits for nothing
	draining atomic.Bool // the reader has to end

	// The reader's own.
	order    order
	tx       transaction
	now      time.Time // when the present batch was read
	worked   bool      // the last command was one that a client connects for
	rested   bool      // it only goes on waiting, see [Server.rest]
	engaged  bool      // see engage
	quorum   quorum    // of the database of quorumDB
	quorumDB int
	acting   *rights // those that the present command was compared with

	listening map[redlock.Topic]*listener

	// Of whoever has the turn to write.
	batch     []*slot // what is being claimed and written
	settled   int     // how many of them are in the socket
	messages  []message
	pushProto int // RESP version of messages: that of the last reply
}

// guarded is a connection that returns commands in batches, as they come in;
// [resp.Guard] is one.
type guarded interface {
	net.Conn
	ReadCommands() ([]redcon.Command, error)
	Authenticated()
	Unauthenticated()
	Held() int // bytes that are read and not returned
	Wake()     // makes ReadCommands return resp.ErrWoken
}

// publishEvery is how many commands may be started before finished replies go
// out, though more have been read.
const publishEvery = 64

func newSession(srv *Server, conn guarded) *session {
	s := &session{srv: srv, conn: conn, quorumDB: -1}
	s.line.init()
	s.out.init(conn)
	srv.welcome(&s.client, conn.RemoteAddr().String(), conn.LocalAddr().String())
	s.tellGuard()
	return s
}

// tellGuard lets the guard know which limits apply.
func (s *session) tellGuard() {
	if s.authed {
		s.conn.Authenticated()
	} else {
		s.conn.Unauthenticated()
	}
}

// run serves the first commands, if there are any, and then what comes in, until
// that fails or the client quits.
func (s *session) run(cmds []redcon.Command) {
	if s.readAll(cmds) {
		go s.run(nil)
		return
	}
	s.end()
}

// readAll reports whether another goroutine has to go on, see [Server.rest].
func (s *session) readAll(cmds []redcon.Command) (rests bool) {
	defer s.readerPanicked()
	for len(cmds) == 0 || s.serveAll(cmds) {
		var err error
		if cmds, err = s.read(); err == resp.ErrWoken {
			return true
		}
		if err != nil {
			s.readFailed(err)
			return false
		}
	}
	return false
}

// serveAll starts a batch of commands. It reports whether to read on.
func (s *session) serveAll(cmds []redcon.Command) bool {
	s.now = time.Now()
	s.touch(s.now)
	if !s.grown.Load() {
		s.grown.Store(true)
	}
	more := true
	for i, cmd := range cmds {
		if s.line.full(s.srv.cfg.MaxInFlight, s.srv.cfg.MaxInFlightSize) && !s.awaitRoom() {
			return false
		}
		if more = s.serve(cmd); !more {
			break
		}
		if i%publishEvery == publishEvery-1 {
			s.publish()
		}
	}
	return s.publish() && more
}

// serve starts or answers one command. It reports whether to read on.
func (s *session) serve(cmd redcon.Command) bool {
	if !s.awaitWatched(cmd.Args[0]) {
		return false
	}
	sl := s.append(len(cmd.Raw))
	s.worked = false
	switch {
	case s.authed && s.forbidden(sl, cmd.Args):
	case s.whileListening(sl, cmd.Args):
	case s.tx.open && s.queue(sl, cmd.Args, len(cmd.Raw)):
	case !resp.IsLock(cmd.Args[0]):
		return s.serveUtility(sl, cmd.Args)
	case !s.authed:
		s.answer(sl, resp.AppendError(sl.reply, errNoAuth))
	default:
		s.serveLock(sl, cmd.Args)
	}
	return true
}

// append puts a new slot at the end of the line.
func (s *session) append(size int) *slot {
	sl := s.srv.slots.Get().(*slot)
	sl.s, sl.proto, sl.read = s, s.proto, s.now
	s.line.append(sl, size)
	return sl
}

// answer completes a slot that has not been published, at once.
func (s *session) answer(sl *slot, reply []byte) {
	sl.reply, sl.ready = reply, true
	s.line.weighOwn(sl)
}

// serveUtility answers a command that is no lock command.
func (s *session) serveUtility(sl *slot, args [][]byte) bool {
	authed := s.authed
	reply, action := s.srv.utility(&s.client, args, sl.reply)
	if s.authed != authed {
		s.tellGuard()
	}
	sl.proto = s.proto // it may have been HELLO
	if s.refused {
		s.delayRefusal(sl, reply)
		return true
	}
	switch action {
	case actionAdmit:
		go s.admit(sl, args)
		return true
	case actionChange:
		go s.changeMasters(sl, args)
		return true
	case actionLocks:
		go s.locks(sl, s.db, args)
		return true
	case actionTransact:
		s.transact(sl, args)
		return true
	case actionKeys:
		s.readKeys(sl, args)
		return true
	case actionConverse:
		s.converse(sl, args)
		return true
	case actionReset:
		s.tx = transaction{}
		s.stopListening()
	}
	s.answer(sl, reply)
	return action != actionClose
}

// serveLock starts a lock command. It keeps args: redcon's reader has made a
// copy of the command for us.
func (s *session) serveLock(sl *slot, args [][]byte) {
	lock := &sl.lock
	if fault := s.env().Recognise(lock, args, s.db); fault != "" {
		s.noteInvalid(lock.Kind, args, fault)
		s.answer(sl, resp.AppendError(sl.reply, fault))
		return
	}
	s.startLock(sl)
}

// startLock starts what the slot's lock asks for.
func (s *session) startLock(sl *slot) {
	lock := &sl.lock
	s.worked = true
	if lock.DefaultTTL {
		s.srv.noteDefaultTTL()
	}
	if len(lock.Swaps) == 0 {
		var none redlock.Swap
		reply, _ := lock.Reply(sl.reply, sl.proto, nil, &none)
		sl.tell()
		s.answer(sl, reply)
		return
	}
	q, err := s.quorumOf(lock.DB)
	if err != nil {
		s.answer(sl, resp.AppendError(sl.reply, "ERR "+err.Error()))
		return
	}
	sl.prepare(q)
	if lock.MayLearn {
		sl.deadline = s.deadline(q) // for all rounds together
	}
	if !s.follow(sl) {
		s.engage(true)
		sl.start()
		s.engage(false)
	}
}

// quorumOf returns the quorum of a database.
func (s *session) quorumOf(db int) (quorum, error) {
	if s.quorumDB == db {
		return s.quorum, nil
	}
	q, err := s.srv.open(db)
	if err == nil {
		s.quorum, s.quorumDB = q, db
	}
	return q, err
}

// read waits for the next batch.
func (s *session) read() ([]redcon.Command, error) {
	for {
		if idle := s.srv.cfg.IdleTimeout; idle > 0 && !s.rested { // or to rest would be a sign of life
			s.conn.SetReadDeadline(time.Now().Add(idle))
		}
		if s.isOver() {
			return nil, errDraining
		}
		cmds, err := s.conn.ReadCommands()
		s.rested = err == resp.ErrWoken
		if errors.Is(err, os.ErrDeadlineExceeded) && !s.draining.Load() && (s.hasWork() || len(s.listening) > 0) {
			continue // it is the client that waits, for a reply or a message
		}
		return cmds, err
	}
}

// hasWork reports whether the client waits for a reply.
func (s *session) hasWork() bool {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return s.line.head != s.line.published
}

// readFailed does what the end of the commands asks for. As with Redis, a
// client that has only closed its side gets the replies to what it has sent.
func (s *session) readFailed(err error) {
	s.noteFault(err)
	var protocol *resp.ProtocolError
	switch {
	case errors.As(err, &protocol):
		s.answer(s.append(0), resp.AppendError(nil, "ERR "+protocol.Error()))
		s.publish()
	case errors.Is(err, resp.ErrNotRedis):
		s.kill()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.hangUp()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, resp.ErrSlow), errors.Is(err, errDraining):
	default:
		s.kill()
	}
}
