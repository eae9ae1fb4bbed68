//go:build !race

package redlock

const (
	defaultSchedules = 10_000
	raceDetector     = false
)
