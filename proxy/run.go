package proxy

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Run serves clients at c.Listen and c.TLSListen, and metrics and health at
// statusAddr unless that is empty, until ctx ends; ready is called with the
// addresses listened on, without TLS and with it, before the first client is
// served. What is Reloadable is read again when the process gets SIGHUP, or when
// it has changed. After ctx the server goes on for c.DrainTime while /readyz says
// that it is going away. Then no new clients are taken, what is in flight may
// finish for c.ShutdownTimeout, and nil is returned if everything did.
func Run(ctx context.Context, c Config, statusAddr string, ready func(plain, secure string)) error {
	relaxed := relaxGC(c.MaxMemory)
	fitClients(&c)
	plain, secure, err := c.listen(ctx)
	if err != nil {
		return err
	}
	for _, ln := range []net.Listener{plain, secure} {
		if ln != nil {
			defer ln.Close()
		}
	}
	c.Metrics = NewMetrics(c.Version, c.Locks)
	c.Metrics.watch(c.Reload)
	server, err := NewServer(c)
	if err != nil {
		return err
	}
	c.Reload = append(c.Reload, server)
	failed := make(chan error, 3)
	pages := NewStatusServer(server)
	if statusAddr != "" {
		status, err := net.Listen("tcp", statusAddr)
		if err != nil {
			return fmt.Errorf("--metrics-addr: %w", explainListen(err))
		}
		go func() { failed <- pages.Serve(status) }()
	}
	ready(c.Listen, c.TLSListen)
	manager := notifySystemd(c)
	defer manager.stop()
	if plain != nil {
		go func() { failed <- server.Serve(plain) }()
	}
	if secure != nil {
		go func() { failed <- server.ServeTLS(secure, c.TLS) }()
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	go keepFresh(ctx, c.Reload, hangup, c.Logger)
	go (&waiting{locks: c.Locks, logger: c.Logger}).follow(ctx)
	if relaxed {
		go newThrift(server).follow(ctx)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		manager.stopping(c.DrainTime)
		err = drain(c, server, pages, failed)
	}
	if stop := shutdown(c, server, pages); err == nil {
		err = stop
	}
	return err
}

// listen opens the addresses for clients, and notes what they have become.
func (c *Config) listen(ctx context.Context) (plain, secure net.Listener, err error) {
	if c.Listen != "" {
		if plain, err = listen(ctx, c.Listen, c.KeepAlive); err != nil {
			return nil, nil, fmt.Errorf("--listen: %w", explainListen(err))
		}
		c.Listen = plain.Addr().String()
	}
	if c.TLSListen != "" {
		if secure, err = listen(ctx, c.TLSListen, c.KeepAlive); err != nil {
			return nil, nil, fmt.Errorf("--tls-port: %w", explainListen(err))
		}
		c.TLSListen = secure.Addr().String()
	}
	return plain, secure, nil
}

// shutdown ends the server first: meanwhile /readyz still says that it is going
// away.
func shutdown(c Config, server *Server, pages *StatusServer) error {
	c.Logger.Info("shutting down", "timeout", c.ShutdownTimeout, "connections", server.connections())
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

// ownMemory is about what the proxy needs beside the buffers of its clients.
const ownMemory = 256 << 20

// relaxGC sets gcPercent, unless the operator has set GOGC, for as long as there
// is not much garbage: with buffers full to their limit, four times as much
// again would be too much. It reports whether it has: how much garbage there may
// be is ours to say then, also without load, see [thrift].
func relaxGC(maxMemory int) (relaxed bool) {
	if os.Getenv("GOMEMLIMIT") == "" && maxMemory > 0 {
		debug.SetMemoryLimit(ownMemory + 2*int64(maxMemory))
	}
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(gcPercent)
	return true
}
