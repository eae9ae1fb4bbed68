package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// Locks is where lock operations go; *redlock.Cluster implements it.
type Locks interface {
	// DB returns the quorum of a database, an error if there is no such one.
	DB(n int) (*redlock.Quorum, error)
	// Quorums returns the quorum of every database in use.
	Quorums() []*redlock.Quorum
	// Databases returns the numbers of the databases in use.
	Databases() []int
	// Report tells how the masters are.
	Report() []redlock.MasterReport
	// Admit lets a master ("host:port") or "ALL" vote, by order of an
	// operator, and says in lines what was done.
	Admit(ctx context.Context, name string) ([]string, error)
	// Change changes the set of masters, by order of an operator, and says in
	// lines what was done, also if it ends with an error.
	Change(ctx context.Context, change redlock.SetChange) ([]string, error)
	// Restorations tells how masters that may have lost locks came to vote again.
	Restorations() redlock.Restorations
	// Bus carries publish/subscribe messages between proxies.
	Bus() *redlock.Bus
	// Keys lists the keys that a quorum holds in a database. Its errors are
	// [redlock.ErrTooManyKeys] or say that there is no quorum.
	Keys(ctx context.Context, db int, f redlock.KeyFilter) ([]string, error)
	// Survey reads what the masters hold in a database, with a mark in the place
	// of each value.
	Survey(ctx context.Context, db int, f redlock.KeyFilter, limit int, mark func(value []byte) uint64) (redlock.Survey, error)
	// Drain waits until the masters have answered what was sent to them, undos
	// included, or ctx ends.
	Drain(ctx context.Context)
}

// Config is what [NewServer] needs. Locks is required, the rest has defaults.
type Config struct {
	Listen  string // where clients connect; empty: only with TLS
	Version string // of this program

	TLSListen string             // where clients connect with TLS; empty: nowhere
	TLS       func() *tls.Config // for the next such connection
	Reload    []Reloadable       // what [Run] reads again

	// ACLFile is the file of users; empty: there is one, with RequirePass.
	ACLFile       string
	RequirePass   string // empty: no password
	User          string // the name that goes with it; empty: "default"
	ProtectedMode bool   // without a password serve the loopback interface only

	MaxClients      int           // 0: 10,000
	MaxInFlight     int           // unanswered commands of a connection; 0: 1024
	MaxInFlightSize int           // their bytes, waiting replies included; 0: 1 MiB
	MaxPushed       int           // bytes of messages that wait for a subscriber; 0: 8 MiB
	MaxMemory       int           // bytes of the buffers of all connections; 0: any amount
	KeepAlive       time.Duration // between probes of silent connections; 0: none
	IdleTimeout     time.Duration // 0: never
	WriteTimeout    time.Duration // for a client to take something of its replies; 0: 10 s
	DrainTime       time.Duration // of going on while /readyz says no; 0: none
	ShutdownTimeout time.Duration // 0: what the context of Shutdown allows
	Limits          resp.Limits   // of what clients may send

	OpTimeout  time.Duration // for operations that take several rounds; 0: 50 ms
	DefaultTTL time.Duration // of locks that are given none; 0: 24 h
	MaxTTL     time.Duration // 0: none

	StatusPage     bool   // serve the page at / of the status server
	StatusPassword string // for the page and the metrics; empty: none

	Logger  *slog.Logger // nil: slog.Default
	Locks   Locks
	Metrics *Metrics // nil: none
}

var errNoLocks = errors.New("proxy: Config.Locks is required")

func (c Config) withDefaults() Config {
	setDefault(&c.MaxClients, 10_000)
	setDefault(&c.MaxInFlight, 1024)
	setDefault(&c.MaxInFlightSize, 1<<20)
	setDefault(&c.MaxPushed, 8<<20)
	setDefault(&c.WriteTimeout, 10*time.Second)
	setDefault(&c.OpTimeout, 50*time.Millisecond)
	setDefault(&c.DefaultTTL, 24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// setDefault sets what is zero, or less.
func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}
