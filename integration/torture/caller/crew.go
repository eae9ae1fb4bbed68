//go:build linux

// Package caller is the clients: they acquire, hold, extend, read and release
// locks, hang up and delete, and write down what they were told.
package caller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"redlock-proxy/integration/torture/ledger"
)

// DefaultTTL is what the proxies have to give a lock that is taken without one.
const DefaultTTL = 2 * time.Second

// LongestTTL is the longest that a caller asks for.
const LongestTTL = 3 * time.Second

// Crew is all callers.
type Crew struct {
	Ledger    *ledger.Ledger
	Proxies   []string // addresses
	Seed      uint64
	OpTimeout time.Duration // of the proxies
	Histories bool          // also check short histories, of locks with a long TTL

	mu        sync.Mutex
	replies   map[string]map[string]int // by command, by kind of reply
	histories Histories
}

// group is callers of the same kind on the same keys.
type group struct {
	prefix        string
	keys, callers int
	live          func(*caller, context.Context)
}

// groups are the kinds of callers. How often a token is used decides what a
// caller may do: see each.
var groups = []group{
	{"unique", 5, 12, (*caller).unique},
	{"deleted", 1, 3, (*caller).deleting},
	{"retried", 1, 3, (*caller).retrying},
	{"constant", 1, 3, (*caller).constant},
	{"renewed", 1, 3, (*caller).renewing},
}

// caller is one client.
type caller struct {
	*line
	rand   *rand.Rand
	prefix string
	keys   int
	number int
	tokens int
}

// Run lets everybody work until the context ends.
func (c *Crew) Run(ctx context.Context) {
	c.replies = make(map[string]map[string]int)
	var wg sync.WaitGroup
	if c.Histories {
		wg.Go(func() { c.runHistories(ctx) })
	}
	number := 0
	for _, g := range groups {
		for range g.callers {
			number++
			caller := &caller{rand: rand.New(rand.NewPCG(c.Seed, uint64(1000+number))), prefix: g.prefix, keys: g.keys, number: number}
			caller.line = &line{crew: c, name: fmt.Sprintf("%s#%d", g.prefix, number), conns: make([]*connection, len(c.Proxies))}
			wg.Go(func() {
				defer caller.close()
				for ctx.Err() == nil {
					g.live(caller, ctx)
				}
			})
		}
	}
	wg.Wait()
}

func (c *Crew) count(command, what string) {
	if !strings.HasPrefix(what, "-") && !strings.HasPrefix(what, "lost") && !strings.HasPrefix(what, "not sent") && !strings.HasPrefix(what, "hung up") {
		what = "answered"
	}
	word := strings.TrimSuffix(strings.Fields(what)[0], ":")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies[command] == nil {
		c.replies[command] = make(map[string]int)
	}
	c.replies[command][word]++
}

// Replies are how many replies of which kind each command got: "answered", the
// code of an error, "lost", "not sent" or "hung up".
func (c *Crew) Replies() map[string]map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies
}

// Checked is what came of checking histories.
func (c *Crew) Checked() Histories {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.histories
}

// token is one that nobody has used before.
func (c *caller) token() string {
	c.tokens++
	return fmt.Sprintf("%s/%d", c.name, c.tokens)
}

func (c *caller) key() string { return fmt.Sprintf("%s:%d", c.prefix, c.rand.IntN(c.keys)) }

func (c *caller) proxy() int { return c.rand.IntN(len(c.crew.Proxies)) }

func (c *caller) ttl() time.Duration {
	return between(c.rand, 200*time.Millisecond, LongestTTL)
}

func (c *caller) chance(percent int) bool { return c.rand.IntN(100) < percent }

func (c *caller) sleep(from, to time.Duration) { time.Sleep(between(c.rand, from, to)) }

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}
