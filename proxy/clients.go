package proxy

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// client is what a utility command may see and change of its connection. The
// session embeds it.
//
// Only the session's own reading goroutine writes it, and may read it freely.
// CLIENT LIST of other connections reads it too, so writing what stands below
// the mutex takes the mutex.
type client struct {
	id          int64
	addr, laddr string // the peer's address and the one it connected to
	created     time.Time
	lastSeen    atomic.Int64 // of the last command, a time.Duration since created

	refused bool // it tried a wrong password, and has not been made to wait

	mu              sync.Mutex
	name            string // CLIENT SETNAME
	libName, libVer string // CLIENT SETINFO
	user            string
	account         *account // of the user; it counts only if authed
	authed          bool     // may use the proxy
	proto           int      // 2 or 3
	db              int
	noEvict         bool
	noTouch         bool

	channels, patterns int // that it subscribes to
}

// touch notes that a command arrived. The time of day would do only until
// somebody sets the clock.
func (c *client) touch(now time.Time) { c.lastSeen.Store(int64(now.Sub(c.created))) }

// set changes c under its mutex.
func (c *client) set(change func(c *client)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// clientTable knows the open connections. Its zero value is empty.
type clientTable struct {
	mu     sync.Mutex
	lastID int64
	open   map[int64]*client
}

// add registers a new connection and gives it its id.
func (t *clientTable) add(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[int64]*client{}
	}
	t.lastID++
	c.id = t.lastID
	t.open[c.id] = c
}

// remove forgets a connection that was closed.
func (t *clientTable) remove(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c.id)
}

// count returns the number of open connections.
func (t *clientTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// all returns the open connections, the oldest first.
func (t *clientTable) all() []*client {
	t.mu.Lock()
	list := make([]*client, 0, len(t.open))
	for _, c := range t.open {
		list = append(list, c)
	}
	t.mu.Unlock()
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

// welcome prepares c for a connection that was accepted and registers it.
// The session calls goodbye when it ends.
func (s *Server) welcome(c *client, addr, laddr string) {
	c.addr, c.laddr = addr, laddr
	c.created = time.Now()
	c.touch(c.created)
	s.freshLogin(c)
	s.clients.add(c)
}

// goodbye forgets the connection.
func (s *Server) goodbye(c *client) { s.clients.remove(c) }
