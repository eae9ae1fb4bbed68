//go:build !linux

package harness

import "syscall"

// dieWithParent has no equivalent here: a child survives if this process is
// killed before it could clean up.
func dieWithParent() *syscall.SysProcAttr { return nil }
