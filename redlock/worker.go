package redlock

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const batchLimit = 1000 // calls per batch

// worker sends calls to one master: all that are queued as one batch, one batch
// at a time, in order. With two workers, each for half of the keys, batches were
// smaller and the proxy took a sixth more CPU time; and operations on several
// keys could be overtaken.
type worker struct {
	up      *upstream
	queue   callQueue
	probing atomic.Bool  // send the end of a batch even if there is no call
	sentAt  atomic.Int64 // Clock time the present batch was sent at, 0 if there is none

	// Only the worker's goroutine uses these.
	taken    []*Call
	batch    []*Call
	sizes    []int // how many calls of the batch each command takes
	commands []rueidis.Completed
	answers  []Answer
	ttls     []int64 // that the calls of the batch gave their keys
	enc      encoder
	seen     keySet  // see combine
	behind   []*Call // see combine
	unloaded []*Call // to be sent again, see unload
	raise    int64   // TTL of the horizon that the batch raises, 0 for none
	voted    bool    // the master voted when the batch was encoded
}

func newWorker(up *upstream) *worker {
	return &worker{up: up, queue: newCallQueue(), seen: newKeySet()}
}

// probe makes the worker send the end of a batch if it has nothing else.
func (w *worker) probe() {
	w.probing.Store(true)
	w.queue.nudge()
}

// run works until the upstream is closed.
func (w *worker) run() {
	for {
		select {
		case <-w.queue.wake:
		case <-w.up.done:
			w.up.refuse(w.queue.take(nil), "closed")
			return
		}
		conn, down := w.up.connection()
		if conn == nil && down == "" || conn != nil && !w.up.ready.Load() {
			continue // not tried or not admitted yet: the calls wait, somebody wakes us
		}
		runtime.Gosched() // let a burst of calls arrive
		w.taken = w.queue.take(w.taken)
		if conn == nil {
			w.up.refuse(w.taken, down)
		} else {
			w.send(conn, w.probing.Swap(false))
		}
	}
}

// send sends what was taken.
func (w *worker) send(conn *wire, probing bool) {
	for rest := w.taken; len(rest) > 0 || probing; probing = false {
		n := min(len(rest), batchLimit)
		w.exchange(conn, rest[:n], probing)
		if len(w.unloaded) > 0 {
			again := slices.Clone(w.unloaded)
			w.unloaded = w.unloaded[:0]
			w.exchange(conn, again, false)
		}
		rest = rest[n:]
	}
}

// unload takes calls out of the batch that certainly were not executed and are to
// be sent once more: because the server did not know our script, which is loaded
// again, or because one of the calls combined to a command is of a key that this
// proxy's user may not touch. Not those that another call on the same key has
// followed, and none if the script was loaded in this very batch: something else
// is wrong then.
func (w *worker) unload(reload bool) {
	kept := 0
	for i, c := range w.batch {
		if !reload && w.skipped(i) && !w.followed(i) {
			w.unloaded = append(w.unloaded, c)
			continue
		}
		w.batch[kept], w.answers[kept], w.ttls[kept] = c, w.answers[i], w.ttls[i]
		if w.answers[kept].Reason == reasonApart {
			w.answers[kept].Reason = reasonNoPermission
		}
		kept++
	}
	clear(w.batch[kept:])
	w.batch, w.answers, w.ttls = w.batch[:kept], w.answers[:kept], w.ttls[:kept]
}

// skipped reports whether the ith call was not executed for a reason that need
// not be there the next time.
func (w *worker) skipped(i int) bool {
	reason := w.answers[i].Reason
	return reason == reasonNoScript || reason == reasonApart
}

// followed reports whether a call was executed behind the ith on one of its keys.
func (w *worker) followed(i int) bool {
	for j := i + 1; j < len(w.batch); j++ {
		if !w.skipped(j) && w.batch[i].Table.shares(w.batch[j].Table) {
			return true
		}
	}
	return false
}

const (
	reasonNoScript     = "NOSCRIPT"
	reasonNoPermission = "NOPERM"
	// reasonApart is that of calls combined with others, one of which gave it.
	reasonApart = "NOPERM, combined"
)

// exchange sends one batch, waits for its answers as long as the connection
// lives, and delivers them.
//
// DoMulti returns as soon as the reading side of the connection fails; its
// writing side may be in the middle of the batch then. So the commands of a
// failed batch are never touched again.
func (w *worker) exchange(conn *wire, calls []*Call, probing bool) {
	u := w.up
	sent := u.clock.Now()
	reload := conn.reload.Swap(false)
	ahead := w.encode(conn, calls, sent, reload)
	if len(w.batch) == 0 && !probing {
		conn.reload.Store(reload)
		return
	}
	whole := sent-conn.checked > checkPeriod
	w.commands = append(w.commands, conn.ending(whole)...)
	w.sentAt.Store(max(int64(sent), 1))
	results := conn.client.DoMulti(context.Background(), w.commands...)
	received := u.clock.Now()

	end := readSuffix(results[len(results)-len(conn.ending(whole)):])
	switch {
	case whole && end.ok:
		conn.checked = sent
	case !whole && received-conn.checked <= checkHolds:
		end.replication = conn.facts.id.replication
	case !whole && end.ok: // it took long
		end = readSuffix(conn.client.DoMulti(context.Background(), conn.suffix...))
		received = u.clock.Now()
	}
	w.sentAt.Store(0)
	if w.raise > 0 && results[ahead-1].Error() == nil {
		u.raised(conn, w.raise, sent, received)
	}
	results = results[ahead:]
	apart := conn.apart
	w.decode(conn, results)
	if conn.reload.Load() || conn.apart && !apart {
		w.unload(reload)
	}
	u.judge(conn, w.batch, w.voted, w.answers, w.ttls, sent, received, end)
	for i, c := range w.batch {
		c.Deliver(w.answers[i])
	}
	clear(w.batch)
	clear(w.answers)
	if failed := results[len(results)-1].NonRedisError(); failed != nil {
		w.commands = nil
	}
}

// encode fills the batch with the calls that are still to be sent. It returns
// how many commands come ahead of them.
func (w *worker) encode(conn *wire, calls []*Call, now time.Duration, reload bool) (ahead int) {
	w.batch, w.commands = w.batch[:0], w.commands[:0]
	w.enc.begin()
	w.enc.builder = conn.client.B()
	w.enc.offset, w.enc.ppm, w.voted = w.up.present()
	if reload {
		for _, script := range [...]string{swapScript, canonicalScript, canonicalManyScript} {
			w.commands = append(w.commands, conn.client.B().Arbitrary("SCRIPT", "LOAD", script).Build())
		}
	}
	longest := int64(0)
	for _, c := range calls {
		if !w.voted {
			break // nothing is granted by it
		}
		longest = max(longest, c.Table.longestTTL())
	}
	if w.raise = horizonFor(conn.horizon.get(), now, longest); w.raise > 0 {
		w.commands = append(w.commands, conn.client.B().Arbitrary("EVAL", horizonScript, "1", horizonKey(w.up.shape.name), strconv.FormatInt(w.raise, 10)).Build())
	}
	ahead = len(w.commands)
	for _, c := range calls {
		switch {
		case c.Deadline < now:
			w.up.unsent(c, "no answer in time")
		case !c.Wanted():
			c.Deliver(Answer{Status: Unsent, Reason: "no longer wanted"})
		default:
			w.batch = append(w.batch, c)
		}
	}
	w.combine(conn)
	rest := w.batch
	for _, n := range w.sizes {
		if n == 1 {
			w.commands = append(w.commands, w.enc.encode(rest[0], &conn.facts.dialect))
		} else {
			w.commands = append(w.commands, w.enc.canonicalMany(rest[:n], &conn.facts.dialect))
		}
		rest = rest[n:]
	}
	return ahead
}

// decode reads the results of the batch.
func (w *worker) decode(conn *wire, results []rueidis.RedisResult) {
	w.answers, w.ttls = w.answers[:0], w.ttls[:0]
	for i, n := range w.sizes {
		unsent := errors.Is(results[i].NonRedisError(), errNoRedial)
		add := func(a Answer, ttl int64) {
			switch {
			case a.Status == Lost && unsent:
				a.Status = Unsent
			case a.Status == Lost:
				conn.lose("connection lost")
			case a.Status == Failed && a.Reason == reasonNoScript:
				conn.reload.Store(true)
			case a.Status == Failed && a.Reason == reasonNoPermission && n > 1:
				conn.apart, a.Reason = true, reasonApart
			case a.Status == Failed && endsVerification(a.Reason):
				conn.lose(a.Reason)
			}
			w.answers, w.ttls = append(w.answers, a), append(w.ttls, ttl)
		}
		calls := w.batch[len(w.answers):][:n]
		if n > 1 {
			decodeCanonicalMany(calls, &results[i], add)
		} else {
			add(decode(calls[0], &conn.facts.dialect, &results[i]))
		}
	}
}

// endsVerification reports whether an error code says that the server is no
// longer what it was when it was verified.
func endsVerification(code string) bool {
	switch code {
	case "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "MOVED", "ASK", "NOAUTH":
		return true
	}
	return false
}

// INFO is by far the dearest command of a batch, and for one caller each batch is
// one operation. So it is left out while the last one was just before: to be made
// a replica, to get another server's data, by a process that has to be forked
// there, and to be promoted again takes a server longer than checkHolds.
const (
	checkPeriod = time.Millisecond
	checkHolds  = 2 * time.Millisecond
)

// readSuffix reads the answers to TIME, GET record and, if it was asked for, INFO
// replication.
func readSuffix(results []rueidis.RedisResult) suffix {
	clock, err := results[0].AsIntSlice()
	if err != nil || len(clock) != 2 {
		return suffix{}
	}
	end := suffix{timeMicros: clock[0]*1e6 + clock[1], ok: true}
	if len(results) > 2 {
		info, err := results[2].ToString()
		if err != nil {
			return suffix{}
		}
		end.replication = replicationOf(info)
	}
	text, err := results[1].ToString()
	switch {
	case err == nil:
		end.record = unshare(text)
	case !rueidis.IsRedisNil(err):
		end.ok = false
	}
	return end
}
