package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"redlock-proxy/integration/internal/harness"
)

// pipeline is n commands on lock keys whose replies depend on each other's
// effects, but not on time. With seed and n it is always the same.
func pipeline(seed uint64, n, keys int) [][]string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	list := make([][]string, n)
	for i := range list {
		key := fmt.Sprintf("k%d", rnd.IntN(keys))
		token := fmt.Sprintf("t%d", rnd.IntN(3))
		list[i] = pipelineCommand(rnd.IntN(16), i, key, token)
	}
	return list
}

func pipelineCommand(kind, i int, key, token string) []string {
	switch kind {
	case 0, 1, 2, 3:
		return acquire(key, token, lockTTL)
	case 4, 5, 6:
		return release(key, token)
	case 7:
		return extend(key, token, lockTTL)
	case 8, 9:
		return []string{"GET", key}
	case 10:
		return []string{"DEL", key}
	case 11:
		return []string{"EXISTS", key}
	case 12:
		return []string{"SET", key, token, "PX", lockTTL}
	case 13:
		return []string{"SET", key, token, "XX", "EX", "60"}
	case 14:
		return []string{"ECHO", fmt.Sprint(i)}
	}
	return []string{"PEXPIRE", key, lockTTL}
}

// runPipeline sends all commands at once and returns the replies.
func runPipeline(t *testing.T, addr string, commands [][]string) []string {
	t.Helper()
	c := dial(t, addr)
	for _, args := range commands {
		c.Queue(args...)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush() }()
	replies := make([]string, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = c.Read(); err != nil {
			t.Fatalf("reply %d of %d: %v", i, len(replies), err)
		}
	}
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	return replies
}

// TestPipelineOrder: replies and effects of a thousand commands on one
// connection come in order, as on one Redis.
func TestPipelineOrder(t *testing.T) {
	for _, keys := range []int{1, 3, 100} {
		t.Run(fmt.Sprintf("%d keys", keys), func(t *testing.T) {
			plain := startRedis(t)
			m := startMasters(t, 3)
			p := startProxy(t, m)
			for seed := range uint64(3) {
				commands := pipeline(seed, 1000, keys)
				want := runPipeline(t, plain.Addr(), commands)
				got := runPipeline(t, p.Addr, commands)
				compareReplies(t, commands, got, want)
				compareState(t, plain, m, keys)
			}
		})
	}
}

func compareReplies(t *testing.T, commands [][]string, got, want []string) {
	t.Helper()
	wrong := 0
	for i := range want {
		if got[i] == want[i] {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("command %d, %.80q: got %s, want %s", i, commands[i], got[i], want[i])
		}
	}
	if wrong > 5 {
		t.Errorf("%d of %d replies are wrong", wrong, len(want))
	}
}

// compareState waits until every master holds what the plain server holds: all
// answer, so the stragglers must get everything too.
func compareState(t *testing.T, plain *harness.Redis, m masters, keys int) {
	t.Helper()
	for k := range keys {
		key := fmt.Sprintf("k%d", k)
		want := do(t, plain.Addr(), "GET", key)
		for _, r := range m {
			eventually(t, soon, func() error {
				if got := do(t, r.Addr(), "GET", key); got != want {
					return fmt.Errorf("master %s holds %s at %s, want %s", r.Addr(), got, key, want)
				}
				return nil
			})
		}
	}
}

// TestPipelineOrderWithAStoppedMaster: the same with one master that stalls in
// the middle and goes on.
func TestPipelineOrderWithAStoppedMaster(t *testing.T) {
	plain := startRedis(t)
	m := startMasters(t, 3)
	p := startProxy(t, m)
	for seed := range uint64(5) {
		commands := pipeline(seed, 1000, 10)
		want := runPipeline(t, plain.Addr(), commands)
		m[seed%3].Freeze()
		got := runPipeline(t, p.Addr, commands)
		m[seed%3].Thaw()
		compareReplies(t, commands, got, want)
		compareState(t, plain, m, 10)
	}
}
