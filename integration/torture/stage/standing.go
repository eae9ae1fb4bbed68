//go:build linux

package stage

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"redlock-proxy/integration/internal/harness"
)

// recordKey is where the masters keep who of them may vote.
const recordKey = "redlock-proxy:{redlock}:record"

// Admission is what the records say of one master.
type Admission struct {
	Serial   uint64
	Identity string
}

// Admission is the newest admission of this master in the records of all that
// answer, and whether its own record says the same.
func (m *Master) Admission() (newest Admission, own bool) {
	for _, other := range m.stage.Masters {
		a, err := other.admissionOf(m)
		if err != nil {
			continue
		}
		if a.Serial > newest.Serial {
			newest, own = a, false
		}
		own = own || other == m && a == newest
	}
	return newest, own
}

// admissionOf is what the record on m says of another master, which it knows by
// the address that one of the proxies has for it.
func (m *Master) admissionOf(of *Master) (a Admission, err error) {
	reply, err := harness.Do(m.Server().Addr(), "GET", recordKey)
	if err != nil {
		return a, err
	}
	text, err := strconv.Unquote(reply)
	if err != nil {
		return a, fmt.Errorf("no record: %s", reply)
	}
	var record struct{ Masters, Admitted []string }
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return a, err
	}
	place := slices.IndexFunc(record.Masters, func(name string) bool {
		return slices.ContainsFunc(of.stage.Proxies, func(p *Proxy) bool { return p.Networks[of.Place].Addr() == name })
	})
	if place < 0 || place >= len(record.Admitted) {
		return a, fmt.Errorf("the record does not know master %d", of.Place+1)
	}
	serial, identity, _ := strings.Cut(record.Admitted[place], " ")
	a.Identity = identity
	a.Serial, err = strconv.ParseUint(serial, 10, 64)
	return a, err
}

// identity is how records spell the server that is there at present.
func (m *Master) identity() (string, error) {
	info, err := harness.Do(m.Server().Addr(), "INFO")
	if err != nil {
		return "", err
	}
	run, followed, until := field(info, "run_id"), field(info, "master_replid2"), field(info, "second_repl_offset")
	if len(run) < 16 || len(followed) < 8 {
		return "", errors.New("INFO shows no identity")
	}
	past := "original"
	if until != "-1" {
		past = until + "-" + followed[:8]
	}
	return run[:16] + "/" + past[:min(len(past), 16)], nil
}

// field is a field of INFO, as harness.Conn shows it.
func field(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	value, _, _ := strings.Cut(rest, `\r\n`)
	return value
}

// Readmitted reports, as an error or nil, whether the master was admitted again
// after an admission, and every proxy that is there counts its votes.
func (m *Master) Readmitted(since Admission) error {
	now, own := m.Admission()
	identity, err := m.identity()
	switch {
	case err != nil:
		return err
	case now.Serial <= since.Serial || now.Identity != identity || !own:
		return fmt.Errorf("master %d is not admitted again: it is %s, its admission %v, since %v", m.Place+1, identity, now, since)
	}
	return m.Votes()
}

// Votes reports, as an error or nil, whether every proxy counts its votes.
func (m *Master) Votes() error {
	for _, p := range m.stage.Proxies {
		if err := p.counts(m.Place); err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether the proxy counts the votes of a master. One that was
// killed is no hindrance, it will begin with the records; one that is stopped
// is.
func (p *Proxy) counts(place int) error {
	switch {
	case !p.Process().Alive():
		return nil
	case !p.Answers():
		return fmt.Errorf("proxy %d is stopped", p.Number+1)
	}
	info, err := harness.Do(p.Addr, "INFO", "redlock")
	if err != nil {
		return fmt.Errorf("proxy %d: %w", p.Number+1, err)
	}
	line := regexp.MustCompile(fmt.Sprintf(`master%d:name=.*?\\r\\n`, place)).FindString(info)
	if !strings.Contains(line, ",votes=1,") {
		return fmt.Errorf("proxy %d says %s", p.Number+1, strings.TrimSuffix(line, `\r\n`))
	}
	return nil
}
