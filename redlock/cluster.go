package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// maxDatabases is the number of databases: SELECT 0 to 15, as Redis has them
// without configuration.
const maxDatabases = 16

// ClusterConfig is what [Open] needs. Zero values stand for the defaults in
// parentheses.
type ClusterConfig struct {
	Masters   []MasterAddr
	Embedded  int           // without Masters: how many in memory (5)
	Name      string        // of the quorum, as the records have it ("redlock")
	OpTimeout time.Duration // see [Config] (50 ms)
	DriftPPM  int           // see [Config]; also bounds how far masters' clocks may drift (500)
	Logger    *slog.Logger  // (slog.Default())
	Clock     Clock         // ([SystemClock])
}

// MasterAddr is how to reach one master.
type MasterAddr struct {
	Address  string // host:port
	Username string
	Password string
	// TLS returns what to make a connection with; nil: no TLS. The configuration
	// is not modified; without a ServerName it is the host of the address.
	TLS func() *tls.Config
}

// Cluster is the masters, in all their databases. Each database is a quorum of
// its own, on the database of the same number of each master.
type Cluster struct {
	cfg    ClusterConfig
	ctx    context.Context
	cancel context.CancelFunc
	bus    *Bus
	// listing has room for those who may list keys at once.
	listing chan struct{}

	mu        sync.Mutex
	databases [maxDatabases]*database
	closed    bool
}

// database is one quorum.
type database struct {
	quorum  *Quorum
	masters []reporter
	steward *steward // nil for embedded masters
	ended   sync.WaitGroup
}

type reporter interface {
	Master
	report() MasterReport
	// list returns the master's keys, some perhaps twice. It ends with ctx.
	list(ctx context.Context, f KeyFilter) ([]string, error)
	surveyed
}

// Open prepares the masters and begins to connect to them; it does not wait
// for them. The error says what is wrong with the configuration.
func Open(cfg ClusterConfig) (*Cluster, error) {
	cfg = cfg.withDefaults()
	seen := make(map[string]bool)
	for _, m := range cfg.Masters {
		if seen[m.Address] {
			return nil, fmt.Errorf("master %s is listed twice: a quorum needs different servers", m.Address)
		}
		seen[m.Address] = true
	}
	if len(cfg.Masters) > maxMasters {
		return nil, fmt.Errorf("%d masters are listed, a quorum has at most %d", len(cfg.Masters), maxMasters)
	}
	c := &Cluster{cfg: cfg, listing: make(chan struct{}, listsAtOnce)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if c.bus = NewBus(); len(cfg.Masters) > 0 {
		c.bus = newBus(&c.cfg)
	}
	_, err := c.DB(0)
	return c, err
}

func (cfg ClusterConfig) withDefaults() ClusterConfig {
	if len(cfg.Masters) == 0 && cfg.Embedded <= 0 {
		cfg.Embedded = 5
	}
	if cfg.Name == "" {
		cfg.Name = "redlock"
	}
	if cfg.OpTimeout <= 0 {
		cfg.OpTimeout = 50 * time.Millisecond
	}
	if cfg.DriftPPM <= 0 {
		cfg.DriftPPM = 500
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Clock == nil {
		cfg.Clock = SystemClock()
	}
	return cfg
}

var errClosed = errors.New("the proxy is shutting down")

// DB returns the quorum of a database, and opens it when it is used for the
// first time.
func (c *Cluster) DB(n int) (*Quorum, error) {
	d, err := c.database(n)
	if err != nil {
		return nil, err
	}
	return d.quorum, nil
}

func (c *Cluster) database(n int) (*database, error) {
	if n < 0 || n >= maxDatabases {
		return nil, errors.New("DB index is out of range")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.databases[n] == nil {
		c.databases[n] = c.open(n)
	}
	return c.databases[n], nil
}

func (c *Cluster) open(n int) *database {
	d := &database{}
	if len(c.cfg.Masters) == 0 {
		for i := range c.cfg.Embedded {
			e := newEmbedded(i, c.cfg.Clock)
			d.masters = append(d.masters, e)
			d.ended.Go(func() { e.run(c.ctx) })
		}
	} else {
		c.connect(d, n)
	}
	cfg := Config{OpTimeout: c.cfg.OpTimeout, DriftPPM: c.cfg.DriftPPM, Clock: c.cfg.Clock, Logger: c.cfg.Logger}
	for _, m := range d.masters {
		cfg.Masters = append(cfg.Masters, m)
	}
	d.quorum = New(cfg)
	c.start(d)
	return d
}

// start lets the upstreams of a database connect, and their steward work.
func (c *Cluster) start(d *database) {
	if d.steward == nil {
		return
	}
	d.steward.reseat, d.steward.voids = d.quorum.reseat, d.quorum.voids
	for _, u := range d.steward.ups {
		u.quorum.Store(d.quorum)
		u.start()
	}
	d.ended.Go(func() { d.steward.run(c.ctx) })
}

// connect prepares the upstreams of a database and their steward.
func (c *Cluster) connect(d *database, n int) {
	shape := electorate{name: c.cfg.Name, size: len(c.cfg.Masters), opTimeout: c.cfg.OpTimeout.Milliseconds(), drift: int64(c.cfg.DriftPPM)}
	s := newSteward(shape, c.cfg.Clock, c.cfg.Logger)
	if n > 0 {
		s.founders = c.databases[0].steward.members
	}
	for _, addr := range c.cfg.Masters {
		u := &upstream{
			addr: addr, db: n, number: len(s.ups), shape: shape,
			clock: c.cfg.Clock, log: c.cfg.Logger, changed: s.changed,
			done: make(chan struct{}),
			link: newLink(c.cfg.DriftPPM), unread: make(map[string]bool), count: make(tallyOfFailures),
		}
		s.ups = append(s.ups, u)
		d.masters = append(d.masters, u)
	}
	d.steward = s
}

// Report describes the masters, as database 0 sees them.
func (c *Cluster) Report() []MasterReport {
	c.mu.Lock()
	d := c.databases[0]
	c.mu.Unlock()
	var reports []MasterReport
	for _, m := range d.masters {
		reports = append(reports, m.report())
	}
	return c.complete(reports)
}

// Admit lets a master vote on an operator's word that nobody relies on locks
// it may have lost; "ALL" admits all. It concerns every database in use, and
// returns lines that say what was done. It waits for masters to answer, at most
// a few seconds.
func (c *Cluster) Admit(ctx context.Context, name string) ([]string, error) {
	if len(c.cfg.Masters) == 0 {
		return nil, errors.New("embedded masters need no admission")
	}
	type result struct{ lines []string }
	done := make(chan result, 1)
	go func() { done <- result{c.admit(name)} }()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.lines == nil {
			return nil, fmt.Errorf("no master %q: the masters are %s", name, strings.Join(c.names(), ", "))
		}
		return r.lines, nil
	}
}

func (c *Cluster) admit(name string) (lines []string) {
	c.mu.Lock()
	databases := c.databases
	c.mu.Unlock()
	for n, d := range databases {
		if d == nil {
			continue
		}
		for _, line := range d.steward.admit(name) {
			lines = append(lines, fmt.Sprintf("db %d: %s", n, line))
		}
	}
	return lines
}

func (c *Cluster) names() (names []string) {
	for _, m := range c.cfg.Masters {
		names = append(names, m.Address)
	}
	return names
}

// Drain waits until masters have answered what was sent to them, undos
// included, or ctx ends. Nothing new should be started meanwhile.
func (c *Cluster) Drain(ctx context.Context) {
	for _, q := range c.Quorums() {
		q.Drain(ctx)
	}
}

// Close ends all connections. Operations that are not decided get no more
// votes. Closing again does nothing.
func (c *Cluster) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	databases := c.databases
	c.mu.Unlock()
	if again {
		return
	}
	c.cancel()
	c.bus.close()
	for _, d := range databases {
		if d != nil {
			d.close()
		}
	}
}

// Bus carries publish/subscribe messages between the proxies on the masters.
func (c *Cluster) Bus() *Bus { return c.bus }

func (d *database) close() {
	if d.steward != nil {
		for _, u := range d.steward.ups {
			u.close()
		}
	}
	d.ended.Wait()
}

// Quorums returns the quorum of every database in use.
func (c *Cluster) Quorums() (all []*Quorum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.databases {
		if d != nil {
			all = append(all, d.quorum)
		}
	}
	return all
}

// Databases returns the numbers of the databases in use.
func (c *Cluster) Databases() (all []int) {
	for n, d := range c.inUse() {
		if d != nil {
			all = append(all, n)
		}
	}
	return all
}
