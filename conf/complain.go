package conf

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Complain writes what is wrong, a line each, and returns the exit code: 0
// without an error, 2 for a wrong configuration, else 1.
func Complain(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(w, "redlock-proxy:", line)
	}
	var faults Faults
	if errors.As(err, &faults) {
		return 2
	}
	return 1
}
