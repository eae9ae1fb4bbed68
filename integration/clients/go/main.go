// Command suite runs the lock libraries for Go through the scenarios of
// integration/clients/README.md, against the proxy and a plain redis-server.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// lockTTL is a TTL that is not to lapse.
const lockTTL = 10 * time.Second

// library is a row of the table.
type library struct {
	name   string
	module string        // its version is that of this module
	short  time.Duration // a TTL that is to lapse
	lacks  map[string]string
	open   func(addr string) (client, error)
	// prepare, if there is one, is called with each server before the scenarios.
	prepare func(addr string) error
}

// client is a client object of a library, with connections of its own.
type client interface {
	// lock returns a lock object with a token of its own.
	lock(name string, ttl time.Duration) lock
	// key is where the lock of a name is kept.
	key(name string) string
	close()
}

// lock is a lock object of a library. Its methods say in a few words what the
// caller sees: one of the words below, or how the library refuses.
type lock interface {
	try() string  // once
	wait() string // until it is acquired
	release() string
	extend(ttl time.Duration) string
	query() string
}

// What a caller sees when all is well.
const (
	acquired = "acquired"
	released = "released"
	extended = "extended"
)

func main() {
	only := flag.String("only", "", "run only libraries whose name contains this")
	scene := flag.String("scenario", "", "play only this one")
	verbose := flag.Bool("v", false, "say on stderr what callers see")
	flag.Parse()
	servers := serversFromEnvironment()
	if *scene != "" {
		scenarios = slices.DeleteFunc(scenarios, func(s scenario) bool { return s.name != *scene })
	}
	for _, lib := range libraries() {
		if strings.Contains(lib.name, *only) {
			lib.run(servers, *verbose)
		}
	}
}

func libraries() (all []library) {
	all = append(all, redsyncLibraries()...)
	all = append(all, redislockLibraries()...)
	return append(all, rueidislockLibrary(), goZeroLibrary())
}

// line is one line of the output.
type line struct {
	Language string `json:"language"`
	Library  string `json:"library"`
	Version  string `json:"version"`
	Scenario string `json:"scenario"`
	Result   string `json:"result"`
	Detail   string `json:"detail"`
}

func (lib *library) print(scenario, result, detail string) {
	text, err := json.Marshal(line{"go", lib.name, version(lib.module), scenario, result, detail})
	if err != nil {
		panic(err) // strings only
	}
	fmt.Fprintf(os.Stdout, "%s\n", text)
}

// version is that of a module in this program.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil {
			dep = dep.Replace
		}
		return strings.TrimPrefix(dep.Version, "v")
	}
	return "unknown"
}
