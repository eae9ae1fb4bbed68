//go:build linux

package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"redlock-proxy/integration/internal/harness"
	"redlock-proxy/integration/torture/stage"
)

// masterFaults happen to one master.
func (d *Director) masterFaults() []fault {
	durable := func(on *target) bool { return on.master.Durable }
	volatile := func(on *target) bool { return !on.master.Durable }
	faults := []fault{
		{name: "master stopped", run: stopped},
		{name: "killed, restarted empty", lossy: true, run: server(restartedEmpty)},
		{name: "emptied (FLUSHALL)", lossy: true, run: server(emptied("FLUSHALL"))},
		{name: "emptied (FLUSHDB)", lossy: true, run: server(emptied("FLUSHDB"))},
		{name: "out of memory", run: server(outOfMemory)},
		{name: "cannot save (MISCONF)", run: server(cannotSave)},
		{name: "no replicas (NOREPLICAS)", run: server(noReplicas)},
	}
	if d.cfg.AnyLoss {
		return faults
	}
	return append(faults,
		fault{name: "killed, restarted with its data", fits: durable, run: server(func(t *turn, s *stage.Server) error { return s.Restart() })},
		fault{name: "killed, restarted from a snapshot", lossy: true, fits: volatile, run: server(restartedFromSnapshot)},
		fault{name: "clock stepped", lossy: true, run: server(clockStepped)},
		fault{name: "clock stepped a little", run: server(clockSteppedALittle)},
		fault{name: "clock beyond drift", lossy: true, run: server(clockBeyondDrift)},
		fault{name: "replica of an empty server, promoted", lossy: true, run: replicaOfEmpty},
		fault{name: "replica of its own past, promoted", lossy: true, run: replicaOfPast},
		fault{name: "a lagging replica takes its address", lossy: true, run: takenOver},
		fault{name: "its name moves to an empty server", lossy: true, run: moved},
		fault{name: "its name moves, the old server lives on", lossy: true, run: movedForSome},
	)
}

func server(run func(*turn, *stage.Server) error) func(*turn, *target) error {
	return func(t *turn, on *target) error { return run(t, on.master.Server()) }
}

// expect sends a command to a server itself.
func expect(s *stage.Server, want string, args ...string) error {
	reply, err := harness.Do(s.Addr(), args...)
	if err == nil && !strings.HasPrefix(reply, want) {
		err = fmt.Errorf("%s: got %s, want %s", strings.Join(args, " "), reply, want)
	}
	return err
}

func stopped(t *turn, on *target) error {
	s := on.master.Server()
	for range 1 + t.rand.IntN(4) {
		s.Freeze()
		t.pause(30*time.Millisecond, 1500*time.Millisecond)
		s.Thaw()
		t.pause(10*time.Millisecond, 100*time.Millisecond)
	}
	return nil
}

func emptied(command string) func(*turn, *stage.Server) error {
	return func(t *turn, s *stage.Server) error {
		return errors.Join(t.weaken(), expect(s, "+OK", command))
	}
}

// restartedEmpty is faster than any health check.
func restartedEmpty(t *turn, s *stage.Server) error {
	if err := t.weaken(); err != nil {
		return err
	}
	s.Kill()
	if t.rand.IntN(3) == 0 {
		t.pause(0, time.Second)
	}
	return errors.Join(s.Wipe(), s.Start())
}

func restartedFromSnapshot(t *turn, s *stage.Server) error {
	if err := expect(s, "+OK", "SAVE"); err != nil {
		return err
	}
	t.pause(10*time.Millisecond, 200*time.Millisecond)
	return errors.Join(t.weaken(), s.Restart())
}

// refuses changes settings of a server so that it refuses to write, for a
// while, and verifies that it does.
func refuses(t *turn, s *stage.Server, code string, on, off [2]string) error {
	if err := expect(s, "+OK", "CONFIG", "SET", on[0], on[1]); err != nil {
		return err
	}
	err := harness.Eventually(5*time.Second, func() error { return expect(s, "-"+code, "SET", "probe", "", "PX", "1") })
	t.pause(100*time.Millisecond, time.Second)
	return errors.Join(err, expect(s, "+OK", "CONFIG", "SET", off[0], off[1]))
}

// outOfMemory refuses SET, while PEXPIRE and DEL work.
func outOfMemory(t *turn, s *stage.Server) error {
	return refuses(t, s, "OOM", [2]string{"maxmemory", "1"}, [2]string{"maxmemory", "0"})
}

func cannotSave(t *turn, s *stage.Server) error {
	if err := s.BlockSaving(); err != nil {
		return err
	}
	if err := expect(s, "+Background saving started", "BGSAVE"); err != nil {
		return err
	}
	err := refuses(t, s, "MISCONF", [2]string{"save", "3600 1000000"}, [2]string{"save", ""})
	return errors.Join(err, s.UnblockSaving())
}

func noReplicas(t *turn, s *stage.Server) error {
	return refuses(t, s, "NOREPLICAS", [2]string{"min-replicas-to-write", "1"}, [2]string{"min-replicas-to-write", "0"})
}

// steps are by how much clocks are set. Keys expire later by what a clock is set
// back, so that is not more than half a minute.
var steps = []time.Duration{
	-30 * time.Second, -5 * time.Second, -time.Second, -100 * time.Millisecond,
	30 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second, time.Minute, time.Hour,
}

// clockStepped stays as it is: a clock that is set back at once before anybody
// has looked at it cannot be noticed.
func clockStepped(t *turn, s *stage.Server) error {
	if err := t.weaken(); err != nil {
		return err
	}
	s.Clock.Step(steps[t.rand.IntN(len(steps))])
	t.pause(time.Second, 2*time.Second)
	return nil
}

// clockSteppedALittle is within the tolerance.
func clockSteppedALittle(t *turn, s *stage.Server) error {
	for range 5 {
		s.Clock.Step(time.Duration(t.rand.IntN(1200)-600) * time.Microsecond)
		t.pause(50*time.Millisecond, 300*time.Millisecond)
	}
	return nil
}

func clockBeyondDrift(t *turn, s *stage.Server) error {
	rates := []int64{-100_000, -20_000, 20_000, 100_000, 1_000_000}
	if err := t.weaken(); err != nil {
		return err
	}
	s.Clock.Rate(rates[t.rand.IntN(len(rates))])
	t.pause(time.Second, 3*time.Second)
	s.Clock.Rate(0)
	return nil
}

// follow makes a server a replica of another and waits until it has its data.
func follow(s, of *stage.Server) error {
	return errors.Join(expect(s, "+OK", "REPLICAOF", "127.0.0.1", strconv.Itoa(of.Port)), awaitLink(s))
}

func awaitLink(s *stage.Server) error {
	return harness.Eventually(20*time.Second, func() error {
		info, err := harness.Do(s.Addr(), "INFO", "replication")
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = errors.New("the replica has no link to its master")
		}
		return err
	})
}

func promote(s *stage.Server) error { return expect(s, "+OK", "REPLICAOF", "NO", "ONE") }

// replicaOfEmpty: by mistake, on live connections.
func replicaOfEmpty(t *turn, on *target) error {
	spare, err := t.stage.Spare(false)
	if err != nil {
		return err
	}
	defer spare.End()
	s := on.master.Server()
	return errors.Join(t.weaken(), follow(s, spare), promote(s))
}

// likeSentinel changes the role of a server and ends all connections, in one
// transaction. (On connections that stay open, a change of role forth and back
// is noticed by what is written meanwhile, by the record, or within a second; a
// copy that has the record is not noticed at once if nothing is written.)
func likeSentinel(s *stage.Server, replicaOf ...string) error {
	c, err := harness.Dial(s.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	c.Queue("MULTI")
	c.Queue(append([]string{"REPLICAOF"}, replicaOf...)...)
	c.Queue("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	c.Queue("EXEC")
	if err := c.Flush(); err != nil {
		return err
	}
	last := ""
	for range 4 {
		if last, err = c.Read(); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(last, "[+OK :") {
		return fmt.Errorf("REPLICAOF and CLIENT KILL answered %s", last)
	}
	return nil
}

// replicaOfPast: a copy that has the record, but is old.
func replicaOfPast(t *turn, on *target) error {
	spare, err := t.stage.Spare(false)
	if err != nil {
		return err
	}
	defer spare.End()
	s := on.master.Server()
	if err := errors.Join(follow(spare, s), promote(spare)); err != nil {
		return err
	}
	return errors.Join(t.weaken(), likeSentinel(s, "127.0.0.1", strconv.Itoa(spare.Port)), awaitLink(s), likeSentinel(s, "NO", "ONE"))
}

// takenOver: the master dies, and a replica that has not everything takes its
// place.
func takenOver(t *turn, on *target) error {
	spare, err := t.stage.Spare(on.master.Durable)
	if err != nil {
		return err
	}
	if err := errors.Join(follow(spare, on.master.Server()), promote(spare)); err != nil {
		return err
	}
	if err := t.weaken(); err != nil {
		return err
	}
	on.master.Replace(spare).End()
	return nil
}

// moved: the old server is shut down when its name has moved.
func moved(t *turn, on *target) error {
	spare, err := t.stage.Spare(on.master.Durable)
	if err != nil {
		return err
	}
	if err := t.weaken(); err != nil {
		return err
	}
	on.master.Replace(spare).End()
	return nil
}

// movedForSome: only one proxy has noticed that the name has moved, the others
// still use the old server; and they miss another master.
func movedForSome(t *turn, on *target) error {
	spare, err := t.stage.Spare(on.master.Durable)
	if err != nil {
		return err
	}
	if err := t.weaken(); err != nil {
		return err
	}
	old := on.master.Replace(spare)
	missed := t.stage.Masters[(on.master.Place+1+t.rand.IntN(len(t.stage.Masters)-1))%len(t.stage.Masters)]
	first := t.rand.IntN(len(t.stage.Proxies))
	for i, p := range t.stage.Proxies {
		if i != first {
			p.Networks[missed.Place].LoseRequests(true)
		}
	}
	t.stage.Proxies[first].Networks[on.master.Place].Cut()
	t.pause(500*time.Millisecond, 1500*time.Millisecond)
	for i, p := range t.stage.Proxies {
		if i != first {
			p.Networks[missed.Place].LoseRequests(false)
		}
	}
	old.End()
	return nil
}
