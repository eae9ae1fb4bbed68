package proxy

import (
	"sync"
	"time"
)

// logWindow is how long what anybody can cause by connecting is logged once.
const logWindow = time.Minute

// window lets one line through in each logWindow, and counts the rest. Its zero
// value is ready.
type window struct {
	mu     sync.Mutex
	opened time.Time
	hidden int
}

// open reports whether a line may be logged, and how many have not been since
// the last one.
func (w *window) open(now time.Time) (hidden int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.opened.IsZero() && now.Sub(w.opened) < logWindow {
		w.hidden++
		return 0, false
	}
	hidden, w.hidden, w.opened = w.hidden, 0, now
	return hidden, true
}
