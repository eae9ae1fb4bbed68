//go:build linux

package stage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// monitor is what a server was seen to execute lately, for the report of a
// violation. The server itself says it (MONITOR), when it says it is noted
// here: its own clock may be wrong.
type monitor struct {
	mu    sync.Mutex
	lines []executed
	ended bool
}

type executed struct {
	at   time.Time
	line string
}

// remembered is how many commands are kept.
const remembered = 30000

func (m *monitor) run(addr string) {
	for !m.over() {
		if c, err := harness.Dial(addr); err == nil {
			m.read(c)
			c.Close()
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (m *monitor) read(c *harness.Conn) {
	if reply, err := c.Do("MONITOR"); err != nil || reply != "+OK" {
		return
	}
	m.note("--- connected")
	for !m.over() {
		line, err := c.ReadLine()
		if err != nil {
			m.note("--- lost")
			return
		}
		m.note(line)
	}
}

func (m *monitor) note(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) == remembered {
		m.lines = slices.Delete(m.lines, 0, remembered/4)
	}
	m.lines = append(m.lines, executed{time.Now(), line})
}

func (m *monitor) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}

func (m *monitor) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
}

// WriteExecuted writes what the master was seen to execute about a key, and
// when it was emptied or promoted.
func (m *Master) WriteExecuted(w io.Writer, key string, start time.Time) {
	s := m.Server()
	s.monitor.mu.Lock()
	defer s.monitor.mu.Unlock()
	fmt.Fprintf(w, "executed by master %d (since it is at its place)\n", m.Place+1)
	for _, e := range s.monitor.lines {
		for _, word := range [...]string{`"` + key + `"`, "---", "FLUSH", "REPLICAOF", "maxmemory", `"restoring`} {
			if strings.Contains(e.line, word) {
				fmt.Fprintf(w, "  %.4f %s\n", e.at.Sub(start).Seconds(), e.line)
				break
			}
		}
	}
}
