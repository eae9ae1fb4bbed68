//go:build linux

package stage

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// readyTimeout bounds the start of a proxy on a busy machine.
const readyTimeout = 20 * time.Second

// Proxy is one redlock-proxy, which is started again when it was killed, and
// its networks to the masters.
type Proxy struct {
	Number    int
	Addr      string
	Networks  []*harness.Relay   // by place of the master
	Namespace *harness.Namespace // nil: the machine's own network

	program string
	args    []string

	mu      sync.Mutex
	process *harness.Proxy
	frozen  bool
	logs    []string // of those that were killed
}

func (s *Stage) newProxy(number int) (p *Proxy, err error) {
	p = &Proxy{Number: number}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	here, inside := "127.0.0.1", "127.0.0.1"
	if s.cfg.Namespaces {
		if p.Namespace, err = harness.NewNamespace(); err != nil {
			return p, err
		}
		here, inside = p.Namespace.Host, p.Namespace.Inside
	}
	var addrs []string
	for _, m := range s.Masters {
		r, err := harness.StartRelayOn(here, m.Server().Addr())
		if err != nil {
			return p, err
		}
		p.Networks = append(p.Networks, r)
		addrs = append(addrs, r.Addr())
	}
	return p, p.launch(s.cfg.Binary, inside, addrs, s.cfg.Flags)
}

// launch starts the proxy for the first time.
func (p *Proxy) launch(binary, host string, masters, flags []string) error {
	var ports [2]int
	for ports[0] == ports[1] {
		for i := range ports {
			port, err := harness.FreePort()
			if err != nil {
				return err
			}
			ports[i] = port
		}
	}
	p.Addr = harness.HostAddr(host, ports[0])
	metrics := harness.HostAddr(host, ports[1])
	p.program = binary
	p.args = append([]string{"--listen", p.Addr, "--metrics-addr", metrics, "--masters", strings.Join(masters, ",")}, flags...)
	if p.Namespace != nil {
		p.program, p.args = p.Namespace.Command(binary, append(p.args, "--protected-mode=false")...)
	}
	process, err := harness.StartProxyAs(p.Addr, metrics, p.program, p.args...)
	if err != nil {
		return err
	}
	p.process = process
	return process.WaitReady(readyTimeout)
}

// Process is the present one.
func (p *Proxy) Process() *harness.Proxy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Restart kills the proxy, lets some time pass, and starts it again.
func (p *Proxy) Restart(pause func()) error {
	p.process.Kill()
	pause()
	next, err := harness.StartProxyAs(p.Addr, p.process.Metrics, p.program, p.args...)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = append(p.logs, p.process.Log())
	p.process = next
	return nil
}

// Freeze stops the process; it reports false if that was not possible.
func (p *Proxy) Freeze() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = p.process.FreezeIdle()
	return p.frozen
}

// Thaw is the end of Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
	p.process.Thaw()
}

// Answers reports whether the process runs and is not stopped.
func (p *Proxy) Answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.frozen && p.process.Alive()
}

// Log is what all processes of this proxy wrote.
func (p *Proxy) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(append(p.logs, p.process.Log()), "\n--- killed and started again ---\n")
}

// Partition loses all packets to one master; it takes a namespace.
func (p *Proxy) Partition(place int) error {
	_, port, err := net.SplitHostPort(p.Networks[place].Addr())
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	return p.Namespace.Drop(n)
}

func (p *Proxy) close() (err error) {
	if p.process != nil {
		p.process.Kill()
	}
	for _, r := range p.Networks {
		r.Close()
	}
	if p.Namespace != nil {
		err = p.Namespace.Remove()
	}
	return err
}
