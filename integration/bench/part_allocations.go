package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// runAllocations counts what the proxy allocates, by whose code does: with a
// build of the proxy that notes every allocation, which makes it too slow to be
// timed.
func (b *bench) runAllocations() (s section, err error) {
	const callers = 64
	profiled := *b
	addrs, err := freeAddrs(1)
	if err == nil {
		profiled.binary, err = buildProfiled(b.dir, addrs[0], 1)
	}
	if err != nil {
		return s, err
	}
	profiled.flags = append(profiled.flags[:len(profiled.flags):len(profiled.flags)], "--op-timeout", "1s")
	t := table{head: []string{"", "masters", "our own code", "rueidis", "redcon", "other"}}
	s.Numbers = make(map[string]float64)
	for _, n := range b.masters {
		f, err := profiled.startField(n)
		if err != nil {
			return s, err
		}
		defer f.close()
		for _, c := range viaProxy {
			say("allocations, %d masters: %s", n, c.name)
			per, err := f.allocations(c, callers, b, addrs[0])
			if err != nil {
				return s, err
			}
			t.rows = append(t.rows, []string{c.name, strconv.Itoa(n), fmt.Sprintf("%.2f", per[ours]), fmt.Sprintf("%.2f", per[theirsRueidis]), fmt.Sprintf("%.2f", per[theirsRedcon]), fmt.Sprintf("%.2f", per[other])})
			for who, count := range per {
				s.Numbers[fmt.Sprintf("%s, %d masters, %s", c.name, n, who)] = count
			}
			s.goals = append(s.goals, atMost(fmt.Sprintf("N=%d: heap allocations per operation in our own code, %s, %d callers", n, c.name, callers), 1, per[ours]))
		}
		say("")
		f.close()
	}
	s.tables = []table{t}
	s.notes = []string{fmt.Sprintf("Per operation, %d callers, from a heap profile that misses none. What the standard library allocates counts for who calls it.", callers)}
	return s, nil
}

// Whose code allocates.
const (
	ours          = "our own code"
	theirsRueidis = "rueidis"
	theirsRedcon  = "redcon"
	other         = "other"
)

// profiledSource is added to the proxy's package main.
const profiledSource = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"runtime"
)

func init() {
	runtime.MemProfileRate = %d
	go http.ListenAndServe(%q, nil)
}
`

// buildProfiled builds a proxy that serves its profiles at addr, and notes one
// allocation in so many bytes; 0: none.
func buildProfiled(dir, addr string, memProfileRate int) (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	source, list, binary := filepath.Join(dir, "profiled.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "redlock-proxy-profiled")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "profiled.go"): source}})
	if err == nil {
		err = os.WriteFile(list, overlay, 0o600)
	}
	if err == nil {
		err = os.WriteFile(source, fmt.Appendf(nil, profiledSource, memProfileRate, addr), 0o600)
	}
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-overlay", list, "-o", binary, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// allocations counts those per operation, by whose code makes them.
func (f *field) allocations(c contestant, callers int, b *bench, profiles string) (map[string]float64, error) {
	var before map[string]float64
	var failed error
	s, err := f.sample(c, distinctKeys, callers, b.seconds, func() { before, failed = allocated(profiles) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	after, err := allocated(profiles)
	if err != nil {
		return nil, err
	}
	if s.Failed > 0 {
		return nil, fmt.Errorf("%d cycles failed, the first with %s", s.Failed, s.Failure)
	}
	operations := 2 * float64(s.Count) // a cycle is two
	per := make(map[string]float64)
	for who, count := range after {
		per[who] = (count - before[who]) / operations
	}
	return per, nil
}

// allocated is how many allocations the proxy has made so far. The profile is
// that of the last but one garbage collection.
func allocated(addr string) (map[string]float64, error) {
	var page []byte
	client := http.Client{Timeout: time.Minute} // the profile is long, and the machine may be busy
	for range 2 {
		resp, err := client.Get("http://" + addr + "/debug/pprof/heap?debug=1&gc=1")
		if err != nil {
			return nil, err
		}
		page, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	return parseProfile(string(page))
}

// parseProfile adds up the records of a heap profile in its text form, without
// what serving profiles and metrics takes:
//
//	3: 96 [1200: 38400] @ 0x4a5b 0x4a6c
//	#	0x4a5b	strconv.FormatInt+0x1b	…
//	#	0x4a6c	redlock-proxy/redlock.(*encoder).encode+0x2c	…
func parseProfile(page string) (map[string]float64, error) {
	sums := make(map[string]float64)
	_, page, _ = strings.Cut(page, "\n") // the sum of all
	for record := range strings.SplitSeq(page, "\n\n") {
		head, stack, _ := strings.Cut(record, "\n")
		_, all, isRecord := strings.Cut(head, "[")
		if !isRecord || strings.Contains(stack, "\tnet/http.") {
			continue
		}
		all, _, _ = strings.Cut(all, ":")
		n, err := strconv.ParseFloat(strings.TrimSpace(all), 64)
		if err != nil {
			return nil, fmt.Errorf("heap profile: %q: %w", head, err)
		}
		sums[ownerOf(stack)] += n
	}
	return sums, nil
}

// ownerOf is whose code made an allocation: that of the innermost function
// which is not of the standard library.
func ownerOf(stack string) string {
	for frame := range strings.Lines(stack) {
		fields := strings.Split(frame, "\t")
		if len(fields) < 3 {
			continue
		}
		switch function := fields[2]; {
		case strings.HasPrefix(function, "redlock-proxy/"), strings.HasPrefix(function, "main."):
			return ours
		case strings.HasPrefix(function, "github.com/redis/rueidis"):
			return theirsRueidis
		case strings.HasPrefix(function, "github.com/tidwall/redcon"):
			return theirsRedcon
		}
	}
	return other
}
