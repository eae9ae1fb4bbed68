package conf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// prefix starts the name of every environment variable of ours.
const prefix = "REDLOCK_"

// variable is the environment variable of a flag.
func variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// serviceLink matches what Kubernetes and Docker put into the environment of
// every container beside a service called redlock, redlock-proxy, redlock-…
// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables):
// REDLOCK_PROXY_SERVICE_HOST, REDLOCK_PORT_6379_TCP_ADDR and so on. They are
// not meant for us.
var serviceLink = regexp.MustCompile(`^REDLOCK_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// readEnvironment takes the variables of the options that no flag gave, and
// reports those that look like ours and are not.
func (p *parser) readEnvironment(environ []string) {
	byName := make(map[string]*option)
	for _, o := range p.options {
		byName[variable(o.name)] = o
	}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || serviceLink.MatchString(name) {
			continue
		}
		switch o := byName[name]; {
		case o == nil:
			flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-"))
			near := p.nearest(flag)
			p.faults = append(p.faults, fmt.Sprintf("%s: no such setting; the nearest is %s (--%s)", name, variable(near), near))
		case o.isSwitch(), o.given:
			// REDLOCK_VERSION is often set beside us to name a release.
		case text == "":
			p.emptyVariable(o)
		default:
			o.give(name, text)
		}
	}
}

// emptyVariable leaves the default in force, which is what an unset variable
// in a compose file comes to. For a password that would be a silent hole.
func (p *parser) emptyVariable(o *option) {
	if o.name == "requirepass" || o.name == "masters-password" {
		p.warn("%s is set but empty: no password is used", variable(o.name))
	}
}

// nearest is the option whose name, or the start of it, takes the fewest
// changes of a letter to get to.
func (p *parser) nearest(name string) string {
	best, fewest, fewestWhole := "", 1<<30, 0
	for _, o := range p.options {
		if o.isSwitch() {
			continue
		}
		start, whole := distance(name, o.name)
		if start < fewest || start == fewest && whole < fewestWhole {
			best, fewest, fewestWhole = o.name, start, whole
		}
	}
	return best
}

// distance is the Levenshtein distance of a from the nearest start of b and
// from the whole of it. Both are short.
func distance(a, b string) (start, whole int) {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return slices.Min(row), row[len(b)]
}
