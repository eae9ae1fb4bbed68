package harness

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a running child process. Its output is kept for the report of a
// failed test.
type Process struct {
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended
}

// Start runs a program with the environment of this process plus env. Settings
// of the proxy that happen to be in the environment are not handed on.
func Start(program string, args []string, env ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(program, args...), log: &logBuffer{}, done: make(chan struct{})}
	p.cmd.Env = append(environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "REDLOCK_") })
}

// run starts the process and waits for it on one thread: the kernel sends the
// death signal when the thread that started a child ends, not when the process
// does (prctl(2), PR_SET_PDEATHSIG).
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // the exit code is read from ProcessState
	close(p.done)
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal to a process that may have ended already.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Thaw lets a process go on that was stopped with SIGSTOP.
func (p *Process) Thaw() { p.Signal(syscall.SIGCONT) }

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Wait waits for the process to end and returns its exit code, -1 if a signal
// ended it.
func (p *Process) Wait(timeout time.Duration) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(timeout):
		return 0, fmt.Errorf("%s (pid %d) still runs after %v", p.cmd.Path, p.PID(), timeout)
	}
}

// Log is what the process has written so far.
func (p *Process) Log() string { return p.log.String() }

// logBuffer collects output. Only its last part is kept, so that a program
// that floods its log cannot fill the memory of the test.
type logBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

const maxLog = 4 << 20

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len()+len(p) > maxLog {
		tail := b.buf.String()[b.buf.Len()/2:]
		b.buf.Reset()
		b.buf.WriteString("[…]")
		b.buf.WriteString(tail)
	}
	b.buf.Write(p)
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
