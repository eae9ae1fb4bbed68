package integration

//lint:file-ignore SA1019 Valid, which asks the server where Until does not, is what its users call

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// redsyncPools opens a redsync pool on one server with each driver. One pool is
// a quorum of one: redsync then behaves as a single-instance lock client.
var redsyncPools = map[string]func(t *testing.T, addr string) redis.Pool{
	"go-redis": func(t *testing.T, addr string) redis.Pool {
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		t.Cleanup(func() { client.Close() })
		return redsyncgoredis.NewPool(client)
	},
	"redigo": func(t *testing.T, addr string) redis.Pool {
		pool := redigoPool(addr)
		t.Cleanup(func() { pool.Close() })
		return redsyncredigo.NewPool(pool)
	},
	"rueidis": func(t *testing.T, addr string) redis.Pool {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client))
	},
}

// transcript is what a caller of a lock library saw, a line per call.
type transcript []string

// add writes down one call. Libraries tell a caller by a flag and an error.
func (tr *transcript) add(call string, ok bool, err error) {
	line := call + ": no"
	if ok {
		line = call + ": yes"
	}
	if err != nil {
		line += ", " + err.Error()
	}
	*tr = append(*tr, line)
}

func (tr transcript) check(t *testing.T, want []string) {
	t.Helper()
	if slices.Equal(tr, want) {
		return
	}
	for i := range max(len(tr), len(want)) {
		got, wanted := "(nothing)", "(nothing)"
		if i < len(tr) {
			got = tr[i]
		}
		if i < len(want) {
			wanted = want[i]
		}
		if got != wanted {
			t.Errorf("call %d: got %q, want %q", i, got, wanted)
		}
	}
}

func TestRedsync(t *testing.T) {
	for name, open := range redsyncPools {
		t.Run(name, func(t *testing.T) {
			forEachTarget(t, func(t *testing.T, addr string) {
				rs := redsync.New(open(t, addr))
				redsyncLock(rs).check(t, []string{
					"a locks: yes",
					"b locks: no, lock already taken, locked nodes: [0]",
					"a is valid: yes",
					"b extends: no, lock already taken, locked nodes: [0]",
					"b unlocks: no, lock already taken, locked nodes: [0]",
					"a extends: yes",
					"a unlocks: yes",
					"a unlocks again: no, redsync: failed to unlock, lock was already expired",
					"a extends again: no, lock already taken, locked nodes: [0]",
					"b locks: yes",
					"b unlocks: yes",
					"c extends what is free: yes",
					"c unlocks: yes",
				})
				redsyncLapse(t, rs).check(t, []string{
					"d locks: yes",
					"d is valid: no, lock already taken, locked nodes: [0]",
					"d unlocks: no, redsync: failed to unlock, lock was already expired",
					"d locks: yes",
					"e locks after d: yes",
					"d extends: no, lock already taken, locked nodes: [0]",
					"d unlocks: no, lock already taken, locked nodes: [0]",
					"e unlocks: yes",
				})
			})
		})
	}
}

func redsyncLock(rs *redsync.Redsync) (tr transcript) {
	once := redsync.WithTries(1)
	a := rs.NewMutex("lock", once, redsync.WithValue("a"))
	b := rs.NewMutex("lock", once, redsync.WithValue("b"))
	lock := func(call string, m *redsync.Mutex) { err := m.Lock(); tr.add(call, err == nil, err) }
	call := func(call string, f func() (bool, error)) {
		ok, err := f()
		tr.add(call, ok, err)
	}
	lock("a locks", a)
	lock("b locks", b)
	call("a is valid", a.Valid)
	call("b extends", b.Extend)
	call("b unlocks", b.Unlock)
	call("a extends", a.Extend)
	call("a unlocks", a.Unlock)
	call("a unlocks again", a.Unlock)
	call("a extends again", a.Extend)
	lock("b locks", b)
	call("b unlocks", b.Unlock)
	c := rs.NewMutex("lock", once, redsync.WithValue("c"), redsync.WithSetNXOnExtend())
	call("c extends what is free", c.Extend)
	call("c unlocks", c.Unlock)
	return tr
}

// redsyncLapse lets locks run out, once unnoticed by anybody and once with
// another caller taking over.
func redsyncLapse(t *testing.T, rs *redsync.Redsync) (tr transcript) {
	t.Helper()
	// redsync gives an attempt a share of the expiry, here all of it.
	brief := []redsync.Option{redsync.WithExpiry(150 * time.Millisecond), redsync.WithTimeoutFactor(1), redsync.WithTries(1)}
	d := rs.NewMutex("brief", append(brief, redsync.WithValue("d"))...)
	e := rs.NewMutex("brief", redsync.WithTries(1), redsync.WithValue("e"))
	lapsed := func() error {
		if valid, _ := d.Valid(); valid {
			return errors.New("d's lock has not lapsed")
		}
		return nil
	}
	err := d.Lock()
	tr.add("d locks", err == nil, err)
	eventually(t, soon, lapsed)
	valid, err := d.Valid()
	tr.add("d is valid", valid, err)
	ok, err := d.Unlock()
	tr.add("d unlocks", ok, err)
	err = d.Lock()
	tr.add("d locks", err == nil, err)
	eventually(t, soon, func() error { return e.Lock() })
	tr.add("e locks after d", true, nil)
	ok, err = d.Extend()
	tr.add("d extends", ok, err)
	ok, err = d.Unlock()
	tr.add("d unlocks", ok, err)
	ok, err = e.Unlock()
	tr.add("e unlocks", ok, err)
	return tr
}
