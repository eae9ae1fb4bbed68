package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ, 100 on every Linux
// that Go runs on.
const clockTick = time.Second / 100

// CPU is the processor time the process has used, to 10 ms.
func (p *Process) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses and may hold
	// spaces; utime and stime are fields 14 and 15 (proc(5)).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("short /proc/%d/stat", p.PID())
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", p.PID(), err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Memory is what the process has resident now and the most it ever had, in
// bytes.
func (p *Process) Memory() (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, 0, err
	}
	if now, err = statusKB(string(status), "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = statusKB(string(status), "VmHWM:")
	return now, peak, err
}

// statusKB reads one "Name:   123 kB" line and returns bytes.
func statusKB(status, name string) (int64, error) {
	_, rest, found := strings.Cut(status, name)
	if !found {
		return 0, fmt.Errorf("no %s in /proc status", name)
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("no value for %s in /proc status", name)
	}
	kb, err := strconv.ParseInt(fields[0], 10, 64)
	return kb << 10, err
}
