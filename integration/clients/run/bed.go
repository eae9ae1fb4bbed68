package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// The proxies of the suites. The op-timeout is much more than the default of
// 50 ms: a machine that is busy with clients, proxy and masters at once stops one
// of them for longer now and then, and a caller would see that.
var proxyFlags = []string{"--op-timeout", "1s"}

// healTimeout bounds how long a master may take to vote again.
const healTimeout = 20 * time.Second

// builder starts beds.
type builder struct {
	binary string // the proxy
	dir    string // for whatever servers write
}

// bed is what one suite runs against: masters, the proxy over them, a plain
// server, and an HTTP server where the suite asks for faults.
type bed struct {
	binary  string
	masters []*harness.Redis
	plain   *harness.Redis
	control net.Listener

	mu    sync.Mutex
	proxy *harness.Proxy
	next  int            // the master to be killed next
	dead  *harness.Redis // nil: all live
}

func (b builder) start() (*bed, error) {
	bed := &bed{binary: b.binary}
	if err := bed.up(b.dir); err != nil {
		bed.stop()
		return nil, err
	}
	go http.Serve(bed.control, bed.handler())
	return bed, nil
}

func (b *bed) up(dir string) (err error) {
	var addrs []string
	for range 3 {
		m, err := harness.StartRedis(dir)
		if err != nil {
			return err
		}
		b.masters, addrs = append(b.masters, m), append(addrs, m.Addr())
	}
	if b.plain, err = harness.StartRedis(dir); err != nil {
		return err
	}
	if b.proxy, err = harness.StartProxy(b.binary, addrs, proxyFlags...); err != nil {
		return err
	}
	if err = b.proxy.WaitReady(healTimeout); err != nil {
		return err
	}
	b.control, err = net.Listen("tcp", "127.0.0.1:0")
	return err
}

// stop ends everything that was started.
func (b *bed) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.control != nil {
		b.control.Close()
	}
	if b.proxy != nil {
		b.proxy.Kill()
	}
	for _, r := range append(b.masters, b.plain) {
		if r != nil {
			r.Kill()
		}
	}
}

// environment is what the suite is told.
func (b *bed) environment() []string {
	proxyHost, proxyPort, _ := net.SplitHostPort(b.proxy.Addr)
	plainHost, plainPort, _ := net.SplitHostPort(b.plain.Addr())
	return []string{
		"PROXY_HOST=" + proxyHost, "PROXY_PORT=" + proxyPort,
		"PLAIN_HOST=" + plainHost, "PLAIN_PORT=" + plainPort,
		"CONTROL_URL=http://" + b.control.Addr().String(),
	}
}

func (b *bed) handler() http.Handler {
	mux := http.NewServeMux()
	for path, fault := range map[string]func() error{
		"/kill-master":   b.killMaster,
		"/heal":          b.heal,
		"/restart-proxy": b.restartProxy,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			err := fault()
			b.mu.Unlock()
			switch {
			case errors.Is(err, errDeadAlready):
				http.Error(w, err.Error(), http.StatusConflict)
			case err != nil:
				fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default:
				io.WriteString(w, "ok\n")
			}
		})
	}
	return mux
}

var errDeadAlready = errors.New("a master is dead already, ask for /heal first")

// killMaster kills one master after the other, in turn.
func (b *bed) killMaster() error {
	if b.dead != nil {
		return errDeadAlready
	}
	b.dead = b.masters[b.next%len(b.masters)]
	b.next++
	b.dead.Kill()
	return nil
}

// heal brings the dead master back. The operator's word is true here: the suite
// asks for it when nobody relies on a lock any more.
func (b *bed) heal() error {
	if b.dead == nil {
		return nil
	}
	if err := b.dead.Start(); err != nil {
		return err
	}
	b.dead = nil
	return harness.Eventually(healTimeout, func() error {
		reply, err := harness.Do(b.proxy.Addr, "REDLOCK", "ADMIT", "ALL")
		if err == nil && strings.Count(reply, " votes") != len(b.masters) {
			err = errors.New(reply)
		}
		return err
	})
}

// restartProxy ends the proxy as an update would, and starts it again.
func (b *bed) restartProxy() error {
	b.proxy.Signal(syscall.SIGTERM)
	if _, err := b.proxy.Wait(healTimeout); err != nil {
		b.proxy.Kill()
	}
	args := append([]string{"--listen", b.proxy.Addr, "--metrics-addr", b.proxy.Metrics, "--masters", b.masterList()}, proxyFlags...)
	process, err := harness.Start(b.binary, args)
	if err != nil {
		return err
	}
	b.proxy = &harness.Proxy{Process: process, Addr: b.proxy.Addr, Metrics: b.proxy.Metrics}
	if err := b.proxy.WaitReady(healTimeout); err != nil {
		return fmt.Errorf("%w\n%s", err, b.proxy.Log())
	}
	return nil
}

func (b *bed) masterList() string {
	var addrs []string
	for _, m := range b.masters {
		addrs = append(addrs, m.Addr())
	}
	return strings.Join(addrs, ",")
}
