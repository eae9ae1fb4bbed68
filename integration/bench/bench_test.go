package main

import (
	"maps"
	"testing"
)

func TestAllocationsCountForWhoseCodeMakesThem(t *testing.T) {
	const page = `heap profile: 1: 2 [9: 9] @ heap/1
1: 8 [10: 80] @ 0x1 0x2
#	0x1	strconv.FormatInt+0x1b	/go/strconv/itoa.go:32
#	0x2	redlock-proxy/redlock.(*encoder).encode+0x2c	/redlock/encode.go:70
#	0x3	github.com/redis/rueidis.(*mux).x+0x2c	/rueidis/mux.go:7

1: 8 [200: 80] @ 0x1 0x2
#	0x3	github.com/redis/rueidis.(*mux).x+0x2c	/rueidis/mux.go:7
#	0x2	redlock-proxy/redlock.(*worker).exchange+0x2c	/redlock/worker.go:70

0: 0 [3000: 80] @ 0x1
#	0x1	github.com/tidwall/redcon.ReadCommands+0x1	/redcon.go:1

0: 0 [40000: 80] @ 0x1
#	0x1	runtime.malg+0x1	/proc.go:1

0: 0 [500000: 80] @ 0x1
#	0x1	main.x+0x1	/main.go:1
#	0x2	net/http.(*conn).serve+0x1	/http/server.go:1


# runtime.MemStats
# Alloc = 12 [13]
`
	got, err := parseProfile(page)
	want := map[string]float64{ours: 10, theirsRueidis: 200, theirsRedcon: 3000, other: 40000}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parseProfile("\n1: 8 [x: 80] @ 0x1\n"); err == nil {
		t.Error("a record without a number is no error")
	}
}

func TestMedianAndSpread(t *testing.T) {
	for _, c := range []struct {
		cycles []float64
		want   spread
	}{
		{[]float64{7}, spread{7, 7, 7}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9}},
	} {
		var r result
		for _, n := range c.cycles {
			r.Samples = append(r.Samples, sample{Cycles: n})
		}
		if got := r.of(cyclesOf); got != c.want {
			t.Errorf("%v: got %v, want %v", c.cycles, got, c.want)
		}
	}
}

func TestGoalsAreMetOrNot(t *testing.T) {
	for _, c := range []struct {
		goal goal
		met  bool
	}{
		{atLeast("", 2, 2), true}, {atLeast("", 2, 1.9), false}, {atMost("", 2, 2), true}, {atMost("", 2, 2.1), false},
	} {
		if c.goal.Met != c.met {
			t.Errorf("%+v: want met %v", c.goal, c.met)
		}
	}
}

func TestPartsAreChosenByName(t *testing.T) {
	if all, err := partsNamed(""); err != nil || len(all) != len(allParts()) {
		t.Errorf("no names: got %d parts, %v, want all", len(all), err)
	}
	if some, err := partsNamed("idle, cycles"); err != nil || len(some) != 2 || some[0].name != "idle" || some[1].name != "cycles" {
		t.Errorf("two names: got %v, %v", some, err)
	}
	if _, err := partsNamed("idle,none"); err == nil {
		t.Error("an unknown name is no error")
	}
}
