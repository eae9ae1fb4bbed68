//go:build linux

package caller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"redlock-proxy/integration/torture/linear"
)

// Histories are what came of checking the short histories of single locks.
type Histories struct{ Fine, Impossible, Undecided int }

const (
	historyTTL     = 30 * time.Second // nothing expires
	historyLength  = 1200 * time.Millisecond
	historyClients = 4
	checkTimeout   = 2 * time.Second
)

// runHistories lets a few clients use one lock for a short time, again and
// again, and checks what they saw.
func (c *Crew) runHistories(ctx context.Context) {
	for number := 0; ctx.Err() == nil; number++ {
		key := fmt.Sprintf("history:%d", number)
		var mu sync.Mutex
		var ops []linear.Op
		var wg sync.WaitGroup
		for i := range historyClients {
			w := &witness{key: key, number: i, rand: rand.New(rand.NewPCG(c.Seed, uint64(number*historyClients+i+1e6)))}
			w.line = &line{crew: c, name: fmt.Sprintf("history#%d", i), conns: make([]*connection, len(c.Proxies))}
			w.noted = func(op linear.Op) {
				mu.Lock()
				defer mu.Unlock()
				ops = append(ops, op)
			}
			wg.Go(func() { w.live(ctx) })
		}
		wg.Wait()
		result := linear.Check(ops, checkTimeout)
		if result == linear.Impossible {
			c.Ledger.Violate(key, "no order of these operations explains their replies")
		}
		c.mu.Lock()
		switch result {
		case linear.Fine:
			c.histories.Fine++
		case linear.Impossible:
			c.histories.Impossible++
		default:
			c.histories.Undecided++
		}
		c.mu.Unlock()
	}
}

// witness is a client of one such lock.
type witness struct {
	*line
	key    string
	number int
	rand   *rand.Rand
	noted  func(linear.Op)
}

func (w *witness) live(ctx context.Context) {
	defer w.close()
	end := w.crew.Ledger.Now() + historyLength
	for n := 0; w.crew.Ledger.Now() < end && ctx.Err() == nil; n++ {
		token := fmt.Sprintf("%s/%d/%d", w.key, w.number, n)
		got := w.ask(linear.Acquire, token, false, acquire(w.key, token, historyTTL))
		switch {
		case got.Known && got.Yes:
			w.hold(token)
			w.release(token, false)
		case !got.Known:
			w.release(token, true)
		default:
			w.ask(linear.Read, "", false, []string{"GET", w.key})
		}
		time.Sleep(between(w.rand, 20*time.Millisecond, 120*time.Millisecond))
	}
}

func (w *witness) hold(token string) {
	for range w.rand.IntN(4) {
		if w.rand.IntN(2) == 0 {
			w.ask(linear.Read, "", false, []string{"GET", w.key})
		} else {
			w.ask(linear.Extend, token, false, extends[w.rand.IntN(len(extends))](w.key, token, historyTTL))
		}
		time.Sleep(between(w.rand, 0, 60*time.Millisecond))
	}
}

// release releases until it is known that it is released; loose says that it may
// never have been held.
func (w *witness) release(token string, loose bool) {
	for range 40 {
		op := w.ask(linear.Release, token, loose, releases[w.rand.IntN(len(releases))](w.key, token))
		if op.Known {
			return
		}
		loose = true
		time.Sleep(between(w.rand, 20*time.Millisecond, 120*time.Millisecond))
	}
}

// ask sends a command through any proxy and notes what came of it.
func (w *witness) ask(kind linear.Kind, token string, loose bool, args []string) linear.Op {
	r := w.do(w.rand.IntN(len(w.crew.Proxies)), w.key, args...)
	op := linear.Op{Client: w.number, Kind: kind, Token: token, Loose: loose, Sent: r.sent, Arrived: r.arrived, Known: r.known(), Yes: r.yes()}
	if kind == linear.Read && op.Known && r.text != "$-1" {
		op.Value, _ = strconv.Unquote(r.text)
	}
	w.noted(op)
	return op
}
