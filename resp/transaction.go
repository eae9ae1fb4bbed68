package resp

import (
	"strings"
	"time"

	"redlock-proxy/redlock"
)

// A transaction is the commands between MULTI and EXEC. It is the same as a
// script that calls them one after the other and returns their replies, so it
// is run on the same model of keys, and becomes one swap. What was watched
// before is a condition of that swap.

// Watched is what a quorum held at a key when the client watched it.
type Watched struct {
	DB    int
	Key   []byte
	State redlock.State // of the outcome
	Age   time.Duration // how long ago that was
}

// Watch fills l with the reads of WATCH key [key …] in database db; the reply
// is OK. As in [Env.Recognise] args are kept, and errText is to be answered if
// it is not empty.
func (e *Env) Watch(l *Lock, args [][]byte, db int) (errText string) {
	l.reset(e, db)
	if errText = l.many(args[1:], answers{}, shapeOK, redlock.Leaf{}); errText != "" {
		return errText
	}
	l.MayLearn = true // what the client reads next must not be older
	return e.reservedKey(l)
}

// Transaction fills l with the commands that were queued, each of which passed
// [Env.QueueFault], in database db, on condition that what is watched has not
// changed; watched names each key once. As in [Env.Recognise] commands are kept,
// and errText is to be answered if it is not empty.
func (e *Env) Transaction(l *Lock, commands [][][]byte, watched []Watched, db int) (errText string) {
	l.reset(e, db)
	l.Kind = KindTransaction
	tx := &transaction{watched: watched, commands: make([]queued, len(commands))}
	for i, args := range commands {
		if reason := tx.commands[i].fill(e, args); reason != "" {
			return aborted(reason)
		}
	}
	l.plan = Plan{DB: db, script: e.Scripts.transaction(tx), env: e, db: db}
	if reason := l.plan.transact(); reason != "" {
		return aborted(refusedTransaction(reason))
	}
	l.planned()
	if errText = e.reservedKey(l); errText != "" {
		return aborted(errText)
	}
	return ""
}

// aborted is the reply to EXEC for a transaction that cannot be run here. Its
// first word tells clients that nothing was done.
func aborted(reason string) string {
	return "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(reason, "ERR ")
}

// refusedTransaction is refusedText for transactions.
func refusedTransaction(reason string) string {
	return "redlock-proxy: this transaction " + reason +
		"; the proxy runs transactions that handle string keys as locks, so nothing was done"
}
