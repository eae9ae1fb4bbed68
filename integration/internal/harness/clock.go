package harness

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

//go:embed shim/clock.c
var clockShim []byte

// BuildClockShim compiles the shim with which servers get a [Clock] into dir
// and returns its path. It needs gcc.
func BuildClockShim(dir string) (string, error) {
	source, shim := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockShim, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", shim, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc %s: %w\n%s", source, err, out)
	}
	return shim, nil
}

// Clock is the wall clock that a server sees. It can be set while the server
// runs, and keeps its setting when the server is started again. It is for one
// goroutine at a time.
type Clock struct {
	shim, file string
	control    *clockControl
	mapped     []byte
}

// clockControl is struct control of shim/clock.c.
type clockControl struct {
	version            atomic.Uint64
	offset, since, ppm atomic.Int64
}

// NewClock makes a clock that shows the right time, controlled by a file.
func NewClock(shim, file string) (*Clock, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(clockControl{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mapped, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", file, err)
	}
	return &Clock{shim: shim, file: file, control: (*clockControl)(unsafe.Pointer(&mapped[0])), mapped: mapped}, nil
}

// Env is the environment that gives a program this clock.
func (c *Clock) Env() []string {
	return []string{"LD_PRELOAD=" + c.shim, "CLOCK_SHIM_FILE=" + c.file}
}

// Step sets the clock forward, or back if d is negative.
func (c *Clock) Step(d time.Duration) { c.set(c.Offset()+d, c.control.ppm.Load()) }

// Rate makes the clock gain so many parts per million from now on.
func (c *Clock) Rate(ppm int64) { c.set(c.Offset(), ppm) }

// Offset is how far the clock is ahead at present.
func (c *Clock) Offset() time.Duration {
	k := c.control
	gained := (time.Now().UnixNano() - k.since.Load()) / 1000 * k.ppm.Load() / 1000
	return time.Duration(k.offset.Load() + gained)
}

func (c *Clock) set(offset time.Duration, ppm int64) {
	k := c.control
	k.version.Add(1)
	k.offset.Store(int64(offset))
	k.since.Store(time.Now().UnixNano())
	k.ppm.Store(ppm)
	k.version.Add(1)
}

// Close forgets the clock; the server must have ended.
func (c *Clock) Close() error { return syscall.Munmap(c.mapped) }
