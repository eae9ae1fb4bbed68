// Package ledger is what all clients together know about who is entitled to
// which lock, by one monotonic clock, and notices when that cannot be.
//
// # What a client is entitled to
//
// The promise is: a lock is held for its TTL, counted from the moment the proxy
// hands the reply to the socket. That moment is known here, because everything
// runs on one machine: it is when the kernel received the reply (arrived). So a
// grant that was sent for at s, arrived at a, and has the TTL t,
//
//   - begins at a: before that nobody can know of it;
//   - ends at s + t at the earliest, whatever anybody does wrong with clocks or
//     pauses, because s comes before everything;
//   - ends at a + t by the promise. The proxy looks at its watch and then writes,
//     and the machine may stop it in between, so [Tolerance] is taken off; and
//     nothing is claimed beyond s + t when the machine as a whole is known to
//     have stood still between s and a.
//
// Whoever gives a lock up (release, DEL, an extend to a shorter time) loses it
// when the command is sent, since nobody knows when it is executed.
package ledger

import (
	"fmt"
	"sync"
	"time"
)

// Tolerance is how long a proxy may take to write what it has found to hold.
const Tolerance = 20 * time.Millisecond

// Ledger is safe for concurrent use. All times are since its start.
type Ledger struct {
	start  time.Time
	stalls stalls

	mu         sync.Mutex
	keys       map[string]*key
	violations []Violation
	grants     int
}

// key is what is known of one lock.
type key struct {
	holds  []*Hold
	erased []span // while somebody deletes it, whoever has it
	ops    []Op
}

type span struct{ from, to time.Duration }

// Violation is something that must never be.
type Violation struct {
	At   time.Duration
	Key  string
	What string
}

// New begins a ledger.
func New() *Ledger {
	l := &Ledger{start: time.Now(), keys: make(map[string]*key)}
	go l.stalls.watch(l)
	return l
}

// Now is the present time.
func (l *Ledger) Now() time.Duration { return time.Since(l.start) }

// Start is when the ledger was begun.
func (l *Ledger) Start() time.Time { return l.start }

// At translates a time.
func (l *Ledger) At(t time.Time) time.Duration { return t.Sub(l.start) }

// Hold is one client's lock.
type Hold struct {
	l          *Ledger
	Key, Token string
	Client     string
	From       time.Duration
	until      time.Duration // by the promise, or when it was deleted; guarded by l.mu
	gone       time.Duration // when it was given up; guarded by l.mu
}

// end is when the holder is not entitled any more. l.mu is held.
func (h *Hold) end() time.Duration { return min(h.until, h.gone) }

// Grant notes a lock that a client was given, and checks it against all others.
func (l *Ledger) Grant(client, name, token string, ttl time.Duration, sent, arrived time.Duration) *Hold {
	h := &Hold{l: l, Key: name, Token: token, Client: client, From: arrived, gone: forEver}
	h.until = l.until(ttl, sent, arrived)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants++
	k := l.key(name)
	for _, s := range k.erased {
		h.erase(s)
	}
	k.holds = append(k.holds, h)
	l.compare(k, h)
	return h
}

// compare looks whether anybody else has what h has. l.mu is held.
func (l *Ledger) compare(k *key, h *Hold) {
	for _, o := range k.holds {
		if o == h || o.end() <= h.From || h.end() <= o.From {
			continue
		}
		from, to := max(o.From, h.From), min(o.end(), h.end())
		l.violate(h.Key, fmt.Sprintf("two holders for %v: %v and %v", to-from, o, h))
	}
}

// until is how long a grant certainly holds.
func (l *Ledger) until(ttl, sent, arrived time.Duration) time.Duration {
	if l.stalls.during(sent, arrived) {
		return sent + ttl
	}
	return max(sent, arrived-Tolerance) + ttl
}

// GiveUp notes that the holder is about to send a command that ends the lock.
func (h *Hold) GiveUp() {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.gone = min(h.gone, h.l.Now())
}

// Extending notes that the holder is about to send an extend. It may end the
// lock sooner than it would have ended.
func (h *Hold) Extending(ttl time.Duration) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.until = min(h.until, h.l.Now()+ttl)
}

// Extended notes that the extend succeeded.
func (h *Hold) Extended(ttl, sent, arrived time.Duration) {
	until := h.l.until(ttl, sent, arrived)
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.l.grants++
	h.until = max(h.until, until)
	k := h.l.key(h.Key)
	for _, s := range k.erased {
		h.erase(s)
	}
	h.l.compare(k, h)
}

// Entitled reports whether the holder was entitled the whole time.
func (h *Hold) Entitled(from, to time.Duration) bool {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	return h.From <= from && to < h.end()
}

// Denied notes that the holder was told that the lock is not its own.
func (h *Hold) Denied(sent, arrived time.Duration, what string) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	if h.From <= sent && arrived < h.until {
		h.l.violate(h.Key, fmt.Sprintf("%s, sent at %s and answered at %s, to %v", what, clock(sent), clock(arrived), h))
	}
}

// Left is for how long the holder is entitled from now on.
func (h *Hold) Left() time.Duration {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	return h.end() - h.l.Now()
}

func (h *Hold) String() string {
	return fmt.Sprintf("%s with %s from %s to %s", h.Client, h.Token, clock(h.From), clock(h.end()))
}

// Erasing notes that somebody is about to delete a key, whoever has it. The
// returned function notes that it has ended; late is how long it may still take
// effect.
func (l *Ledger) Erasing(name string) (done func(late time.Duration)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.key(name)
	i := len(k.erased)
	k.erased = append(k.erased, span{l.Now(), forEver})
	for _, h := range k.holds {
		h.erase(k.erased[i])
	}
	return func(late time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		k.erased[i].to = l.Now() + late
	}
}

const forEver = time.Duration(1<<63 - 1)

// erase ends the lock where it meets a deletion.
func (h *Hold) erase(s span) {
	if h.From <= s.to && s.from < h.until {
		h.until = max(s.from, h.From)
	}
}

// Violate notes something else that must never be.
func (l *Ledger) Violate(name, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violate(name, what)
}

func (l *Ledger) violate(name, what string) {
	l.violations = append(l.violations, Violation{At: l.Now(), Key: name, What: what})
}

// Violations are all so far.
func (l *Ledger) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Violation(nil), l.violations...)
}

// Grants is how many locks were granted or extended.
func (l *Ledger) Grants() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grants
}

// Keys are the names of all locks.
func (l *Ledger) Keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.keys))
	for name := range l.keys {
		names = append(names, name)
	}
	return names
}

func (l *Ledger) key(name string) *key {
	k := l.keys[name]
	if k == nil {
		k = &key{}
		l.keys[name] = k
	}
	return k
}

func clock(d time.Duration) string { return fmt.Sprintf("%.4f", d.Seconds()) }
