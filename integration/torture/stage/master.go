//go:build linux

package stage

import (
	"os"
	"path/filepath"
	"sync"

	"redlock-proxy/integration/internal/harness"
)

// Master is a place in the quorum: an address, under which a server is to be
// found. Faults of the server itself are for one goroutine at a time.
type Master struct {
	Place   int
	Durable bool // persists every write
	stage   *Stage

	mu     sync.Mutex
	server *Server
}

// Server is one redis-server with a clock of its own.
type Server struct {
	*harness.Redis
	Clock *harness.Clock
	dir   string

	monitor *monitor
}

// End ends the server for good.
func (s *Server) End() {
	s.monitor.end()
	s.Kill()
}

// Server is what is to be found at the address at present.
func (m *Master) Server() *Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// Networks are the networks between the proxies and this master.
func (m *Master) Networks() []*harness.Relay {
	relays := make([]*harness.Relay, len(m.stage.Proxies))
	for i, p := range m.stage.Proxies {
		relays[i] = p.Networks[m.Place]
	}
	return relays
}

// Replace gives the address to another server. Open connections stay with the
// old one until they are cut. It returns the old one, which is the caller's to
// end.
func (m *Master) Replace(by *Server) *Server {
	m.mu.Lock()
	old := m.server
	m.server = by
	m.mu.Unlock()
	for _, r := range m.Networks() {
		r.Retarget(by.Addr())
	}
	return old
}

// Wipe removes what the server has on disk.
func (s *Server) Wipe() error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.RemoveAll(filepath.Join(s.dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// BlockSaving makes every attempt to save a snapshot fail, also those of root:
// the snapshot's place is taken by a directory.
func (s *Server) BlockSaving() error {
	place := filepath.Join(s.dir, "dump.rdb")
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Mkdir(place, 0o700)
}

// UnblockSaving is the end of BlockSaving.
func (s *Server) UnblockSaving() error { return os.RemoveAll(filepath.Join(s.dir, "dump.rdb")) }
