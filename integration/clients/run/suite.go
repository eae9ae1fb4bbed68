package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// noToolchain is the exit code of a suite whose language is not installed.
const noToolchain = 77

// missingToolchain says what a suite needs and does not find.
type missingToolchain string

func (m missingToolchain) Error() string { return string(m) }

// suite is one language's.
type suite struct {
	language string
	dir      string
}

// run starts servers and the suite, and returns the lines that it printed,
// with an error also those before it.
func (s suite) run(b builder, timeout time.Duration) ([]result, error) {
	bed, err := b.start()
	if err != nil {
		return nil, err
	}
	defer bed.stop()
	cmd := exec.Command("./run.sh")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), bed.environment()...)
	var last lastLine
	cmd.Stderr = io.MultiWriter(os.Stderr, &last)
	cmd.WaitDelay = 5 * time.Second
	own(cmd)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tooLong := time.AfterFunc(timeout, func() { killAll(cmd) })
	results, parseErr := s.parse(stdout)
	err = cmd.Wait()
	stopped := !tooLong.Stop()
	killAll(cmd) // what it may have left in the background
	switch {
	case stopped:
		return results, fmt.Errorf("stopped after %v", timeout)
	case err != nil && cmd.ProcessState.ExitCode() == noToolchain:
		return nil, missingToolchain(last.text())
	case err != nil:
		return results, fmt.Errorf("the suite broke (%w): %s", err, last.text())
	}
	return results, parseErr
}

// parse reads the suite's lines to their end, whatever they are.
func (s suite) parse(stdout io.Reader) (results []result, err error) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		r, fault := parseResult(lines.Bytes())
		if fault == nil && r.Language != s.language {
			fault = fmt.Errorf("its language is %q", r.Language)
		}
		if fault != nil {
			if err == nil {
				err = fmt.Errorf("a line on stdout is no result (%w): %.200s", fault, lines.Text())
			}
			continue
		}
		results = append(results, r)
	}
	if err == nil {
		err = lines.Err()
	}
	io.Copy(io.Discard, stdout) // so that it can end
	return results, err
}

func parseResult(line []byte) (r result, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, err
	}
	return r, r.check()
}

// lastLine keeps the end of what is written to it.
type lastLine struct{ buf []byte }

func (l *lastLine) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	if len(l.buf) > 4096 {
		l.buf = append(l.buf[:0], l.buf[len(l.buf)-2048:]...)
	}
	return len(p), nil
}

func (l *lastLine) text() string {
	lines := strings.Split(strings.TrimSpace(string(l.buf)), "\n")
	return lines[len(lines)-1]
}
