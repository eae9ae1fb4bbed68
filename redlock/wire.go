package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// How long things may take before a connection is given up.
const (
	dialTimeout   = 2 * time.Second // connecting and verifying, each
	answerTimeout = 1200 * time.Millisecond
	idleProbe     = 400 * time.Millisecond // without a batch, one is sent to see whether the master lives
	watchPeriod   = 100 * time.Millisecond
)

// errNoRedial is what rueidis gets when it wants to dial by itself. Nothing was
// sent then.
var errNoRedial = errors.New("connection lost")

// wire is one verified connection of one generation, and the rueidis client
// that has it. rueidis never dials: when the connection is gone so is the
// client, and the next connection is verified and gets a new one.
type wire struct {
	generation uint64
	client     rueidis.Client
	facts      *facts
	// suffix is the end of every batch, prepared once; see readSuffix.
	suffix []rueidis.Completed
	// checked is when the last batch was sent that ended with all of it; of the
	// worker alone.
	checked time.Duration
	// apart is set when calls must not be combined any more: this proxy's user may
	// not touch every key; of the worker alone.
	apart bool
	// reload is set when the server forgot our script.
	reload atomic.Bool
	// horizon is how far the horizon on the master is known to reach.
	horizon       horizon
	horizonReadAt atomic.Int64 // Clock time it was last asked for, of a master that had lost nothing

	conn net.Conn
	once sync.Once
	gone chan struct{} // closed when the connection is
	why  string        // valid when gone is closed
}

// dial connects to a master and verifies it.
func dial(ctx context.Context, addr *MasterAddr, db int, key string, old previous, now func() time.Duration) (*wire, error) {
	conn, err := connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	w, err := open(conn, addr, db, key, old, now)
	if err != nil {
		conn.Close()
	}
	return w, err
}

// connect opens a connection to a master, with TLS if it has that. Its deadline
// is set, for verification.
func connect(ctx context.Context, addr *MasterAddr) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second}
	raw, err := dialer.DialContext(ctx, "tcp", addr.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	raw.SetDeadline(time.Now().Add(dialTimeout))
	conn, err := secure(ctx, raw, addr)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// secure puts TLS on the connection if the master's address asks for it.
func secure(ctx context.Context, conn net.Conn, addr *MasterAddr) (net.Conn, error) {
	if addr.TLS == nil {
		return conn, nil
	}
	config := addr.TLS()
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr.Address)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secured, nil
}

// open verifies the connection and gives it to a rueidis client.
func open(conn net.Conn, addr *MasterAddr, db int, key string, old previous, now func() time.Duration) (*wire, error) {
	facts, err := verify(conn, addr, db, key, old, now)
	if err != nil {
		return nil, err
	}
	w := &wire{facts: facts, conn: conn, gone: make(chan struct{})}
	var taken atomic.Bool
	w.client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr.Address},
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			if taken.Swap(true) {
				return nil, errNoRedial
			}
			return lostSignal{conn, w}, nil
		},
		Dialer:            net.Dialer{KeepAlive: -1}, // no pings: every batch is one
		ConnWriteTimeout:  dialTimeout,
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		ForceSingleClient: true,
		PipelineMultiplex: -1,
		BlockingPipeline:  -1,
		AlwaysPipelining:  true,
		AlwaysRESP2:       true,
		DisableRetry:      true,
		DisableCache:      true,
		// A handful of batches are in flight at most.
		RingScaleEachConn:   4,
		BlockingPoolSize:    1,
		ReadBufferEachConn:  64 << 10,
		WriteBufferEachConn: 64 << 10,
	})
	if err != nil {
		return nil, err
	}
	w.suffix = []rueidis.Completed{
		w.client.B().Arbitrary("TIME").Build().Pin(),
		w.client.B().Arbitrary("GET", key).Build().Pin(),
		w.client.B().Arbitrary("INFO", "replication").Build().Pin(),
	}
	return w, nil
}

// lose closes the connection, for the first reason given.
func (w *wire) lose(why string) {
	w.once.Do(func() {
		w.why = why
		w.conn.Close()
		close(w.gone)
	})
}

// release frees what is left of a lost wire.
func (w *wire) release() {
	w.lose("closed")
	w.client.Close()
}

// lostSignal is the connection as rueidis has it: it closes it when it fails.
type lostSignal struct {
	net.Conn
	w *wire
}

// Close is called by rueidis.
func (l lostSignal) Close() error {
	l.w.lose("connection lost")
	return nil
}

// ending is the end of a batch, whole or without its last command.
func (w *wire) ending(whole bool) []rueidis.Completed {
	if whole {
		return w.suffix
	}
	return w.suffix[:len(w.suffix)-1]
}
