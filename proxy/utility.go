package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"redlock-proxy/resp"
)

// redisVersion is the server version that clients are told. It steers them:
// from 8.4 on StackExchange.Redis and Spring release and extend with DELEX and
// SET … IFEQ, one command each, instead of WATCH and MULTI.
const redisVersion = "8.4.0"

// databases is how many SELECT offers, as an unconfigured Redis does.
const databases = 16

// action is what the session has to do for a utility command beyond writing
// its reply.
type action uint8

const (
	actionNone  action = iota
	actionClose        // close the connection once the reply is written
	// actionAdmit: nothing was appended. The session calls Locks.Admit with
	// [admitTarget] outside its reading goroutine and answers with
	// [appendAdmitted].
	actionAdmit
	// actionChange: the same for REDLOCK MASTERS, with Locks.Change.
	actionChange
	actionLocks    // the same for REDLOCK LOCKS: [session.locks] answers
	actionKeys     // nothing was appended: [session.readKeys] answers
	actionTransact // nothing was appended: [session.transact] answers
	actionConverse // nothing was appended: [session.converse] answers
	actionReset    // forget what the session knows of the connection
)

// handler appends the reply of one command to dst. args[0] is the command's
// name; the number of arguments was checked.
type handler func(s *Server, c *client, args [][]byte, dst []byte) []byte

// command is one utility command, or one subcommand of one.
type command struct {
	name   string // as Redis shows it in errors: "ping", "client|id"
	arity  int    // arguments with the name: n exactly, -n at least
	run    handler
	action action
	subs   map[string]*command // for CLIENT, SCRIPT, …
	index  int                 // of its counter in Metrics
}

// utilities is the part of a Server that answers everything but lock commands.
// The Server embeds it.
type utilities struct {
	commands map[string]*command // by lower-case name
	refused  map[string]string   // known to Redis, not served: the reason
	clients  clientTable
	scripts  *resp.Scripts // one cache for all connections; EVALSHA reads it too
	started  time.Time
	runID    string // this process, for clients that notice a restart by it
	replID   string
}

// newUtilities returns the commands and caches of a new server.
func newUtilities() utilities {
	return utilities{
		commands: commandTable(),
		refused:  refusals(),
		scripts:  resp.NewScripts(),
		started:  time.Now(),
		runID:    randomID(),
		replID:   randomID(),
	}
}

// randomID returns 40 random hexadecimal digits, the form of a Redis run_id.
func randomID() string {
	var b [20]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// utility answers a command that is no lock command. It neither blocks nor asks
// a master (REDLOCK ADMIT is left to the session). It may change c: after
// it the session looks again at c.authed, c.proto and c.db.
func (s *Server) utility(c *client, args [][]byte, dst []byte) ([]byte, action) {
	cmd := find(s.commands, args[0])
	if cmd == nil {
		if !c.authed {
			return resp.AppendError(dst, errNoAuth), actionNone
		}
		s.noteUnserved(c, args)
		return s.refuse(args, dst), actionNone
	}
	s.cfg.Metrics.command(cmd.index)
	if sub := cmd.subcommand(args); sub != nil {
		cmd = sub
	}
	if !cmd.fits(len(args)) {
		return resp.AppendError(dst, cmd.arityError()), actionNone
	}
	if !s.allowed(c, args[0]) {
		return resp.AppendError(dst, errNoAuth), actionNone
	}
	return cmd.run(s, c, args, dst), cmd.action
}

// errNoAuth answers everything that needs a password first.
const errNoAuth = "NOAUTH Authentication required."

// allowed reports whether the connection may run the command of this name now.
// Before AUTH only few are.
func (s *Server) allowed(c *client, name []byte) bool {
	if c.authed {
		return true
	}
	cmd := find(s.commands, name)
	if cmd == nil {
		return false
	}
	return beforeLogin(cmd.name)
}

// beforeLogin reports whether a command is one of those that lead to AUTH, or
// away.
func beforeLogin(name string) bool {
	switch name {
	case "hello", "auth", "quit", "reset":
		return true
	}
	return false
}

// find looks a name up in a table, whatever its case, without allocating.
func find(table map[string]*command, name []byte) *command {
	var buf [32]byte
	if len(name) > len(buf) {
		return nil
	}
	return table[string(lower(buf[:0], name))]
}

// lower appends name to dst with ASCII letters in lower case.
func lower(dst, name []byte) []byte {
	for _, b := range name {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		dst = append(dst, b)
	}
	return dst
}

// subcommand returns the subcommand that args ask for. An unknown one is left
// to cmd.run, which also serves the command without any.
func (cmd *command) subcommand(args [][]byte) *command {
	if cmd.subs == nil || len(args) < 2 {
		return nil
	}
	return find(cmd.subs, args[1])
}

// fits reports whether a command of n words has the right number of them.
func (cmd *command) fits(n int) bool {
	if cmd.arity < 0 {
		return n >= -cmd.arity
	}
	return n == cmd.arity
}

// arityError is Redis's text for a wrong number of words. That of EXEC says that
// the transaction is over.
func (cmd *command) arityError() string {
	text := arityError(cmd.name)
	if cmd.name == "exec" {
		text = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(text, "ERR ")
	}
	return text
}

// commandTable returns every command that is answered here.
func commandTable() map[string]*command {
	table := map[string]*command{}
	for _, group := range [][]*command{
		connectionCommands(), serverCommands(), probeCommands(), keyspaceCommands(), transactionCommands(), pubsubCommands(),
		{clientCommand(), configCommand(), commandCommand(), scriptCommand(), redlockCommand(), aclCommand()},
	} {
		for _, cmd := range group {
			cmd.index = len(table)
			table[cmd.name] = cmd
		}
	}
	return table
}

// withSubs makes a command of subcommands; their names are completed. A bare
// name or an unknown subcommand gets Redis's error.
func withSubs(name string, subs ...*command) *command {
	cmd := &command{name: name, arity: -2, run: unknownSubcommand, subs: map[string]*command{}}
	for _, sub := range subs {
		cmd.subs[sub.name] = sub
		sub.name = name + "|" + sub.name
	}
	return cmd
}
