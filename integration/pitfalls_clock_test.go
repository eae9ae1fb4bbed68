package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// missing ends a test that this machine cannot run: CI must have everything.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI lacks %s", what)
	}
	t.Skipf("this machine lacks %s", what)
}

// startMastersWithClock is startMasters for three, of which the last one has a
// wall clock that can be stepped.
func startMastersWithClock(t *testing.T) (masters, *harness.Clock) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		missing(t, "a C compiler")
	}
	dir := t.TempDir()
	shim, err := harness.BuildClockShim(dir)
	if err != nil {
		t.Fatal(err)
	}
	clock, err := harness.NewClock(shim, filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	m := startMasters(t, 2)
	r, err := harness.StartRedisWith(clock.Env(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Kill() })
	return append(m, r), clock
}

// TestAMasterWhoseClockStepsKeepsNobodysLock: every version of Redis expires
// keys by the time of day, so an hour forwards takes all locks from a master.
// It is as if it had restarted: it does not vote until it has them again
// (pitfall 42). An hour back lets its copies live longer: they go with their
// release.
func TestAMasterWhoseClockStepsKeepsNobodysLock(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			m, clock := startMastersWithClock(t)
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
			waitHeld(t, m, "held", "mine")
			do(t, m[1].Addr(), "DEL", "held") // it rests on masters 1 and 3
			clock.Step(step)
			for range 50 {
				if got := on(t, c, acquire("held", "rival", lockTTL)...); got == "+OK" {
					t.Fatal("a rival got the lock")
				}
			}
			waitLog(t, p, "clock stepped")
			waitStanding(t, p.Addr, m[2], "votes")
			m[0].Kill()
			for range 20 {
				if got := on(t, c, acquire("held", "rival", lockTTL)...); got == "+OK" {
					t.Fatal("a rival got the lock from the master whose clock stepped")
				}
			}
			expect(t, c, "+OK", acquire("new", "mine", lockTTL)...)
			expect(t, c, ":1", release("new", "mine")...)
		})
	}
}

// waitLog waits until a proxy's log says so.
func waitLog(t *testing.T, p *harness.Proxy, want string) {
	t.Helper()
	eventually(t, soon, func() error {
		if !strings.Contains(p.Log(), want) {
			return fmt.Errorf("the log does not say %q", want)
		}
		return nil
	})
}

// TestTheProxysClockMayStep: an hour forwards and two back under load change
// nothing (pitfall 8). No preloaded library reaches a Go program, so the proxy
// is built with a package time whose Now can be told to show another time of
// day, on the same monotonic clock.
func TestTheProxysClockMayStep(t *testing.T) {
	m := startMasters(t, 3)
	p, clock := startProxyWithClock(t, m)
	quiet, c := dial(t, p.Addr), dial(t, p.Addr)
	expect(t, quiet, "+PONG", "PING")
	load := startLoad(t, p.Addr, 4, nothingElse)
	expect(t, c, "+OK", acquire("held", "mine", lockTTL)...)
	taken := time.Now()
	for i, moved := range []time.Duration{time.Hour, -time.Hour, 0} {
		moveClock(t, p, clock, moved)
		expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
		left := 60_000 - time.Since(taken).Milliseconds()
		if got := number(t, on(t, c, "PTTL", "held")); got > 60_000 || got < left-1000 {
			t.Errorf("clock at %v: PTTL is %d, want %d", moved, got, left)
		}
		checkALockLapses(t, c, fmt.Sprint("lapses:", i))
		checkClientList(t, c)
	}
	load.finish(t)
	expect(t, quiet, "+PONG", "PING") // nobody took it for idle
	expect(t, c, ":1", release("held", "mine")...)
	for i, moved := range []time.Duration{time.Hour, -time.Hour} {
		checkDeadline(t, p, m, fmt.Sprint("deadline:", i), func() { moveClock(t, p, clock, moved) })
	}
	if strings.Contains(p.Log(), "stepped") {
		t.Errorf("a master was blamed for the proxy's clock")
	}
}

// checkALockLapses takes a lock of 300 ms and waits for its end.
func checkALockLapses(t *testing.T, c *harness.Conn, key string) {
	t.Helper()
	expect(t, c, "+OK", acquire(key, "a", "300")...)
	start := time.Now()
	eventually(t, soon, func() error {
		if got := on(t, c, acquire(key, "b", lockTTL)...); got != "+OK" {
			return fmt.Errorf("acquire: %s", got)
		}
		return nil
	})
	if took := time.Since(start); took < 295*time.Millisecond {
		t.Errorf("%s lapsed after %v, want 300ms", key, took)
	}
	expect(t, c, ":1", release(key, "b")...)
}

// checkClientList wants no connection to be old or idle.
func checkClientList(t *testing.T, c *harness.Conn) {
	t.Helper()
	list, err := strconv.Unquote(on(t, c, "CLIENT", "LIST"))
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, field := range strings.Fields(list) {
		name, value, _ := strings.Cut(field, "=")
		if name != "age" && name != "idle" {
			continue
		}
		fields++
		if seconds, err := strconv.Atoi(value); err != nil || seconds > 600 {
			t.Errorf("CLIENT LIST shows %s of a connection of this test", field)
		}
	}
	if fields < 2*6 {
		t.Errorf("CLIENT LIST shows %d ages, want two of each connection:\n%s", fields, list)
	}
}

// checkDeadline lets something happen while an operation waits for a quorum
// that is not there, and wants it answered at the op-timeout all the same.
func checkDeadline(t *testing.T, p *harness.Proxy, m masters, key string, happens func()) {
	t.Helper()
	m[0].Freeze()
	m[1].Freeze()
	c := dial(t, p.Addr)
	stalled := watchStalls(t)
	c.Queue(acquire(key, "t", lockTTL)...)
	start := time.Now()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	happens()
	got, err := c.Read()
	took := time.Since(start)
	m[0].Thaw()
	m[1].Thaw()
	if err != nil || !orNoQuorum(got) {
		t.Errorf("acquire: got %s, error %v, want -NOQUORUM …", got, err)
	}
	if limit := inTime(stalled()); took < opTimeout*9/10 || took > limit {
		t.Errorf("acquire: answered after %v, want %v to %v", took, opTimeout, limit)
	}
	m.waitEmpty(t, soon)
}

// startProxyWithClock is startProxy for one whose time of day is moved with
// [moveClock].
func startProxyWithClock(t *testing.T, m masters) (p *harness.Proxy, clock string) {
	t.Helper()
	program, clock := buildWithClock(t)
	t.Setenv("WALL_CLOCK_FILE", clock)
	p, err := harness.StartProxy(program, m.addrs(), "--op-timeout", opTimeout.String(), "--timeout", "30m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); checkLog(t, p) })
	if err := p.WaitReady(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	return p, clock
}

// moveClock makes the proxy show another time of day, and waits until it does.
func moveClock(t *testing.T, p *harness.Proxy, file string, by time.Duration) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strconv.FormatInt(int64(by/time.Second), 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, func() error {
		var seconds int64
		if _, err := fmt.Sscanf(do(t, p.Addr, "TIME"), `["%d"`, &seconds); err != nil {
			return err
		}
		if off := time.Until(time.Unix(seconds, 0).Add(-by)).Abs(); off > 5*time.Second {
			return fmt.Errorf("TIME is %v off", off)
		}
		return nil
	})
}

// What makes the time of day of a Go program move: a variable of package time
// that Now adds, in seconds, and a main package that sets it from a file.
const (
	reading = "	sec, nsec, mono := runtimeNow()\n"
	moving  = reading + "	sec += WallStep.Load()\n"

	stepVariable = `package time

import "sync/atomic"

var WallStep atomic.Int64
`
	stepReader = `package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	go func() {
		for ; ; time.Sleep(5 * time.Millisecond) {
			text, _ := os.ReadFile(os.Getenv("WALL_CLOCK_FILE"))
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				time.WallStep.Store(n)
			}
		}
	}()
}
`
)

// buildWithClock builds the program so that the time of day it reads can be
// moved by the content of a file. The first time this takes as long as building
// the standard library.
func buildWithClock(t *testing.T) (program, clock string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(lib, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), reading); n != 1 {
		t.Fatalf("package time of this Go reads the clock in %d places as this test knows it, want 1", n)
	}
	product, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	for path, text := range map[string]string{
		filepath.Join(lib, "time.go"):         strings.Replace(string(text), reading, moving, 1),
		filepath.Join(lib, "wallstep.go"):     stepVariable,
		filepath.Join(product, "wallstep.go"): stepReader,
	} {
		replace[path] = filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "redlock-proxy")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	build.Dir = product
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program, filepath.Join(dir, "clock")
}
