package proxy

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// KEYS, SCAN, RANDOMKEY and DBSIZE ask for the keys that a quorum holds, which
// takes longer than an operation on a lock. SCAN returns all of them at cursor
// 0, as Redis does for small collections: COUNT is a hint there too. So a scan
// may go on over another connection of a pool, or another proxy, and nothing is
// kept for it.

// keyspaceCommands are answered by [session.readKeys].
func keyspaceCommands() []*command {
	return []*command{
		{name: "keys", arity: 2, run: nothing, action: actionKeys},
		{name: "scan", arity: -2, run: nothing, action: actionKeys},
		{name: "randomkey", arity: 1, run: nothing, action: actionKeys},
		{name: "dbsize", arity: 1, run: nothing, action: actionKeys},
	}
}

// readKeys answers one of keyspaceCommands, whose arity was checked. It is a
// barrier in its connection: what came before is answered first, so that a key
// that was set is in the list, and what comes after is read afterwards.
func (s *session) readKeys(sl *slot, args [][]byte) {
	if !s.awaitTurn(sl) {
		return // the connection is dead
	}
	sl.reply = s.srv.keyspace(s.rights(), s.db, sl.proto, args, sl.reply)
	s.completed(sl)
}

// awaitTurn publishes what was read, with sl at its end, and waits until
// everything before sl is in the socket. It reports whether the connection is
// still of use.
func (s *session) awaitTurn(sl *slot) bool {
	seq := sl.seq // the slot is not ours any more if the line dies
	if !s.publish() {
		return false
	}
	l := &s.line
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.head != seq && !l.dead {
		l.awaitRoom()
	}
	l.look()
	return !l.dead
}

// keyspace asks the masters and appends the reply, about the keys that somebody
// with these rights may see.
func (s *Server) keyspace(r *rights, db, proto int, args [][]byte, dst []byte) []byte {
	var filter redlock.KeyFilter
	scan := is(args[0], "scan")
	switch {
	case is(args[0], "keys"):
		filter.Pattern = args[1]
	case scan:
		cursor, f, fault := parseScan(args)
		if fault != "" {
			return resp.AppendError(dst, fault)
		}
		if cursor != 0 { // which no proxy has handed out
			return appendScan(dst, nil)
		}
		filter = f
	}
	keys, err := s.cfg.Locks.Keys(s.ctx, db, filter)
	if !r.allKeys {
		keys = slices.DeleteFunc(keys, func(key string) bool { return !r.maySee(key) })
	}
	switch {
	case errors.Is(err, redlock.ErrTooManyKeys):
		return resp.AppendError(dst, "ERR "+err.Error())
	case err != nil:
		return resp.AppendError(dst, "NOQUORUM "+err.Error())
	case scan:
		return appendScan(dst, keys)
	case is(args[0], "keys"):
		return appendNames(dst, keys)
	case is(args[0], "dbsize"):
		return resp.AppendInt(dst, int64(len(keys)))
	case len(keys) == 0:
		return resp.AppendNull(dst, proto)
	}
	return resp.AppendBulkString(dst, keys[rand.IntN(len(keys))])
}

func appendScan(dst []byte, keys []string) []byte {
	dst = resp.AppendArray(dst, 2)
	dst = resp.AppendBulkString(dst, "0")
	return appendNames(dst, keys)
}

func appendNames(dst []byte, keys []string) []byte {
	dst = resp.AppendArray(dst, len(keys))
	for _, key := range keys {
		dst = resp.AppendBulkString(dst, key)
	}
	return dst
}

// parseScan reads SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]. fault
// is the text of an error, Redis's own.
func parseScan(args [][]byte) (cursor uint64, f redlock.KeyFilter, fault string) {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		return 0, f, "ERR invalid cursor"
	}
	const syntax = "ERR syntax error"
	for opts := args[2:]; len(opts) > 0; opts = opts[2:] {
		if len(opts) < 2 {
			return 0, f, syntax
		}
		switch {
		case is(opts[0], "count"):
			n, err := strconv.ParseInt(string(opts[1]), 10, 64)
			if err != nil {
				return 0, f, "ERR value is not an integer or out of range"
			}
			if n < 1 {
				return 0, f, syntax
			}
		case is(opts[0], "match"):
			f.Pattern = opts[1]
		case is(opts[0], "type"):
			f.Type = string(opts[1])
		default:
			return 0, f, syntax
		}
	}
	return cursor, f, ""
}
