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
// JSON. Warnings go to the log. The ports are those of the addresses listened
// on, without TLS and with it; either may be empty.
func (c *Config) Announce(w io.Writer, log *slog.Logger, version, plain, secure string) {
	plain, secure = onHostOf(c.Listen, plain), onHostOf(c.TLSListen, secure)
	if c.LogFormat == "json" {
		log.Info("listening", "version", version, "address", plain, "tls_address", secure, "masters", c.masterNames(),
			"quorum", c.quorum(), "op_timeout", c.OpTimeout.String(), "metrics", c.MetricsAddr)
	} else if log.Enabled(context.Background(), slog.LevelInfo) {
		fmt.Fprint(w, c.block(version, plain, secure))
	}
	for _, warning := range c.Warnings {
		log.Warn(warning)
	}
}

// onHostOf is the address listened on, with the host that was asked for: the
// system's word for 0.0.0.0 is [::].
func onHostOf(asked, listening string) string {
	if listening == "" {
		return ""
	}
	host, _, _ := net.SplitHostPort(asked)
	_, port, _ := net.SplitHostPort(listening)
	return net.JoinHostPort(host, port)
}

func (c *Config) block(version, plain, secure string) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "redlock-proxy %s\n", version)
	if plain != "" {
		line("listening", "%s%s", plain, c.access(plain, false))
	}
	if secure != "" {
		line("listening", "%s with TLS%s", secure, c.access(secure, c.ClientCertificates))
	}
	if len(c.Masters) > 0 {
		line("masters", "%s", strings.Join(c.masterNames(), ", "))
	} else {
		line("masters", "%d embedded, in this process's memory: their locks are gone when it stops", c.EmbeddedMasters)
		line("", "(real ones: --masters host:port,host:port,host:port)")
	}
	line("quorum", "%d of %d, answered within %v", c.quorum(), c.size(), c.OpTimeout)
	if c.MetricsAddr != "" {
		page := ""
		if c.StatusPage {
			page = " in a browser,"
		}
		line("status", "http://%s/%s /metrics, /healthz, /readyz", reachable(c.MetricsAddr), page)
	}
	line("try", "%s set my-lock token NX PX 30000", c.redisCLI(plain, secure))
	return b.String()
}

// access says who gets in.
func (c *Config) access(address string, certificate bool) string {
	switch {
	case certificate && (c.RequirePass != "" || c.ACLFile != ""):
		return ", with a certificate and a password"
	case certificate:
		return ", with a certificate"
	case c.ACLFile != "":
		return ", for the users in " + c.ACLFile
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
func (c *Config) redisCLI(plain, secure string) string {
	command, address := "redis-cli", plain
	if plain == "" {
		command, address = "redis-cli --tls", secure
	}
	host, port, _ := net.SplitHostPort(reachable(address))
	if host != "127.0.0.1" {
		command += " -h " + host
	}
	command += " -p " + port
	switch {
	case c.ACLFile != "":
		command += " --user NAME"
	case c.User != "default":
		command += " --user " + c.User
	}
	if c.RequirePass != "" || c.ACLFile != "" {
		command += " --askpass"
	}
	return command
}
