package proxy

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// infoSection is one section of INFO; Redis shows it under its title. Who may not
// look at the masters does not find them there either.
type infoSection struct {
	title string
	right string // the command that one has to be allowed to run
	write func(s *Server, c *client, b *strings.Builder)
}

// infoSections are all sections, in Redis's order. The last is our own.
func infoSections() []infoSection {
	return []infoSection{
		{"Server", "info", infoServer},
		{"Clients", "info", infoClients},
		{"Memory", "info", infoMemory},
		{"Persistence", "info", infoPersistence},
		{"Stats", "info", infoStats},
		{"Replication", "info", infoReplication},
		{"Cluster", "info", infoCluster},
		{"Keyspace", "info", func(*Server, *client, *strings.Builder) {}},
		{"Redlock", "redlock|status", infoRedlock},
	}
}

// info answers INFO [section ...]. Clients read the version, the role and
// whether data is being loaded from it, and refuse to start without.
func info(s *Server, c *client, args [][]byte, dst []byte) []byte {
	var b strings.Builder
	for _, section := range infoSections() {
		if !asked(args[1:], strings.ToLower(section.title)) || !c.rights().mayRun(section.right) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + section.title + "\r\n")
		section.write(s, c, &b)
	}
	return appendText(dst, c.proto, b.String())
}

// asked reports whether the sections that a client lists include one.
func asked(list [][]byte, section string) bool {
	if len(list) == 0 {
		return true
	}
	for _, name := range list {
		if is(name, section) || is(name, "default") || is(name, "all") || is(name, "everything") {
			return true
		}
	}
	return false
}

// fields writes name:value lines.
func fields(b *strings.Builder, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(b, "%v:%v\r\n", pairs[i], pairs[i+1])
	}
}

func infoServer(s *Server, c *client, b *strings.Builder) {
	up := time.Since(s.started)
	now := time.Now()
	fields(b,
		"redis_version", redisVersion,
		"redis_mode", "standalone",
		"os", runtime.GOOS+" "+runtime.GOARCH,
		"arch_bits", 32<<(^uint(0)>>63),
		"process_id", os.Getpid(),
		"run_id", s.runID,
		"tcp_port", port(c.laddr),
		"server_time_usec", now.UnixMicro(),
		"uptime_in_seconds", seconds(up),
		"uptime_in_days", int64(up/(24*time.Hour)),
		"redlock_proxy_version", s.cfg.Version)
}

func infoClients(s *Server, _ *client, b *strings.Builder) {
	fields(b,
		"connected_clients", s.clients.count(),
		"maxclients", s.cfg.MaxClients,
		"blocked_clients", 0,
		"tracking_clients", 0)
}

func infoMemory(_ *Server, _ *client, b *strings.Builder) {
	used := heapBytes()
	fields(b,
		"used_memory", used,
		"used_memory_human", fmt.Sprintf("%.2fM", float64(used)/(1<<20)),
		"maxmemory", 0,
		"maxmemory_human", "0B",
		"maxmemory_policy", "noeviction")
}

// heapBytes is the memory in use by live and not yet collected objects; reading
// it does not stop the process, as runtime.ReadMemStats would.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

func infoPersistence(_ *Server, _ *client, b *strings.Builder) {
	fields(b,
		"loading", 0,
		"async_loading", 0,
		"rdb_changes_since_last_save", 0,
		"rdb_bgsave_in_progress", 0,
		"rdb_last_bgsave_status", "ok",
		"aof_enabled", 0,
		"aof_rewrite_in_progress", 0)
}

func infoStats(s *Server, _ *client, b *strings.Builder) {
	m := s.cfg.Metrics
	if m == nil {
		return
	}
	channels, patterns := s.hub.counts()
	fields(b,
		"total_connections_received", m.accepted.Load(),
		"total_commands_processed", m.processed(),
		"rejected_connections", m.turnedAway(),
		"evicted_clients", m.door.cut[cutMemory].Load(),
		"total_error_replies", m.notServed.Load(),
		"pubsub_channels", channels,
		"pubsub_patterns", patterns,
		"acl_access_denied_auth", m.authFailures.Load())
}

func infoReplication(s *Server, _ *client, b *strings.Builder) {
	fields(b,
		"role", "master",
		"connected_slaves", 0,
		"master_failover_state", "no-failover",
		"master_replid", s.replID,
		"master_replid2", strings.Repeat("0", 40),
		"master_repl_offset", 0,
		"second_repl_offset", -1,
		"repl_backlog_active", 0)
}

func infoCluster(_ *Server, _ *client, b *strings.Builder) { fields(b, "cluster_enabled", 0) }

// infoRedlock shows the quorum, each master, what came of the operations and
// what was undone.
func infoRedlock(s *Server, _ *client, b *strings.Builder) {
	fields(b, "redlock_version", s.cfg.Version)
	if s.cfg.Locks != nil {
		infoQuorum(s.cfg.Locks, b)
	}
	if m := s.cfg.Metrics; m != nil {
		infoOperations(m, b)
	}
}

func infoQuorum(locks Locks, b *strings.Builder) {
	reports := locks.Report()
	votes := 0
	for _, r := range reports {
		if r.Votes {
			votes++
		}
	}
	if q, err := locks.DB(0); err == nil && q != nil {
		members, need := q.Size()
		fields(b, "masters", members, "quorum", need, "voting", votes)
	}
	if why := notReady(locks); why != "" {
		fields(b, "not_ready", why)
	}
	for i, r := range reports {
		fmt.Fprintf(b, "master%d:name=%s,state=%s,votes=%v,queue=%d,latency_usec=%d,restoring=%v,votes_in_seconds=%s,owed=%d,clock_offset_usec=%d,clock_steps=%d,clock_last_step_usec=%d,server=%s,reason=%s\r\n",
			i, r.Name, r.State, oneIf(r.Votes), r.Queue, r.Latency.Microseconds(), oneIf(r.Restoring), seconds(r.VotesIn+time.Second-1), r.Owed,
			r.Clock.Offset.Microseconds(), r.Clock.Steps, r.Clock.LastStep.Microseconds(), oneLine(r.Server), oneLine(r.Reason))
	}
	stats := readStats(locks)
	fields(b,
		"rounds", stats.rounds,
		"split_retries", stats.splitRetries,
		"read_retries", stats.readRetries,
		"too_late", stats.tooLate,
		"late_copies", stats.lateCopies,
		"herded", stats.herded,
		"undone", stats.undone,
		"undo_cancelled", stats.undoCancelled,
		"left_to_ttl", stats.leftToTTL,
		"owed_dropped", stats.notOwed,
		"repairs", stats.repairs)
	infoRestarts(locks, b)
}

// infoRestarts writes how masters came to vote again, and what became of
// messages.
func infoRestarts(locks Locks, b *strings.Builder) {
	n := locks.Restorations()
	for way := redlock.Persisted; way < redlock.Ways; way++ {
		fields(b, "restored_"+way.String(), n.Admitted[way])
	}
	fields(b, "resync_failures", n.Failed, "resync_keys", n.Keys)
	bus := locks.Bus().Stats()
	fields(b,
		"messages_published", bus.Published,
		"messages_unpublished", bus.Unpublished,
		"messages_received", bus.Received,
		"message_copies", bus.Copies)
}

// infoOperations writes a line per kind of lock command that was used.
func infoOperations(m *Metrics, b *strings.Builder) {
	for kind := range resp.Kinds {
		line, total := "", uint64(0)
		for r := range results {
			n := m.operations[kind][r].Load()
			total += n
			line += fmt.Sprintf(",%v=%d", r, n)
		}
		if total > 0 {
			fields(b, "op_"+kind.String(), line[1:])
		}
	}
	fields(b,
		"default_ttl", m.defaultTTLs.Load(),
		"protocol_errors", m.protocolErrors.Load(),
		"messages_delivered", m.delivered.Load())
}

// port is the port of an address, or 0.
func port(addr string) string {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "0"
	}
	return p
}
