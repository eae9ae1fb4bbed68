package redlock

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// busWire is the rueidis client of one link: one connection that publishes and
// one that subscribes, where the server knows RESP3. When either is lost so is
// the client; rueidis does not dial again.
type busWire struct {
	client rueidis.Client
	addr   *MasterAddr
	ctx    context.Context // ends when it is lost
	cancel context.CancelFunc

	once sync.Once
	gone chan struct{} // closed when it is lost
	why  string        // valid when gone is closed
}

// dialBus connects to a master.
func dialBus(ctx context.Context, addr *MasterAddr) (*busWire, error) {
	w := &busWire{addr: addr, gone: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	context.AfterFunc(w.ctx, func() { w.lose("closed") })
	var err error
	w.client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{addr.Address},
		Username:          addr.Username,
		Password:          addr.Password,
		DialCtxFn:         func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return w.dial() },
		Dialer:            net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second}, // pings when idle
		ConnWriteTimeout:  dialTimeout,
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		ForceSingleClient: true,
		PipelineMultiplex: -1,
		BlockingPipeline:  -1,
		AlwaysPipelining:  true,
		DisableRetry:      true,
		DisableCache:      true,
		RingScaleEachConn: 4,
		BlockingPoolSize:  1,
	})
	if err != nil {
		w.lose("closed")
		return nil, err
	}
	return w, nil
}

// dial is called by rueidis for each connection.
func (w *busWire) dial() (net.Conn, error) {
	if w.ctx.Err() != nil {
		return nil, errNoRedial
	}
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second}
	raw, err := dialer.DialContext(w.ctx, "tcp", w.addr.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(w.ctx, func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(dialTimeout))
	conn, err := secure(w.ctx, raw, w.addr)
	if err != nil {
		stop()
		raw.Close()
		return nil, err
	}
	raw.SetDeadline(time.Time{})
	return &busConn{conn, w, stop}, nil
}

// lose gives the client up, for the first reason given.
func (w *busWire) lose(why string) {
	w.once.Do(func() {
		w.why = why
		w.cancel() // closes the connections
		close(w.gone)
	})
}

// busConn is a connection as rueidis has it: it closes it when it fails.
type busConn struct {
	net.Conn
	w    *busWire
	stop func() bool
}

// Close is called by rueidis.
func (c *busConn) Close() error {
	c.stop()
	c.w.lose("connection lost")
	return c.Conn.Close()
}
