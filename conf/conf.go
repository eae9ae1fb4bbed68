// Package conf reads the command line and the environment into one [Config].
//
// A setting is looked for as a flag, then as an environment variable
// (REDLOCK_ and the flag's name in capitals, "_" for "-"), then its default is
// taken. An empty variable counts as not set. All faults are reported at once,
// a line each; they name the flag or variable they came from and never repeat
// a password.
//
// The package opens no sockets and knows nothing of Redis.
package conf

import (
	"log/slog"
	"strings"
	"time"
)

// Command is what the process is asked to do.
type Command uint8

// The commands.
const (
	Serve       Command = iota // run the proxy
	Healthcheck                // ask a running proxy whether it answers
	Help                       // print [Usage]
	Version                    // print the version
	PrintConfig                // print the settings in force, see [Config.Print]
)

// Config is everything an operator can decide.
type Config struct {
	Command Command

	Listen        string // host:port clients connect to; empty: only with TLS
	ACLFile       string // of users; empty: one, with RequirePass
	RequirePass   string // empty: no password
	User          string // the name that goes with RequirePass
	ProtectedMode bool

	TLSListen          string        // host:port clients connect to with TLS; empty: none
	TLS                *Certificates // of the listener; nil without one
	ClientCertificates bool          // whoever connects with TLS has to show one
	MastersTLS         *Certificates // of connections to rediss:// masters; nil without any

	Masters         []Master // empty: EmbeddedMasters in memory
	EmbeddedMasters int
	QuorumName      string

	OpTimeout     time.Duration
	ClockDriftPPM int // parts per million
	DefaultTTL    time.Duration
	MaxTTL        time.Duration // 0: none

	Limits

	MetricsAddr     string // empty: off
	MetricsPassword string // empty: none
	StatusPage      bool
	LogFormat       string // "text" or "json"
	LogLevel        slog.Level

	// Address is what the healthcheck connects to.
	Address string

	// Settings are all settings, for PrintConfig only.
	Settings []Setting

	// Warnings are for the log: legal, but probably not what was meant.
	Warnings []string
}

// Faults is the error of [Parse]: a line per fault.
type Faults []string

func (f Faults) Error() string { return strings.Join(f, "\n") }

// Parse reads the arguments (without the program's name) and the environment
// ("NAME=value"). readFile reads a file an option names. The error is [Faults].
//
// Help and Version win over faults, so that they can be had at any time.
func Parse(args, environ []string, readFile func(string) ([]byte, error)) (Config, error) {
	p := parser{readFile: readFile}
	p.options = options(&p)
	p.defaults()
	p.readArgs(args)
	if p.Command == Help || p.Command == Version {
		return p.Config, nil
	}
	p.readEnvironment(environ)
	p.apply()
	p.finish()
	if len(p.faults) > 0 {
		return Config{}, p.faults
	}
	if p.Command == PrintConfig {
		p.Settings = p.settings()
	}
	return p.Config, nil
}
