package conf

import "time"

// option is one setting: a flag and its environment variable.
type option struct {
	group string
	name  string // of the flag
	arg   string // what its value is, for the help; empty for a switch
	def   string // the default, as one would write it
	usage string
	set   func(string) error // parse and store

	secret bool // never to be shown

	given  bool
	source string // where the value came from: the flag or the variable
	text   string // the value as given
}

// The groups, in the order of the help.
var groups = [...]string{"Listening", "TLS", "Masters", "Locks", "Limits", "Observability", "Other"}

// Bounds of the settings. An operation that may take longer than a minute
// outlives any client's patience; drift of 10 % is a broken clock.
const (
	maxOpTimeout = time.Minute
	maxDriftPPM  = 100_000
	maxEmbedded  = 31
	forever      = time.Duration(1<<63 - 1)
)

// options lists every setting, storing into p. The README's table is made of
// it too.
func options(p *parser) []*option {
	var all []*option
	for _, group := range [][]*option{
		listening(p), tlsOptions(p), masters(p), locks(p), limits(p), observability(p), other(p),
	} {
		all = append(all, group...)
	}
	return all
}

func listening(p *parser) []*option {
	const g = "Listening"
	return []*option{
		{group: g, name: "listen", arg: "host:port", def: "127.0.0.1:6380", set: addressOrOff(&p.Listen),
			usage: "where lock clients connect without TLS; :6380 means every interface, off nowhere"},
		{group: g, name: "requirepass", secret: true, arg: "password", set: text(&p.RequirePass),
			usage: "clients must AUTH with this password; others can see it in the process list, prefer the file"},
		{group: g, name: "requirepass-file", arg: "path", set: text(&p.passFile),
			usage: "file that holds the password"},
		{group: g, name: "user", arg: "name", def: "default", set: text(&p.User),
			usage: "user name that goes with the password (AUTH name password)"},
		{group: g, name: "aclfile", arg: "path", set: text(&p.ACLFile),
			usage: "file of users, in the form of Redis's ACL files; instead of one user with a password"},
		{group: g, name: "protected-mode", arg: "true|false", def: "true", set: yesNo(&p.ProtectedMode),
			usage: "without a password, refuse clients that are not on this machine"},
	}
}

func masters(p *parser) []*option {
	const g = "Masters"
	return append([]*option{
		{group: g, name: "masters", arg: "list", set: text(&p.masterList),
			usage: "independent Redis or Valkey masters, separated by commas: host:port, redis://[user[:password]@]host[:port] or, with TLS, rediss://…[?server-name=name]; empty: embedded ones"},
		{group: g, name: "masters-username", arg: "name", set: text(&p.mastersUser),
			usage: "user name for masters whose URL has none"},
		{group: g, name: "masters-password", secret: true, arg: "password", set: text(&p.mastersPass),
			usage: "password for masters whose URL has none; others can see it in the process list, prefer the file"},
		{group: g, name: "masters-password-file", arg: "path", set: text(&p.mastersPassFile),
			usage: "file that holds the masters' password"},
		{group: g, name: "embedded-masters", arg: "count", def: "5", set: number(&p.EmbeddedMasters, 1, maxEmbedded),
			usage: "without --masters: how many masters to keep in this process's memory, for trying it out; their locks end with the process"},
		{group: g, name: "quorum-name", arg: "name", def: "redlock", set: quorumName(&p.QuorumName),
			usage: "name of this set of masters in the records on them; the same for all proxies of the set"},
	}, mastersTLSOptions(p, g)...)
}

func locks(p *parser) []*option {
	const g = "Locks"
	return []*option{
		{group: g, name: "op-timeout", arg: "duration", def: "50ms", set: duration(&p.OpTimeout, time.Millisecond, maxOpTimeout),
			usage: "the longest an operation may take before it is answered -NOQUORUM"},
		{group: g, name: "clock-drift", arg: "ppm", def: "500ppm", set: ppm(&p.ClockDriftPPM),
			usage: "how much the clocks of two machines may run apart, in parts per million; added to the TTL on the masters"},
		{group: g, name: "default-ttl", arg: "duration", def: "24h", set: duration(&p.DefaultTTL, time.Millisecond, forever),
			usage: "TTL of locks that are taken without one; at most --max-ttl"},
		{group: g, name: "max-ttl", arg: "duration", def: "0s", set: orZero(duration(&p.MaxTTL, time.Millisecond, forever)),
			usage: "refuse locks with a longer TTL; 0: any TTL that Redis accepts"},
	}
}

func observability(p *parser) []*option {
	const g = "Observability"
	return []*option{
		{group: g, name: "metrics-addr", arg: "host:port", set: address(&p.MetricsAddr),
			usage: "serve a status page, /metrics, /healthz and /readyz over HTTP here; empty: off"},
		{group: g, name: "metrics-password", secret: true, arg: "password", set: text(&p.MetricsPassword),
			usage: "browsers and Prometheus need this password (basic authentication, any user name) for the status page and /metrics; others can see it in the process list, prefer the file"},
		{group: g, name: "metrics-password-file", arg: "path", set: text(&p.metricsPassFile),
			usage: "file that holds that password"},
		{group: g, name: "status-page", arg: "true|false", def: "true", set: yesNo(&p.StatusPage),
			usage: "serve the status page, which names locks and clients; false: only the others"},
		{group: g, name: "log-format", arg: "text|json", def: "text", set: oneOf(&p.LogFormat, "text", "json"),
			usage: "form of the log, which goes to standard error"},
		{group: g, name: "log-level", arg: "level", def: "info", set: logLevel(&p.LogLevel),
			usage: "debug, info, warn or error"},
	}
}

func other(p *parser) []*option {
	const g = "Other"
	return []*option{
		{group: g, name: "address", arg: "host:port", set: address(&p.Address),
			usage: "healthcheck only: the proxy to ask; empty: the one --listen tells of"},
		{group: g, name: "print-config", set: command(&p.Command, PrintConfig), usage: "print the settings in force and where they come from, without secrets"},
		{group: g, name: "version", set: command(&p.Command, Version), usage: "print the version"},
		{group: g, name: "help", set: command(&p.Command, Help), usage: "print this help"},
	}
}

// isSwitch says that the option takes no value and so is no setting: it has no
// environment variable.
func (o *option) isSwitch() bool { return o.arg == "" }
