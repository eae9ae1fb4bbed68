package proxy

import (
	"slices"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// Texts of Redis for transactions, and our own.
const (
	errNestedMulti  = "ERR MULTI calls can not be nested"
	errWatchInMulti = "ERR WATCH inside MULTI is not allowed"
	errExecAlone    = "ERR EXEC without MULTI"
	errDiscardAlone = "ERR DISCARD without MULTI"
	errExecAborted  = "EXECABORT Transaction discarded because of previous errors."

	errWatchUnknown = "NOQUORUM the transaction was not run: a WATCH before it got no quorum, so what it watches is not known. Begin again with WATCH"
	errWatchLarge   = "EXECABORT Transaction discarded because of: a watched key holds more than 16 KiB, which is no lock; nothing was done"
	errWatchMany    = "ERR redlock-proxy: a connection may watch at most 64 keys of up to 16 KiB; nothing was added to them"
	errQueueFull    = "ERR redlock-proxy: this transaction has more commands or bytes than a connection may have in flight; EXEC will not run it"
)

// How much a connection may watch: keys, and bytes of each key and each value.
const (
	maxWatched     = 64
	maxWatchedSize = 16 << 10
)

// transaction is what a connection watches and what it has queued. It belongs
// to the reader.
type transaction struct {
	watches []*watch

	open   bool       // between MULTI and EXEC
	failed bool       // a command could not be queued
	queue  [][][]byte // arguments of the commands
	size   int        // their bytes, as sent
}

// watch is one WATCH. What it saw is noted by whoever completes the command,
// and known to the reader once the reply has left the line.
type watch struct {
	seq  uint64 // its place in the line
	db   int
	keys [][]byte

	seen  []redlock.State // of the keys
	at    time.Duration   // when, by the clock of the quorum
	fault string          // why it is not known what the keys held; empty if it is
}

// isTransactional reports whether a command acts on the transaction itself, and
// is not queued.
func isTransactional(cmd *command) bool {
	switch cmd.name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

// transactionCommands are answered by [session.transact].
func transactionCommands() []*command {
	return []*command{
		{name: "multi", arity: 1, run: nothing, action: actionTransact},
		{name: "exec", arity: 1, run: nothing, action: actionTransact},
		{name: "discard", arity: 1, run: nothing, action: actionTransact},
		{name: "watch", arity: -2, run: nothing, action: actionTransact},
		{name: "unwatch", arity: 1, run: nothing, action: actionTransact},
	}
}

// nothing leaves the reply to the session.
func nothing(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return dst }

// transact runs one of transactionCommands, whose arity was checked.
func (s *session) transact(sl *slot, args [][]byte) {
	tx := &s.tx
	fault := ""
	switch name := args[0]; {
	case is(name, "watch"):
		s.watch(sl, args)
		return
	case is(name, "exec"):
		s.exec(sl)
		return
	case is(name, "multi") && tx.open:
		fault = errNestedMulti
	case is(name, "multi"):
		tx.open = true
	case is(name, "discard") && !tx.open:
		fault = errDiscardAlone
	default: // DISCARD and UNWATCH
		*tx = transaction{}
	}
	if fault != "" {
		s.answer(sl, resp.AppendError(sl.reply, fault))
		return
	}
	s.answer(sl, resp.AppendStatus(sl.reply, "OK"))
}

// watch starts the reads of WATCH.
func (s *session) watch(sl *slot, args [][]byte) {
	tx := &s.tx
	fault := ""
	switch {
	case tx.open:
		fault = errWatchInMulti
	case !tx.mayWatch(args[1:]):
		fault = errWatchMany
	default:
		fault = s.env().Watch(&sl.lock, args, s.db)
	}
	if fault != "" {
		s.answer(sl, resp.AppendError(sl.reply, fault))
		return
	}
	sl.watch = &watch{seq: sl.seq, db: s.db, keys: args[1:], fault: errWatchUnknown}
	tx.watches = append(tx.watches, sl.watch)
	s.startLock(sl)
}

// mayWatch reports whether so many more keys are within the bounds.
func (tx *transaction) mayWatch(keys [][]byte) bool {
	n := len(keys)
	for _, w := range tx.watches {
		n += len(w.keys)
	}
	tooLong := slices.ContainsFunc(keys, func(key []byte) bool { return len(key) > maxWatchedSize })
	return n <= maxWatched && !tooLong
}

// note keeps what a WATCH saw, if a quorum said it for all keys.
func (w *watch) note(q quorum, outs []redlock.Outcome) {
	w.at, w.fault = q.Now(), ""
	w.seen = make([]redlock.State, len(outs))
	for i := range outs {
		switch out := &outs[i]; {
		case out.Err != nil:
			w.fault = errWatchUnknown
		case len(out.State.Value) > maxWatchedSize:
			w.fault = errWatchLarge
		default:
			w.seen[i] = out.State
		}
	}
}

// queue takes a command into the open transaction. It reports false for those
// that act on the transaction: they are not queued.
func (s *session) queue(sl *slot, args [][]byte, size int) bool {
	tx := &s.tx
	cmd := find(s.srv.commands, args[0])
	if cmd != nil && isTransactional(cmd) {
		switch {
		case cmd.fits(len(args)):
		case cmd.name == "exec":
			*tx = transaction{}
		default:
			tx.failed = true
		}
		return false
	}
	fault := s.queueFault(cmd, args)
	if fault == "" && (len(tx.queue) == s.srv.cfg.MaxInFlight || tx.size+size > s.srv.cfg.MaxInFlightSize) {
		fault = errQueueFull
	}
	if fault != "" {
		tx.failed, tx.queue = true, nil
		s.noteNotQueued(cmd, args, fault)
		s.answer(sl, resp.AppendError(sl.reply, fault))
		return true
	}
	if !tx.failed { // else nobody will run it
		tx.queue, tx.size = append(tx.queue, args), tx.size+size
	}
	s.answer(sl, resp.AppendStatus(sl.reply, "QUEUED"))
	return true
}

// whyInMulti refuses what is served, but not in a transaction.
const whyInMulti = "in a transaction only commands on lock keys, scripts, PUBLISH, PING, ECHO and TIME are run; send it before MULTI"

// queueFault is the error text for a command that cannot be queued. cmd is the
// utility command of that name, if there is one.
func (s *session) queueFault(cmd *command, args [][]byte) string {
	fault, known := s.srv.env.QueueFault(args)
	switch {
	case known:
		return fault
	case cmd == nil && !resp.IsLock(args[0]):
		return s.srv.refusalText(args)
	case cmd != nil && !cmd.fits(len(args)):
		return arityError(cmd.name)
	}
	return notServed(upper(args[0])+" inside MULTI", whyInMulti)
}

// exec ends the transaction, and starts it as one operation.
func (s *session) exec(sl *slot) {
	tx := s.tx
	fault := ""
	switch {
	case !tx.open:
		s.answer(sl, resp.AppendError(sl.reply, errExecAlone))
		return
	case tx.failed:
		fault = errExecAborted
	default:
		fault = s.startTransaction(sl, &tx)
	}
	s.tx = transaction{}
	if fault != "" {
		s.answer(sl, resp.AppendError(sl.reply, fault))
	}
}

// startTransaction starts what is queued, on condition that what is watched has
// not changed.
func (s *session) startTransaction(sl *slot, tx *transaction) (fault string) {
	watched, fault := s.watched(tx)
	if fault != "" {
		return fault
	}
	if fault = s.queuedFault(tx.queue); fault != "" {
		return fault
	}
	if fault = s.env().Transaction(&sl.lock, tx.queue, watched, s.db); fault != "" {
		s.noteInvalid(sl.lock.Kind, nil, fault)
		return fault
	}
	s.startLock(sl)
	return ""
}

// watched is what a quorum said of each key that is watched.
func (s *session) watched(tx *transaction) (list []resp.Watched, fault string) {
	type place struct {
		db  int
		key string
	}
	faults := map[place]string{}
	for _, w := range tx.watches {
		q, err := s.quorumOf(w.db)
		if err != nil {
			return nil, "ERR " + err.Error()
		}
		for i, key := range w.keys {
			p := place{w.db, string(key)}
			before, again := faults[p]
			if again && before == "" {
				continue // the first that got an answer counts
			}
			if faults[p] = w.fault; w.fault == "" {
				list = append(list, resp.Watched{DB: w.db, Key: key, State: w.seen[i], Age: q.Now() - w.at})
			}
		}
	}
	for _, fault := range faults {
		if fault != "" {
			return nil, fault
		}
	}
	return list, ""
}

// awaitWatched waits until the replies to all WATCH are written, before EXEC
// needs to know what they saw. A client that waits for these replies, which it
// has to if it decides by what it watches, pays nothing. It reports whether the
// connection is still of use.
func (s *session) awaitWatched(name []byte) bool {
	n := len(s.tx.watches)
	if n == 0 || !s.tx.open || !is(name, "exec") || s.tx.watches[n-1].seq < s.line.seenHead {
		return true
	}
	if !s.publish() {
		return false
	}
	l := &s.line
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.head <= s.tx.watches[n-1].seq && !l.dead {
		l.awaitRoom()
	}
	l.look()
	return !l.dead
}
