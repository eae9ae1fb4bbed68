//go:build race

package resp

// raceDetector is on: a sync.Pool then drops at random what is put into it.
const raceDetector = true
