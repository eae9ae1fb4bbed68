package harness

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout bounds the start of a server on a busy machine.
const startTimeout = 20 * time.Second

// Redis is one redis-server on a port of its own.
type Redis struct {
	*Process
	Port     int
	Password string // empty: none
	args     []string
	env      []string
}

// StartRedis starts a redis-server that persists nothing and waits until it
// answers. Its files, if extra arguments make it write any, go to dir.
func StartRedis(dir string, extra ...string) (*Redis, error) {
	return StartRedisWith(nil, dir, extra...)
}

// StartRedisWith is StartRedis with more environment.
func StartRedisWith(env []string, dir string, extra ...string) (*Redis, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	r := &Redis{Port: port, env: env}
	r.args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--loglevel", "warning",
	}, extra...)
	if err := r.Start(); err != nil {
		return nil, err
	}
	return r, nil
}

// SetPassword makes the server ask for a password, until it is restarted.
func (r *Redis) SetPassword(password string) error {
	reply, err := Do(r.Addr(), "CONFIG", "SET", "requirepass", password)
	if err == nil && reply != "+OK" {
		err = errors.New(reply)
	}
	r.Password = password
	return err
}

// Dial connects to the server.
func (r *Redis) Dial() (*Conn, error) {
	c, err := Dial(r.Addr())
	if err != nil || r.Password == "" {
		return c, err
	}
	if reply, err := c.Do("AUTH", r.Password); err != nil || reply != "+OK" {
		c.Close()
		return nil, fmt.Errorf("AUTH: %s, %w", reply, err)
	}
	return c, nil
}

// Addr is the server's address.
func (r *Redis) Addr() string { return LocalAddr(r.Port) }

// Start starts the server again on the same port after it was killed. It is
// empty then, unless it was told to persist.
func (r *Redis) Start() error {
	process, err := Start("redis-server", r.args, r.env...)
	if err != nil {
		return err
	}
	r.Process = process
	if err := r.waitUntilUp(); err != nil {
		process.Kill()
		return fmt.Errorf("redis-server on port %d: %w\n%s", r.Port, err, process.Log())
	}
	return nil
}

func (r *Redis) waitUntilUp() error {
	return Eventually(startTimeout, func() error {
		if !r.Alive() {
			return ErrEnded
		}
		reply, err := Do(r.Addr(), "PING")
		// A server with a password is up when it asks for it.
		if err == nil && reply != "+PONG" && !strings.HasPrefix(reply, "-NOAUTH") {
			err = errors.New(reply)
		}
		return err
	})
}

// Restart kills the server and starts it again at once.
func (r *Redis) Restart() error {
	r.Kill()
	return r.Start()
}

// Freeze stops the server with SIGSTOP: its port accepts and answers nothing.
func (r *Redis) Freeze() { r.Signal(syscall.SIGSTOP) }
