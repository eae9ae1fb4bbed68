//go:build race

package proxy

// raceDetector is on: what it adds makes stacks larger.
const raceDetector = true
