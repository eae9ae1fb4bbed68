package harness

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// FreezeIdle stops a process with SIGSTOP at a moment when all of its threads
// are waiting for something. No program can look at its watch and speak at the
// same instant: stopped just between the two it would say what has ceased to be
// true, and nobody could tell that from not having looked. It reports false, and
// leaves the process running, if no such moment was found.
func (p *Process) FreezeIdle() bool {
	for range 200 {
		p.Signal(syscall.SIGSTOP)
		if p.waitsOnly() {
			return true
		}
		p.Signal(syscall.SIGCONT)
		time.Sleep(time.Millisecond)
	}
	return false
}

// waitsOnly reports whether every thread of a process that is being stopped was
// inside a system call that waits.
func (p *Process) waitsOnly() bool {
	dir := fmt.Sprintf("/proc/%d/task", p.PID())
	threads, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, t := range threads {
		if !waits(dir + "/" + t.Name() + "/syscall") {
			return false
		}
	}
	return len(threads) > 0
}

func waits(file string) bool {
	for range 50 {
		text, err := os.ReadFile(file)
		number, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		switch {
		case err != nil:
			return false
		case number == "running": // not stopped yet
			time.Sleep(100 * time.Microsecond)
			continue
		}
		return waitingCalls[number]
	}
	return false
}

// waitingCalls are the numbers of the system calls in which threads of a Go
// program wait.
var waitingCalls = map[string]bool{
	fmt.Sprint(syscall.SYS_FUTEX):       true,
	fmt.Sprint(syscall.SYS_EPOLL_PWAIT): true,
	fmt.Sprint(syscall.SYS_NANOSLEEP):   true,
}
