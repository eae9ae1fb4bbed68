package conf

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Complain writes what is wrong, a line each, and returns the exit code: 0
// without an error, 2 for a wrong configuration (Faults, or an error that says so
// by a method Misconfigured), else 1.
func Complain(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(w, "redlock-proxy:", line)
	}
	var faults Faults
	var wrong interface{ Misconfigured() }
	if errors.As(err, &faults) || errors.As(err, &wrong) {
		return 2
	}
	return 1
}
