package harness

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Build compiles the product, whose module is at root, into dir and returns
// the path of the program.
func Build(root, dir string) (string, error) {
	binary := filepath.Join(dir, "redlock-proxy")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s: %w\n%s", root, err, out)
	}
	return binary, nil
}

// Proxy is one running redlock-proxy.
type Proxy struct {
	*Process
	Addr    string // where it serves Redis clients
	Metrics string // where it serves /metrics, /healthz and /readyz
}

// StartProxy starts the program with the masters (none: embedded ones) and
// further flags, and waits until it accepts connections.
func StartProxy(binary string, masters []string, flags ...string) (*Proxy, error) {
	return startProxy("127.0.0.1", binary, masters, flags)
}

// StartPublicProxy is StartProxy for one that listens on every interface.
func StartPublicProxy(binary string, masters []string, flags ...string) (*Proxy, error) {
	return startProxy("0.0.0.0", binary, masters, flags)
}

func startProxy(host, binary string, masters, flags []string) (*Proxy, error) {
	var ports [2]int
	for i := range ports {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	p := &Proxy{Addr: LocalAddr(ports[0]), Metrics: LocalAddr(ports[1])}
	args := []string{"--listen", net.JoinHostPort(host, strconv.Itoa(ports[0])), "--metrics-addr", p.Metrics}
	if len(masters) > 0 {
		args = append(args, "--masters", strings.Join(masters, ","))
	}
	return p, p.start(binary, append(args, flags...))
}

// StartProxyAs starts the program by a command of one's own, which has to make
// it listen at these addresses.
func StartProxyAs(addr, metrics, program string, args ...string) (*Proxy, error) {
	p := &Proxy{Addr: addr, Metrics: metrics}
	return p, p.start(program, args)
}

func (p *Proxy) start(program string, args []string) error {
	process, err := Start(program, args)
	if err != nil {
		return err
	}
	p.Process = process
	if err := p.waitUntilUp(); err != nil {
		p.Kill()
		return fmt.Errorf("proxy at %s: %w\n%s", p.Addr, err, p.Log())
	}
	return nil
}

func (p *Proxy) waitUntilUp() error {
	return Eventually(startTimeout, func() error {
		if !p.Alive() {
			return ErrEnded
		}
		_, err := Do(p.Addr, "PING")
		return err
	})
}

// WaitReady waits until a quorum of masters may vote.
func (p *Proxy) WaitReady(timeout time.Duration) error {
	return Eventually(timeout, func() error {
		code, body, err := p.Get("/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("/readyz says %d: %s", code, body)
		}
		return err
	})
}

// Get reads a page of the metrics address.
func (p *Proxy) Get(path string) (code int, body string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Metrics+path, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(page), err
}

// Metric is the sum of all series with this name in /metrics.
func (p *Proxy) Metric(name string) (float64, error) {
	_, page, err := p.Get("/metrics")
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for line := range strings.Lines(page) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if base, _, _ := strings.Cut(series, "{"); base != name {
			continue
		}
		// A label may hold a space, the value never does.
		v, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", line, err)
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("no metric %s", name)
	}
	return sum, nil
}
