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
	"redlock-proxy/resp"
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
	case c.Command == conf.PrintConfig:
		err = c.Print(os.Stdout)
	case c.Command == conf.Healthcheck:
		err = proxy.Healthcheck(ctx, c.Address, c.HealthcheckTLS(), c.User, c.RequirePass)
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
	cfg := proxy.Config{
		Listen: c.Listen, TLSListen: c.TLSListen, TLS: c.TLS.Config, Version: version,
		ACLFile: c.ACLFile, RequirePass: c.RequirePass, User: c.User, ProtectedMode: c.ProtectedMode,
		MaxClients: c.MaxClients, MaxInFlight: c.MaxInFlight, IdleTimeout: c.IdleTimeout, DrainTime: c.DrainTime, ShutdownTimeout: c.ShutdownTimeout,
		MaxInFlightSize: c.OutputBuffer, MaxPushed: c.PubSubBuffer, MaxMemory: c.MaxMemory, KeepAlive: c.KeepAlive, WriteTimeout: c.WriteTimeout,
		Limits:    resp.Limits{MaxBulk: c.MaxBulk, MaxCommand: c.QueryBuffer, CommandTimeout: c.CommandTimeout},
		OpTimeout: c.OpTimeout, DefaultTTL: c.DefaultTTL, MaxTTL: c.MaxTTL, StatusPage: c.StatusPage, StatusPassword: c.MetricsPassword, Logger: log, Locks: locks,
	}
	for _, certificates := range c.Certificates() {
		cfg.Reload = append(cfg.Reload, certificates)
	}
	return proxy.Run(ctx, cfg, c.MetricsAddr, func(plain, secure string) { c.Announce(os.Stderr, log, version, plain, secure) })
}
