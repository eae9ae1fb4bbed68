package harness

import "syscall"

// dieWithParent makes a child end with this process, also when that is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
