package proxy

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"redlock-proxy/resp"
)

// configCommand is CONFIG.
func configCommand() *command {
	const flags = "settings are flags and environment variables, see redlock-proxy --help"
	return withSubs("config",
		&command{name: "get", arity: -3, run: configGet},
		&command{name: "set", arity: -4, run: text(notServed("CONFIG SET", flags))},
		&command{name: "rewrite", arity: 2, run: text(notServed("CONFIG REWRITE", flags))},
		&command{name: "resetstat", arity: 2, run: ok}, // without effect: counters only grow
		&command{name: "help", arity: 2, run: help("CONFIG GET pattern [pattern ...]", "Changes: "+flags+".")},
	)
}

// setting is one answer of CONFIG GET.
type setting struct{ name, value string }

// settings are what clients and redis-benchmark ask for, in Redis's names. The
// password is not among them. A replica-read-only of "yes" is the default of
// Redis; StackExchange.Redis asks for it.
func (s *Server) settings(c *client) []setting {
	limits := s.cfg.Limits.OrDefault()
	return []setting{
		{"appendfsync", "no"},
		{"appendonly", "no"},
		{"client-output-buffer-limit", fmt.Sprintf("normal %d 0 0 slave 0 0 0 pubsub %d 0 0", s.cfg.MaxInFlightSize, s.cfg.MaxPushed)},
		{"client-query-buffer-limit", strconv.Itoa(limits.MaxCommand)},
		{"cluster-enabled", "no"},
		{"databases", strconv.Itoa(databases)},
		{"maxclients", strconv.Itoa(s.cfg.MaxClients)},
		{"maxmemory", "0"},
		{"maxmemory-clients", strconv.Itoa(s.cfg.MaxMemory)},
		{"maxmemory-policy", "noeviction"},
		{"min-replicas-to-write", "0"},
		{"notify-keyspace-events", ""},
		{"port", port(c.laddr)},
		{"protected-mode", yesNo(s.cfg.ProtectedMode)},
		{"proto-max-bulk-len", strconv.Itoa(limits.MaxBulk)},
		{"replica-read-only", "yes"},
		{"save", ""},
		{"slave-read-only", "yes"},
		{"tcp-keepalive", roundedUp(s.cfg.KeepAlive)},
		{"timeout", roundedUp(s.cfg.IdleTimeout)},
	}
}

// configGet answers CONFIG GET pattern [pattern ...]: a map, or a flat array in
// RESP2. A name without wildcards comes back as it was written.
func configGet(s *Server, c *client, args [][]byte, dst []byte) []byte {
	var found []setting
	seen := map[string]bool{}
	all := s.settings(c)
	for _, arg := range args[2:] {
		for _, got := range match(all, string(arg)) {
			if !seen[got.name] {
				seen[got.name] = true
				found = append(found, got)
			}
		}
	}
	dst = resp.AppendMap(dst, c.proto, len(found))
	for _, got := range found {
		dst = appendPair(dst, got.name, got.value)
	}
	return dst
}

// match returns the settings that a glob-like pattern, or a name, stands for.
func match(all []setting, pattern string) []setting {
	wild := strings.ContainsAny(pattern, "*?[")
	folded := strings.ToLower(pattern)
	var found []setting
	for _, one := range all {
		switch hit, _ := path.Match(folded, one.name); {
		case wild && hit:
			found = append(found, one)
		case !wild && folded == one.name:
			return []setting{{pattern, one.value}}
		}
	}
	return found
}

// roundedUp rounds up, for 0 means never.
func roundedUp(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
