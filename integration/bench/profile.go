package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// profiledLoads are what the proxy is compiled for: few and many callers, over one
// connection and over many.
var profiledLoads = []struct {
	contestant
	callers int
}{{viaProxy[0], 64}, {viaProxy[0], 512}, {viaProxy[1], 1}, {viaProxy[1], 64}}

// profileSeconds is how long each of them is watched; quickProfile, to prove that it
// works.
const profileSeconds, quickProfile = 8, 1

// writeProfile writes a CPU profile of all profiled loads together.
func (b *bench) runProfile() error {
	addrs, err := freeAddrs(1)
	if err != nil {
		return err
	}
	profiled := *b
	if profiled.binary, err = buildProfiled(b.dir, addrs[0], 0); err != nil {
		return err
	}
	f, err := profiled.startField(b.masters[0])
	if err != nil {
		return err
	}
	defer f.close()
	seconds := profileSeconds
	if b.quick {
		seconds = quickProfile
	}
	var profiles []*profile.Profile
	for _, load := range profiledLoads {
		say("profile: %s, %d callers", load.name, load.callers)
		p, err := f.profile(load.contestant, load.callers, addrs[0], seconds)
		if err != nil {
			return fmt.Errorf("%s, %d callers: %w", load.name, load.callers, err)
		}
		profiles = append(profiles, p)
	}
	say("")
	return writeProfile(b.profile, profiles)
}

// writeProfile merges profiles, leaves out what the compiler has no use for and
// says where they were made, and writes the rest to a file.
func writeProfile(file string, profiles []*profile.Profile) error {
	p, err := profile.Merge(profiles)
	if err != nil {
		return err
	}
	if err := p.Aggregate(true, true, false, true, false, false); err != nil {
		return err
	}
	for _, m := range p.Mapping {
		m.File, m.BuildID = "", ""
	}
	p.Comments = nil
	var out bytes.Buffer
	if err := p.Compact().Write(&out); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// profile runs a contestant and returns what the proxy says of its CPU time
// meanwhile.
func (f *field) profile(c contestant, callers int, addr string, seconds int) (*profile.Profile, error) {
	type page struct {
		profile *profile.Profile
		err     error
	}
	got := make(chan page, 1)
	fetch := func() {
		resp, err := http.Get("http://" + addr + "/debug/pprof/profile?seconds=" + strconv.Itoa(seconds))
		if err != nil {
			got <- page{nil, err}
			return
		}
		defer resp.Body.Close()
		p, err := profile.Parse(resp.Body)
		got <- page{p, err}
	}
	if _, err := f.sample(c, distinctKeys, callers, time.Duration(seconds+1)*time.Second, func() { go fetch() }); err != nil {
		return nil, err
	}
	p := <-got
	return p.profile, p.err
}
