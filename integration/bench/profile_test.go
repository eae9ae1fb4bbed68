package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestAProfileDoesNotSayWhereItWasMade(t *testing.T) {
	mapping := &profile.Mapping{ID: 1, File: "/home/me/proxy", BuildID: "me"}
	function := &profile.Function{ID: 1, Name: "redlock.vote", SystemName: "redlock.vote", Filename: "/home/me/round.go", StartLine: 7}
	location := &profile.Location{ID: 1, Mapping: mapping, Line: []profile.Line{{Function: function, Line: 9}}}
	one := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Mapping: []*profile.Mapping{mapping}, Function: []*profile.Function{function}, Location: []*profile.Location{location},
		Sample:   []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{3}}},
		Comments: []string{"made by me"},
	}
	file := filepath.Join(t.TempDir(), "default.pgo")
	if err := writeProfile(file, []*profile.Profile{one, one.Copy()}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, "../../default.pgo"} {
		p := readProfile(t, file)
		if text := p.String(); strings.Contains(text, "/home/") || strings.Contains(text, ".go:") || len(p.Comments) > 0 {
			t.Errorf("%s says too much:\n%.2000s", file, text)
		}
	}
	p := readProfile(t, file)
	if len(p.Sample) != 1 || p.Sample[0].Value[0] != 6 {
		t.Fatalf("got %v, want one sample of 6", p.Sample)
	}
	if line := p.Sample[0].Location[0].Line[0]; line.Line != 9 || line.Function.Name != "redlock.vote" || line.Function.StartLine != 7 {
		t.Errorf("got %+v of %+v: the compiler needs that", line, line.Function)
	}
}

func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}
