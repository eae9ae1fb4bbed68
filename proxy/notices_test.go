package proxy

import (
	"fmt"
	"testing"
	"time"
)

func TestNoticesAreRare(t *testing.T) {
	var n notices
	start := time.Now()
	for _, step := range []struct {
		after time.Duration
		why   cut
		addr  string
		more  uint64
		due   bool
	}{
		{0, cutSlow, "10.0.0.1:1000", 0, true},
		{0, cutSlow, "10.0.0.1:1001", 0, false},
		{59 * time.Second, cutSlow, "10.0.0.1:1002", 0, false},
		{59 * time.Second, cutUnread, "10.0.0.1:1002", 0, true},
		{59 * time.Second, cutSlow, "10.0.0.2:1002", 0, true},
		{60 * time.Second, cutSlow, "10.0.0.1:1003", 2, true},
		{61 * time.Second, cutSlow, "10.0.0.1:1004", 0, false},
		{120 * time.Second, cutSlow, "10.0.0.1:1004", 1, true},
		{120 * time.Second, cutSlow, "@", 0, true},
	} {
		if more, due := n.due(step.why, step.addr, start.Add(step.after)); more != step.more || due != step.due {
			t.Errorf("%+v: got %d, %v", step, more, due)
		}
	}
}

func TestNoticesAreBounded(t *testing.T) {
	var n notices
	start, said := time.Now(), 0
	for i := range 10 * maxNotices {
		if _, due := n.due(cutSlow, fmt.Sprintf("[fe80::%x]:1", i), start); due {
			said++
		}
	}
	if said != maxNotices || len(n.said) != maxNotices {
		t.Errorf("said %d, remembers %d, want %d", said, len(n.said), maxNotices)
	}
	if _, due := n.due(cutSlow, "10.0.0.1:1", start.Add(noticePause)); !due {
		t.Error("others are never told of again")
	}
}
