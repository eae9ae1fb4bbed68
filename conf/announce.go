package conf

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
)

// Announce tells where the proxy listens, what the masters are and what to
// try: a readable block on w where the log is text, one record where it is
// JSON. Warnings go to the log. The port is that of the address listened on.
func (c *Config) Announce(w io.Writer, log *slog.Logger, version, listening string) {
	// The host is the one asked for: the system's word for 0.0.0.0 is [::].
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listening)
	address := net.JoinHostPort(host, port)
	if c.LogFormat == "json" {
		log.Info("listening", "version", version, "address", address, "masters", c.masterNames(),
			"quorum", c.quorum(), "op_timeout", c.OpTimeout.String(), "metrics", c.MetricsAddr)
	} else if log.Enabled(context.Background(), slog.LevelInfo) {
		fmt.Fprint(w, c.block(version, address))
	}
	for _, warning := range c.Warnings {
		log.Warn(warning)
	}
}

func (c *Config) block(version, address string) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "redlock-proxy %s\n", version)
	line("listening", "%s%s", address, c.access(address))
	if len(c.Masters) > 0 {
		line("masters", "%s", strings.Join(c.masterNames(), ", "))
	} else {
		line("masters", "%d embedded, in this process's memory: their locks are gone when it stops", c.EmbeddedMasters)
		line("", "(real ones: --masters host:port,host:port,host:port)")
	}
	line("quorum", "%d of %d, answered within %v", c.quorum(), c.size(), c.OpTimeout)
	if c.MetricsAddr != "" {
		line("status", "http://%s/metrics, /healthz, /readyz", reachable(c.MetricsAddr))
	}
	line("try", "%s set my-lock token NX PX 30000", c.redisCLI(address))
	return b.String()
}

// access says who gets in.
func (c *Config) access(address string) string {
	switch {
	case c.RequirePass != "":
		return ", with a password"
	case c.ProtectedMode && !loopback(address):
		return ", for this machine only until a password is set (protected mode)"
	}
	return ""
}

func (c *Config) masterNames() []string {
	if len(c.Masters) == 0 {
		return []string{"embedded"}
	}
	var names []string
	for _, m := range c.Masters {
		name := m.Address
		if m.TLS != nil {
			name += " (TLS)"
		}
		names = append(names, name)
	}
	return names
}

func (c *Config) size() int {
	if len(c.Masters) > 0 {
		return len(c.Masters)
	}
	return c.EmbeddedMasters
}

func (c *Config) quorum() int { return c.size()/2 + 1 }

// redisCLI is the command that reaches the proxy from this machine.
func (c *Config) redisCLI(address string) string {
	host, port, _ := net.SplitHostPort(reachable(address))
	command := "redis-cli"
	if host != "127.0.0.1" {
		command += " -h " + host
	}
	command += " -p " + port
	if c.User != "default" {
		command += " --user " + c.User
	}
	if c.RequirePass != "" {
		command += " --askpass"
	}
	return command
}
