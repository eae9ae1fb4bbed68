package redlock

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// A master that evicts keys when it is out of memory forgets locks. It is
// warned of when the policy allows it, and once a key was evicted the master's
// vote ends as after a restart: it is resynchronised from the others.

// evictionWarning is what to tell an operator about a server's settings; empty
// if there is nothing.
func evictionWarning(info map[string]string) string {
	policy := info["maxmemory_policy"]
	if policy == "" || policy == "noeviction" || info["maxmemory"] == "0" {
		return ""
	}
	return fmt.Sprintf("maxmemory-policy is %s: it may forget locks when its memory is full, set it to noeviction", policy)
}

// watchEvictions ends the master's vote if it has evicted keys since its
// connection was opened.
func (u *upstream) watchEvictions(w *wire) error {
	text, err := w.client.Do(context.Background(), w.client.B().Arbitrary("INFO", "stats").Build()).ToString()
	if err != nil {
		return err
	}
	evicted, err := strconv.ParseInt(parseInfo(text)["evicted_keys"], 10, 64)
	if err != nil {
		return err // not told
	}
	u.mu.Lock()
	lost := evicted - w.facts.evicted
	w.facts.evicted = evicted
	if lost > 0 && u.wire == w {
		u.link.distrust(u.clock.Now(), fmt.Sprintf("it has evicted %d keys (set maxmemory-policy noeviction)", lost))
	}
	u.mu.Unlock()
	if lost > 0 {
		u.changed()
	}
	return nil
}

// distrust ends the vote of the present admission, as a step of the clock does.
func (l *link) distrust(now time.Duration, why string) {
	l.steppedAt = now
	if l.stepped == "" {
		l.stepped = why
	}
}
