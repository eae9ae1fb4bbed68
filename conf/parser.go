package conf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// parser collects the settings, and the texts that need more than themselves
// to be understood.
type parser struct {
	Config
	options  []*option
	faults   Faults
	readFile func(string) ([]byte, error)

	metricsPassFile, passFile string
	masterList                string
	mastersUser, mastersPass  string
	mastersPassFile           string
	mastersTLSFiles           CertificateFiles

	tlsPort        string // port or host:port; "0": off
	tlsFiles       CertificateFiles
	tlsAuthClients string
	tlsProtocols   []uint16
}

// fault reports err, a line for each error joined in it.
func (p *parser) fault(source string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.fault(source, e)
		}
		return
	}
	line := strings.Join(strings.Fields(err.Error()), " ") // one line, whatever a file's error says
	p.faults = append(p.faults, source+": "+line)
}

func (p *parser) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// defaults sets every option that has one. The table is ours, so a default
// that is no good is found by the first test that runs.
func (p *parser) defaults() {
	for _, o := range p.options {
		if o.def == "" {
			continue
		}
		if err := o.set(o.def); err != nil {
			p.fault("default of --"+o.name, err)
		}
	}
}

// value keeps what the command line gave for an option; it is looked at later,
// because pflag stops at the first value that is refused.
type value struct{ o *option }

func (v value) String() string { return v.o.def }
func (v value) Type() string   { return v.o.arg }
func (v value) Set(s string) error {
	v.o.give("--"+v.o.name, s)
	return nil
}

func (o *option) give(source, s string) { o.given, o.source, o.text = true, source, s }

// flagSet makes the flags of the options.
func flagSet(options []*option) *pflag.FlagSet {
	set := pflag.NewFlagSet("redlock-proxy", pflag.ContinueOnError)
	set.SortFlags = false
	set.Usage = func() {}
	set.ParseErrorsAllowlist.UnknownFlagsHandling = pflag.PassUnknownFlagToArgs
	for _, o := range options {
		f := set.VarPF(value{o}, o.name, "", o.usage)
		if o.isSwitch() {
			f.NoOptDefVal = "true"
		}
	}
	return set
}

func (p *parser) readArgs(args []string) {
	set := flagSet(p.options)
	switch err := set.Parse(args); {
	case errors.Is(err, pflag.ErrHelp): // -h
		p.Command = Help
		return
	case err != nil:
		p.faults = append(p.faults, pflagFault(err))
	}
	for _, o := range p.options {
		if o.isSwitch() && o.given {
			_ = o.set("") // cannot fail
		}
	}
	if p.Command == Help || p.Command == Version {
		return
	}
	rest := set.Args()
	if len(rest) > 0 && rest[0] == "healthcheck" {
		if rest = rest[1:]; p.Command == Serve {
			p.Command = Healthcheck
		}
	}
	p.leftOver(rest)
}

// pflagFault words the two errors that are left: a flag without its value and
// a flag that is none ("--=x").
func pflagFault(err error) string {
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return fmt.Sprintf("--%s: needs a value (%s)", missing.GetSpecifiedName(), missing.GetFlag().Value.Type())
	}
	return err.Error()
}

// leftOver reports what is neither a flag of ours nor the value of one.
func (p *parser) leftOver(rest []string) {
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			p.faults = append(p.faults, fmt.Sprintf("unexpected argument %q: settings are flags, see --help", arg))
			continue
		}
		name, _, hasValue := strings.Cut(arg, "=")
		p.faults = append(p.faults, fmt.Sprintf("%s: no such flag; the nearest is --%s", name, p.nearest(strings.TrimLeft(name, "-"))))
		if !hasValue && i+1 < len(rest) && !strings.HasPrefix(rest[i+1], "-") {
			i++ // most likely its value, which may be a secret
		}
	}
}

// apply parses the values that were given.
func (p *parser) apply() {
	for _, o := range p.options {
		if !o.given || o.isSwitch() {
			continue
		}
		if o.text == "" && o.def != "" {
			p.fault(o.source, errors.New("is empty; leave it out for the default, "+o.def))
			continue
		}
		if o.text == "" {
			continue // the same as not given: the default is empty too
		}
		if err := o.set(o.text); err != nil {
			p.fault(o.source, err)
		}
	}
}

// option finds an option by name.
func (p *parser) option(name string) *option {
	for _, o := range p.options {
		if o.name == name {
			return o
		}
	}
	return nil
}

// source says where the value of an option came from.
func (p *parser) source(name string) string {
	if o := p.option(name); o != nil && o.given {
		return o.source
	}
	return "--" + name
}
