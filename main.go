// Command redlock-proxy serves the Redis protocol to lock clients and asks a
// majority of independent masters. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"redlock-proxy/conf"
	"redlock-proxy/proxy"
	"redlock-proxy/redlock"
)

var version string // set by the linker

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(conf.Complain(os.Stderr, run(ctx)))
}

func run(ctx context.Context) error {
	c, err := conf.Parse(os.Args[1:], os.Environ(), os.ReadFile)
	switch {
	case err != nil:
		return err
	case c.Command == conf.Help:
		_, err = fmt.Print(conf.Usage())
	case c.Command == conf.Version:
		_, err = fmt.Println("redlock-proxy", conf.BuildVersion(version))
	case c.Command == conf.Healthcheck:
		err = proxy.Healthcheck(ctx, c.Address, c.User, c.RequirePass)
	default:
		err = serve(ctx, c, conf.BuildVersion(version))
	}
	return err
}

func serve(ctx context.Context, c conf.Config, version string) error {
	log := c.Logger(os.Stderr)
	masters := redlock.ClusterConfig{Embedded: c.EmbeddedMasters, Name: c.QuorumName, OpTimeout: c.OpTimeout, DriftPPM: c.ClockDriftPPM, Logger: log}
	for _, m := range c.Masters {
		masters.Masters = append(masters.Masters, redlock.MasterAddr(m))
	}
	locks, err := redlock.Open(masters)
	if err != nil {
		return err
	}
	defer locks.Close()
	return proxy.Run(ctx, proxy.Config{
		Listen: c.Listen, Version: version, RequirePass: c.RequirePass, User: c.User, ProtectedMode: c.ProtectedMode,
		MaxClients: c.MaxClients, MaxInFlight: c.MaxInFlight, IdleTimeout: c.IdleTimeout, ShutdownTimeout: c.ShutdownTimeout,
		OpTimeout: c.OpTimeout, DefaultTTL: c.DefaultTTL, MaxTTL: c.MaxTTL, Logger: log, Locks: locks,
	}, c.MetricsAddr, func(address string) { c.Announce(os.Stderr, log, version, address) })
}
