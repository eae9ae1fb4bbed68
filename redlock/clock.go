package redlock

import "time"

// SystemClock is the monotonic clock of the process.
func SystemClock() Clock { return systemClock{time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Now() time.Duration { return time.Since(c.start) }

func (c systemClock) AfterFunc(d time.Duration, f func()) { time.AfterFunc(d, f) }
