package proxy

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"
)

// Run serves clients at c.Listen, and metrics and health at statusAddr unless
// that is empty, until ctx ends; ready is called with the address listened on
// before the first client is served. After ctx no new clients are taken, what
// is in flight may finish for c.ShutdownTimeout, and nil is returned if
// everything did.
func Run(ctx context.Context, c Config, statusAddr string, ready func(address string)) error {
	relaxGC()
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer ln.Close()
	c.Listen = ln.Addr().String()
	c.Metrics = NewMetrics(c.Version, c.Locks)
	server, err := NewServer(c)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	pages := NewStatusServer(c.Locks, c.Metrics, c.Logger)
	if statusAddr != "" {
		status, err := net.Listen("tcp", statusAddr)
		if err != nil {
			return fmt.Errorf("--metrics-addr: %w", err)
		}
		go func() { failed <- pages.Serve(status) }()
	}
	ready(c.Listen)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		c.Logger.Info("shutting down", "timeout", c.ShutdownTimeout)
	}
	if stop := shutdown(c, server, pages); err == nil {
		err = stop
	}
	return err
}

// shutdown ends the server first: meanwhile /readyz tells load balancers to
// send clients elsewhere.
func shutdown(c Config, server *Server, pages *StatusServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	pages.Drain()
	defer pages.Shutdown(ctx)
	defer c.Locks.Drain(ctx) // what was not granted is undone
	return server.Shutdown(ctx)
}

// gcPercent makes the collector run less often than Go's default of 100 does:
// the live heap of a proxy is a few megabytes, most of what it allocates is
// garbage a moment later, and collecting took a tenth of its CPU time.
const gcPercent = 400

// relaxGC sets gcPercent, unless the operator has set GOGC.
func relaxGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
