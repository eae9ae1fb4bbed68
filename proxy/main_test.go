package proxy

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain wants no goroutine to be left when all tests are done.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
