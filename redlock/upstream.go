package redlock

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// How long a master that is down is left alone: at first, and at most.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// upstream is a [Master] that is a real server, in one database: one
// connection at a time, kept by a supervisor, and the worker that uses it.
type upstream struct {
	addr   MasterAddr
	db     int
	number int // among the masters of this proxy
	shape  electorate
	clock  Clock
	log    *slog.Logger
	// changed is called, without locks, when admissions must be looked at again.
	changed func()
	// quorum is told when the master is back.
	quorum    atomic.Pointer[Quorum]
	horizonAt time.Duration // when the horizon was last read; of the supervisor alone
	warned    string        // of the supervisor alone

	worker *worker
	done   chan struct{} // closed by close
	stop   context.CancelFunc
	ended  sync.WaitGroup

	refusing atomic.Bool // no connection, and known why
	ready    atomic.Bool // the steward has looked at it and the others; until then calls wait
	memory   horizon     // the furthest horizon ever seen there
	longest  horizon     // the longest TTL of a horizon ever seen there
	// restoring is set while it is given its locks back or their end is awaited,
	// and votesAt the Clock time at which it then votes at the latest, 0 if that
	// is not known.
	restoring atomic.Bool
	votesAt   atomic.Int64

	mu     sync.Mutex
	link   *link
	wire   *wire  // nil: no connection
	down   string // why there is none; empty while the first one is being opened
	raw    []byte // the record as last seen
	in     *seats // in force
	member bool   // of that set
	// admitted is by place what was last decided, not to be changed. taken is
	// set while another server has this one's place.
	admitted []admission
	taken    bool
	// claimed is the Identity of the last claim that this proxy made for what is
	// at the address, gap why, and claim the admission of the place since a Clock
	// time.
	claimed    string
	gap        string
	claim      admission
	claimSince time.Duration
	old        previous
	facts      *facts // of the last connection
	unread     map[string]bool
	count      tallyOfFailures
	took       time.Duration // moving average of a batch
	lastAt     time.Duration // when the last batch ended
}

// horizonPeriod is how often the horizon is read, for those that other proxies
// raise.
const horizonPeriod = time.Second

// redialPeriod is how often an address is looked up and dialled again that leads
// to a server whose place another one has.
const redialPeriod = 5 * time.Second

// closedReason is why a connection ends that nobody needs any more.
const closedReason = "closed"

// Name is the master's address.
func (u *upstream) Name() string { return u.addr.Address }

// Send queues the call. It refuses while the master is down.
func (u *upstream) Send(c *Call) bool {
	if u.refusing.Load() {
		u.fail("down", 1)
		return false
	}
	if u.worker.queue.push(c) {
		return true
	}
	u.fail("queue full", 1)
	return false
}

// Down tells why answers do not vote at present.
func (u *upstream) Down() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.wire != nil:
		if votes, reason := u.link.votes(); !votes {
			return reason
		}
		return u.congested()
	case u.down == "":
		return "connecting"
	}
	return u.down
}

func (u *upstream) congested() string {
	if u.worker.queue.length() >= queueLimit {
		return "queue full"
	}
	return ""
}

func (u *upstream) start() {
	ctx, cancel := context.WithCancel(context.Background())
	u.stop = cancel
	u.worker = newWorker(u)
	u.ended.Go(u.worker.run)
	u.ended.Go(func() { u.supervise(ctx) })
}

// close ends the connection and delivers what is still queued. Nothing may be
// sent afterwards.
func (u *upstream) close() {
	u.stop()
	close(u.done)
	u.ended.Wait()
}

// supervise keeps one connection open. It is the only one who dials.
func (u *upstream) supervise(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		if u.serve(ctx) > lastBackoff {
			backoff = firstBackoff
		}
		pause(ctx, backoff)
		backoff = min(2*backoff, lastBackoff)
	}
	u.setDown(closedReason)
}

// serve opens a connection and returns when it is gone; it tells how long it
// was open.
func (u *upstream) serve(ctx context.Context) time.Duration {
	w, err := dial(ctx, &u.addr, u.db, recordKey(u.shape.name), u.replaces(), u.clock.Now)
	if err != nil {
		u.setDown(err.Error())
		return 0
	}
	since := u.clock.Now()
	u.opened(w)
	u.watch(ctx, w)
	u.lost(w)
	w.release()
	return u.clock.Now() - since
}

// pause waits for about d.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (u *upstream) replaces() previous {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.old
}

// opened puts a verified connection into service.
func (u *upstream) opened(w *wire) {
	f := w.facts
	u.mu.Lock()
	w.generation = u.link.opened(f.id, f.sent, f.received, f.end)
	u.wire, u.facts, u.raw = w, f, f.end.record
	u.old = previous{run: f.id.run, clientID: f.clientID}
	u.lastAt = f.received
	u.refusing.Store(false)
	news := u.newlyUnread(f)
	u.mu.Unlock()

	u.log.Info("connected to master", "master", u.addr.Address, "db", u.db, "version", f.version, "run_id", f.id.run)
	for _, what := range news {
		u.log.Warn("the master does not tell everything, the unsafe case is assumed", "master", u.addr.Address, "reason", what)
	}
	if f.warning != "" && u.warned != f.warning {
		u.warned = f.warning
		u.log.Warn("the master should be set up otherwise", "master", u.addr.Address, "reason", f.warning)
	}
	u.nudge()
	u.changed()
}

// inspect reads what no batch shows.
func (u *upstream) inspect(w *wire) {
	if u.readHorizon(w) == nil {
		u.watchEvictions(w)
	}
}

// newlyUnread is what a master did not let us read and was not logged before.
func (u *upstream) newlyUnread(f *facts) (news []string) {
	for _, what := range f.unread {
		if !u.unread[what] {
			u.unread[what] = true
			news = append(news, what)
		}
	}
	return news
}

// lost takes a connection out of service.
func (u *upstream) lost(w *wire) {
	u.mu.Lock()
	u.link.closed()
	u.wire, u.down = nil, w.why
	u.refusing.Store(true)
	u.mu.Unlock()
	if w.why != closedReason {
		u.log.Warn("connection to master lost", "master", u.addr.Address, "db", u.db, "reason", w.why)
	}
	u.nudge()
	u.changed()
}

// setDown says why there is no connection, and lets the worker refuse what
// waits for one.
func (u *upstream) setDown(reason string) {
	u.mu.Lock()
	news := u.down != reason
	u.down = reason
	u.refusing.Store(true)
	u.mu.Unlock()
	if news && reason != closedReason {
		u.log.Warn("master is down", "master", u.addr.Address, "db", u.db, "reason", reason)
		u.changed()
	}
	u.nudge()
}

func (u *upstream) nudge() { u.worker.queue.nudge() }

// watch returns when the connection is gone. It gives up a connection that
// does not answer: TCP alone would take minutes to notice.
func (u *upstream) watch(ctx context.Context, w *wire) {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-w.gone:
			return
		case <-ctx.Done():
			w.lose(closedReason)
			return
		case <-ticker.C:
			u.look(w)
		}
	}
}

// look sees to a worker that waits for an answer, or has not for a while.
func (u *upstream) look(conn *wire) {
	select {
	case <-conn.gone:
		return
	default:
	}
	now := u.clock.Now()
	sent := time.Duration(u.worker.sentAt.Load())
	waits := now - sent
	if sent == 0 {
		waits = 0
	}
	if waits > answerTimeout {
		conn.lose(fmt.Sprintf("no answer for %v", waits.Round(time.Millisecond)))
		return // what was sent over it may still be executed: the master is not back
	}
	if waits > watchPeriod {
		u.refuse(u.worker.queue.expired(now), "no answer in time")
	}
	u.mu.Lock()
	idle := now - u.lastAt
	votes, _ := u.link.votes()
	elsewhere := u.taken && now-conn.facts.received > redialPeriod
	u.mu.Unlock()
	if elsewhere {
		conn.lose(reasonTaken)
		return
	}
	if waits > watchPeriod {
		return
	}
	// A master that is being resynchronised waits for its leftovers to go away.
	if q := u.quorum.Load(); q != nil && (votes || q.Ready()) {
		q.Returned(u)
	}
	if now-u.horizonAt > horizonPeriod {
		u.horizonAt = now
		go u.inspect(conn)
	}
	if sent == 0 && idle > idleProbe {
		u.worker.probe()
	}
}

// connection is the present one, or nil and why not; neither while the first
// is being opened.
func (u *upstream) connection() (*wire, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.wire == nil {
		return nil, u.down
	}
	return u.wire, ""
}

// present is what a batch has to know: the master's clock, the drift allowed,
// and whether the master votes. If all that is known of the clock took longer
// than an op timeout to be told, it is taken for one of those that it may be which
// show less: nothing is executed, and no copy removed, on account of a time later
// than an op timeout behind the one that is meant.
func (u *upstream) present() (clock clockOffset, drift int64, votes bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	votes, _ = u.link.votes()
	clock = u.link.clock
	clock.hi = min(clock.hi, clock.lo+time.Duration(u.shape.opTimeout)*time.Millisecond)
	return clock, u.link.drift, votes
}

// refuse delivers calls that were not sent.
func (u *upstream) refuse(calls []*Call, why string) {
	for _, c := range calls {
		u.unsent(c, why)
	}
}

func (u *upstream) unsent(c *Call, why string) {
	u.fail("not sent", 1)
	c.Deliver(Answer{Status: Unsent, Reason: why})
}

// judge decides whether the answers of a batch vote, and completes them. It
// returns whether what the batch has read counts, too. Answers do not if the
// master did not vote when the batch was made: the horizon was not raised for
// them then.
func (u *upstream) judge(conn *wire, calls []*Call, voted bool, answers []Answer, ttls []int64, sent, received time.Duration, end suffix) (votes bool) {
	u.mu.Lock()
	u.lastAt = received
	u.took += (received - sent - u.took) / 8
	if u.link.replaced(end) && conn.generation == u.link.generation {
		conn.lose(reasonReplaced)
	}
	look := u.adopt(conn.generation, end)
	_, before := u.link.votes()
	votes, reason := u.link.judge(conn.generation, sent, received, end)
	_, after := u.link.votes()
	if votes && !voted {
		votes, reason = false, "admitted meanwhile"
	}
	for i := range answers {
		a := &answers[i]
		if a.Status == Answered {
			a.Votes, a.Reason, a.Moved = votes, reason, isMoving(reason)
			if votes && calls[i].round != nil {
				a.Votes, a.Reason = u.link.counts(calls[i].round.started)
			}
			if ttls[i] > 0 {
				a.Expiry = u.link.expiry(sent, received, end, ttls[i])
			}
			for k := range a.And {
				if h := &a.And[k]; h.Given > 0 {
					h.Expiry = u.link.expiry(sent, received, end, h.Given)
				}
			}
		}
		if !a.Votes {
			u.count.add(label(a), 1)
		}
	}
	u.mu.Unlock()
	if look || before != after {
		u.changed()
	}
	return votes
}
