package harness

import (
	"errors"
	"fmt"
	"time"
)

// ErrEnded, if wrapped in the error of a check, says that waiting is pointless.
var ErrEnded = errors.New("the process ended")

// Eventually calls check until it returns nil, and returns its last error if
// that takes longer than timeout or the error is [ErrEnded].
func Eventually(timeout time.Duration, check func() error) error {
	deadline := time.Now().Add(timeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := check()
		if err == nil || errors.Is(err, ErrEnded) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still after %v: %w", timeout, err)
		}
		time.Sleep(pause)
	}
}
