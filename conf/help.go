package conf

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Usage is the text of --help.
func Usage() string {
	var b strings.Builder
	b.WriteString(`redlock-proxy gives Redis lock clients the safety of Redlock: it takes
SET key token NX PX and the usual lock scripts, and asks a majority of
independent masters instead of one.

Usage:
  redlock-proxy [flags]               serve
  redlock-proxy healthcheck [flags]   exit 0 if a running proxy answers, else 1

Without flags it serves 127.0.0.1:6380 with five masters in its own memory.
`)
	all := options(&parser{})
	for _, group := range groups {
		fmt.Fprintf(&b, "\n%s:\n", group)
		flags := flagSet(inGroup(all, group))
		flags.VisitAll(func(f *pflag.Flag) { f.NoOptDefVal = "" }) // or it is printed
		b.WriteString(flags.FlagUsagesWrapped(100))
	}
	b.WriteString(`
Each flag that takes a value is also an environment variable, REDLOCK_ and its
name in capitals with _ for -, like REDLOCK_OP_TIMEOUT=100ms; the flag wins.
Durations are numbers with a unit: 50ms, 2s, 24h.
Sizes are bytes, or have a unit of redis.conf: 64kb, 16mb, 1gb.
`)
	return b.String()
}

func inGroup(all []*option, group string) []*option {
	var found []*option
	for _, o := range all {
		if o.group == group {
			found = append(found, o)
		}
	}
	return found
}
