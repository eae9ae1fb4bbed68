package redlock

import (
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what [New] needs. Masters, OpTimeout and Clock are required.
type Config struct {
	Masters   []Master
	OpTimeout time.Duration // one deadline for queueing, retries and undo of an operation
	DriftPPM  int           // largest rate by which two clocks may differ, parts per million
	Clock     Clock
	Logger    *slog.Logger
	// Rand returns a number in [0, n); the default is good. The simulation
	// brings its own to be repeatable.
	Rand func(n int64) int64

	off rules // tests switch rules off to see that the simulation notices
}

// rules are parts of the algorithm that a test can switch off.
type rules struct {
	slack       bool // pad TTLs and refuse late grants
	carefulUndo bool // undo only what this attempt created
	window      bool // tell copies apart by their expiry time
	unknown     bool // keep "no answer" apart from "not there"
	early       bool // deny only those that were there before the round was sent
	look        bool // look before removing whatever is there
	undo        bool // remove what a failed attempt created
	late        bool // look at copies that come after the deadline
}

// Quorum runs swaps over a set of masters in one database. It is safe for
// concurrent use.
type Quorum struct {
	Stats Stats

	_ apart

	masters   []Master // all that this proxy knows
	seats     atomic.Pointer[seats]
	opTimeout time.Duration
	clock     Clock
	rand      func(n int64) int64
	pad       padding
	off       rules
	voids     *voids

	_ apart

	unanswered  unanswered
	deadlines   deadlines
	block       atomic.Pointer[flightBlock]
	outstanding atomic.Int64 // rounds and side calls that are not answered everywhere

	owedLock sync.Mutex
	owed     [][]stray // by master
}

// apart keeps what every operation writes off the cache lines of what every
// operation reads.
type apart [64]byte

// New returns a quorum over cfg.Masters; an operation needs len(Masters)/2+1
// of them.
func New(cfg Config) *Quorum {
	q := &Quorum{
		masters:   cfg.Masters,
		opTimeout: cfg.OpTimeout,
		clock:     cfg.Clock,
		rand:      cfg.Rand,
		pad:       padding{ppm: int64(cfg.DriftPPM), maxSlack: cfg.OpTimeout.Milliseconds(), off: cfg.off.slack},
		off:       cfg.off,
	}
	q.owed = make([][]stray, len(q.masters))
	q.voids = newVoids(len(q.masters))
	q.seats.Store(seatAll(q.masters))
	if q.rand == nil {
		q.rand = rand.Int64N
	}
	q.unanswered.seed = maphash.MakeSeed()
	q.deadlines.clock = cfg.Clock
	q.deadlines.period = min(max(cfg.OpTimeout/16, time.Millisecond), 10*time.Millisecond)
	q.deadlines.spread = max(cfg.OpTimeout/8, 2*time.Millisecond)
	return q
}

// Ready reports whether a quorum of masters may vote at present.
func (q *Quorum) Ready() bool {
	s, n := q.seats.Load(), 0
	for place := range s.masters {
		if q.down(s, place) == "" {
			n++
		}
	}
	return n >= s.need
}

// Size returns the number of masters and how many an operation needs.
func (q *Quorum) Size() (masters, need int) {
	s := q.seats.Load()
	return len(s.masters), s.need
}

// Start begins an operation. deadline is a Clock time, 0 means one op timeout
// from now. op.Done is called when the outcome is known, at the latest about
// at the deadline, possibly before Start returns.
func (q *Quorum) Start(op *Op, deadline time.Duration) {
	f := q.begin(op, deadline)
	f.followed.Store(op.followed.Swap(false))
	op.flight.Store(f)
	f.first.send()
}

// begin makes the flight of an operation that starts now.
func (q *Quorum) begin(op *Op, deadline time.Duration) *flight {
	now := q.clock.Now()
	if deadline == 0 {
		deadline = now + q.opTimeout
	}
	f := q.newFlight()
	f.q, f.op, f.class, f.began, f.deadline, f.ordered = q, op, classify(&op.Swap), now, deadline, op.Ordered
	f.herds = f.class == classAcquire && op.Swap.isPlain()
	f.validity = f.validityOf(&op.Swap)
	if op.Swap.NeedsLook() && !q.off.look {
		f.class, f.look = classRead, &look{looking: true}
	}
	f.first.init(f, f.table(), now)
	f.cur = &f.first
	return f
}

// Now is the present time of the quorum's clock, for deadlines.
func (q *Quorum) Now() time.Duration { return q.clock.Now() }

// Claim is called when the reply is at the head of its connection and about to
// be written. True means that the outcome holds now. False means that a grant
// came too late: it is undone, the operation is tried again, and Done is
// called once more.
func (q *Quorum) Claim(op *Op) bool { return op.flight.Load().claim() }

// Settle tells the engine that the reply is in the client's socket. The op may
// be reused.
func (q *Quorum) Settle(op *Op) { op.flight.Load().settle() }

// Abandon tells the engine that the client will never read the reply: what
// the operation created is undone. Done may still be running; op must not be
// reused.
func (q *Quorum) Abandon(op *Op) {
	if f := op.flight.Load(); f != nil {
		f.abandon()
	}
}
