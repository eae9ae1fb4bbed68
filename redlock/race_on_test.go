//go:build race

package redlock

// The race detector slows the simulation down twentyfold; it has one goroutine.
const (
	defaultSchedules = 300
	raceDetector     = true
)
