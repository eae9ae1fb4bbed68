package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheShimMovesTheClockOfOneServer, the time of day and nothing else, and
// as often as one likes.
func TestTheShimMovesTheClockOfOneServer(t *testing.T) {
	dir := t.TempDir()
	shim, err := BuildClockShim(dir)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	clock, err := NewClock(shim, filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := StartRedisWith(clock.Env(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Kill()
	for _, step := range []struct{ by, total time.Duration }{
		{0, 0}, {time.Hour, time.Hour}, {-90 * time.Minute, -30 * time.Minute}, {30*time.Minute + 500*time.Millisecond, 500 * time.Millisecond},
	} {
		clock.Step(step.by)
		before := time.Now()
		reply, err := Do(r.Addr(), "TIME")
		if err != nil {
			t.Fatal(err)
		}
		var seconds, micros int64
		if _, err := fmt.Sscanf(strings.ReplaceAll(reply, `"`, ""), "[%d %d]", &seconds, &micros); err != nil {
			t.Fatalf("TIME: %s: %v", reply, err)
		}
		shown := time.Unix(seconds, micros*1000).Add(-step.total)
		if shown.Before(before.Add(-time.Millisecond)) || shown.After(time.Now()) {
			t.Errorf("stepped by %v: the server's clock is %v off, want %v", step.by, shown.Add(step.total).Sub(before), step.total)
		}
	}
}
