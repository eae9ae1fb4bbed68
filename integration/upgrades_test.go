package integration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// The tests in this file are the README's section "Restarts and upgrades".

// persistent makes a master lose nothing by a restart.
var persistent = []string{"--appendonly", "yes", "--appendfsync", "always"}

// series is one series of a proxy's /metrics, 0 if it is not there.
func series(t *testing.T, p *harness.Proxy, name string) float64 {
	t.Helper()
	_, page, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^redlock_proxy_` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// keeper holds some locks with a short TTL and extends them all the time, so
// that each is lost if it cannot be extended for two seconds.
type keeper struct {
	load
	token string
	names []string
}

const keptTTL = "2000"

// keep takes n locks. do sends a command for the keeper, and may reconnect.
func keep(t *testing.T, n int, do func(args ...string) (string, error)) *keeper {
	t.Helper()
	k := &keeper{load: load{stop: make(chan struct{}), stalled: watchStalls(t)}, token: "keeper"}
	for i := range n {
		name := fmt.Sprint("kept:", i)
		k.names = append(k.names, name)
		if got, err := do(acquire(name, k.token, keptTTL)...); err != nil || got != "+OK" {
			t.Fatalf("acquire %s: %s, error %v", name, got, err)
		}
	}
	k.callers.Go(func() { k.run(do) })
	return k
}

func (k *keeper) run(do func(args ...string) (string, error)) {
	for {
		for _, name := range k.names {
			if got, err := do(extend(name, k.token, keptTTL)...); err != nil || got != ":1" {
				k.fault("extend %s: %s, error %v", name, got, err)
			}
		}
		select {
		case <-k.stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// finish checks that every lock is still held, and releases it.
func (k *keeper) finish(t *testing.T, c *harness.Conn) {
	t.Helper()
	close(k.stop)
	k.callers.Wait()
	k.report(t, k.stalled())
	for _, name := range k.names {
		expect(t, c, "$-1", acquire(name, "rival", lockTTL)...)
		expect(t, c, ":1", release(name, k.token)...)
	}
}

// TestARollingRestartOfTheMastersUnderLoad: each is stopped and started again,
// when the one before votes again. Nobody is answered an error, and every lock is
// held until the end: those that are extended, and one that is not.
func TestARollingRestartOfTheMastersUnderLoad(t *testing.T) {
	for _, test := range []struct {
		name    string
		masters int
		args    []string
		way     string
	}{
		{"three that come back empty", 3, nil, "resynchronised"},
		{"five that come back empty", 5, nil, "resynchronised"},
		{"three that persist every write", 3, persistent, "persisted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMasters(t, test.masters, test.args...)
			p := startProxy(t, m)
			c := dial(t, p.Addr)
			expect(t, c, "+OK", acquire("untouched", "mine", lockTTL)...)
			kept := keep(t, 20, dial(t, p.Addr).Do)
			load := startLoad(t, p.Addr, 4, nothingElse)
			var rivals *rivalry
			if test.way == "resynchronised" {
				rivals = startRivalry(t, &addressBook{addrs: []string{p.Addr}})
			}
			for i, r := range m {
				r.Signal(syscall.SIGTERM)
				if _, err := r.Wait(soon); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // it is being upgraded
				if err := r.Start(); err != nil {
					t.Fatal(err)
				}
				way := fmt.Sprintf("restorations_total{way=%q}", test.way)
				eventually(t, soon, func() error {
					if n := series(t, p, way); n != float64(i+1) {
						return fmt.Errorf("%s is %v after %d restarts", way, n, i+1)
					}
					return nil
				})
				waitStanding(t, p.Addr, r, "votes")
				expect(t, c, "$-1", acquire("untouched", "rival", lockTTL)...)
			}
			load.finish(t)
			if rivals != nil {
				rivals.finish(t)
			}
			kept.finish(t, c)
			expect(t, c, ":1", release("untouched", "mine")...)
			eventually(t, soon, func() error { // nothing that was released came back
				if held := on(t, c, "KEYS", "*"); held != "[]" {
					return fmt.Errorf("a majority holds %s", held)
				}
				return nil
			})
			if test.way == "resynchronised" {
				m.waitCounted(t, p)
			}
		})
	}
}

// TestHowLongThereIsNoQuorumIsSaid: two of three masters come back empty at
// once, so that nobody knows what they held. The error, REDLOCK STATUS, INFO, the
// log and /metrics say until when that lasts, and it lasts no longer.
func TestHowLongThereIsNoQuorumIsSaid(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	const ttl = 4 * time.Second
	taken := time.Now()
	expect(t, c, "+OK", acquire("held", "mine", strconv.FormatInt(ttl.Milliseconds(), 10))...)
	restartAll(t, m[:2])
	until := awaitUntil(t, c)
	if min, max := taken.Add(ttl), taken.Add(ttl+ttl/4+2*time.Second); until.Before(min) || until.After(max) {
		t.Errorf("until %v, want it between %v and %v", until, min, max)
	}
	said := "live until " + until.Format("2006-01-02T15:04:05Z")
	for where, text := range map[string]string{
		"REDLOCK STATUS": do(t, p.Addr, "REDLOCK", "STATUS"),
		"INFO":           do(t, p.Addr, "INFO", "redlock"),
		"the log":        p.Log(),
		"a release":      on(t, c, release("held", "mine")...),
		"an extend":      on(t, c, extend("held", "mine", lockTTL)...),
	} {
		if n := strings.Count(text, said); n < 2 {
			t.Errorf("%s: %q is there %d times, want it for two masters:\n%s", where, said, n, text)
		}
	}
	for _, r := range m[:2] {
		label := fmt.Sprintf("{master=%q}", r.Addr())
		if got := series(t, p, "master_restoring"+label); got != 1 {
			t.Errorf("master_restoring%s is %v, want 1", label, got)
		}
		at := time.UnixMilli(int64(1000 * series(t, p, "master_votes_again_timestamp_seconds"+label)))
		if d := until.Sub(at); d < -time.Second || d > 2*time.Second {
			t.Errorf("master_votes_again_timestamp_seconds%s is %v, the error says %v", label, at, until)
		}
	}
	awaitAcquire(t, c, "held", "rival", time.Until(until)+soon)
	if early := time.Until(taken.Add(ttl)); early > 0 {
		t.Errorf("a rival got the lock %v before its end", early)
	}
	if n := series(t, p, `restorations_total{way="outwaited"}`); n < 1 {
		t.Errorf("%v masters were waited for, want at least 1", n) // the other may get its locks from it
	}
}

// restartAll kills all of the masters, then starts them.
func restartAll(t *testing.T, m masters) {
	t.Helper()
	for _, r := range m {
		r.Kill()
	}
	for _, r := range m {
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitUntil waits until an acquire says how long there will be no quorum.
func awaitUntil(t *testing.T, c *harness.Conn) (until time.Time) {
	t.Helper()
	eventually(t, 2*soon, func() error {
		got := on(t, c, acquire("free", "mine", lockTTL)...)
		if !orNoQuorum(got) {
			t.Fatalf("acquire: %s", got)
		}
		m := regexp.MustCompile(`live until (\S+Z) at the latest.*live until (\S+Z) at the latest`).FindStringSubmatch(got)
		if m == nil || m[1] != m[2] {
			return fmt.Errorf("acquire: %s", got)
		}
		at, err := time.Parse(time.RFC3339, m[1])
		until = at
		return err
	})
	return until
}

// awaitAcquire waits until a lock can be had; anything but errors or nil before
// that is wrong.
func awaitAcquire(t *testing.T, c *harness.Conn, key, token string, timeout time.Duration) {
	t.Helper()
	eventually(t, timeout, func() error {
		got := on(t, c, acquire(key, token, lockTTL)...)
		if got == "+OK" {
			return nil
		}
		if !orNoQuorum(got) && got != "$-1" {
			t.Fatalf("acquire: %s", got)
		}
		return fmt.Errorf("acquire: %s", got)
	})
}

// addressBook is where clients find a proxy: what a load balancer knows.
type addressBook struct {
	mu    sync.Mutex
	addrs []string
}

func (b *addressBook) set(i int, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs[i] = addr
}

// roamer is a client that reconnects, to the next proxy, when it has lost its
// connection.
type roamer struct {
	book *addressBook
	next int
	conn *harness.Conn
}

// dial connects to some proxy that serves.
func (r *roamer) dial() error {
	return harness.Eventually(soon, func() (err error) {
		r.book.mu.Lock()
		addr := r.book.addrs[r.next%len(r.book.addrs)]
		r.book.mu.Unlock()
		r.next++
		r.conn, err = harness.Dial(addr)
		return err
	})
}

// once sends a command; lost says that the reply was.
func (r *roamer) once(args ...string) (reply string, lost bool, err error) {
	if r.conn == nil {
		if err := r.dial(); err != nil {
			return "", true, err
		}
	}
	reply, err = r.conn.Do(args...)
	if err != nil {
		r.conn.Close()
		r.conn = nil
		return "", true, nil
	}
	return reply, false, nil
}

// do sends a command until it is answered.
func (r *roamer) do(args ...string) (string, error) {
	for {
		if reply, lost, err := r.once(args...); !lost || err != nil {
			return reply, err
		}
	}
}

// rivalry is some clients that want the same few locks, through any proxy.
type rivalry struct {
	load
	book    *addressBook
	holders [4]sync.Mutex // locked by the holder of each lock
	counts  sync.Mutex
	granted int
	lost    int // replies
}

func startRivalry(t *testing.T, book *addressBook) *rivalry {
	t.Helper()
	c := &rivalry{load: load{stop: make(chan struct{}), stalled: watchStalls(t)}, book: book}
	for id := range 8 {
		c.callers.Go(func() { c.client(id) })
	}
	return c
}

func (c *rivalry) finish(t *testing.T) {
	t.Helper()
	close(c.stop)
	c.callers.Wait()
	c.report(t, c.stalled())
	t.Logf("%d locks were granted, %d replies to acquires were lost", c.granted, c.lost)
}

func (c *rivalry) name(i int) string { return fmt.Sprint("wanted:", i) }

func (c *rivalry) client(id int) {
	r := &roamer{book: c.book, next: id}
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		default:
		}
		if err := c.turn(r, (id+n)%len(c.holders), fmt.Sprintf("client %d, turn %d", id, n)); err != nil {
			c.fault("client %d: %v", id, err)
			return
		}
	}
}

// turn asks for a lock once. If the reply is lost the client does nothing about
// it: the proxy has to release what it may have granted.
func (c *rivalry) turn(r *roamer, i int, token string) error {
	reply, lost, err := r.once(acquire(c.name(i), token, lockTTL)...)
	c.counts.Lock()
	if lost {
		c.lost++
	} else if reply == "+OK" {
		c.granted++
	}
	c.counts.Unlock()
	switch {
	case err != nil:
		return err
	case lost:
		return nil
	case reply == "$-1":
		time.Sleep(2 * time.Millisecond)
		return nil
	case reply != "+OK":
		return fmt.Errorf("acquire: %s", reply)
	}
	if !c.holders[i].TryLock() {
		c.fault("%s has two holders", c.name(i))
	} else {
		time.Sleep(time.Millisecond)
		c.holders[i].Unlock()
	}
	for tries := 0; ; tries++ {
		reply, lost, err := r.once(release(c.name(i), token)...)
		switch {
		case err != nil:
			return err
		case lost:
		case reply == ":1", reply == ":0" && tries > 0: // the lost one has worked
			return nil
		default:
			return fmt.Errorf("release: %s, tried %d times before", reply, tries)
		}
	}
}

// TestARollingRestartOfTheProxies: of two proxies one after the other is
// stopped and replaced. Locks that are held stay held, none is granted twice, and
// no operation that was cut off leaves a lock behind.
func TestARollingRestartOfTheProxies(t *testing.T) {
	m := startMasters(t, 3)
	book := &addressBook{}
	proxies := []*harness.Proxy{startProxy(t, m), startProxy(t, m)}
	for _, p := range proxies {
		book.addrs = append(book.addrs, p.Addr)
	}
	watcher := &roamer{book: book}
	kept := keep(t, 20, watcher.do)
	rivals := startRivalry(t, book)
	for range 2 {
		for i, p := range proxies {
			time.Sleep(200 * time.Millisecond)
			p.Signal(syscall.SIGTERM)
			if code, err := p.Wait(soon); err != nil || code != 0 {
				t.Errorf("exit code %d, error %v, want 0", code, err)
			}
			proxies[i] = startProxy(t, m)
			book.set(i, proxies[i].Addr)
		}
	}
	time.Sleep(200 * time.Millisecond)
	rivals.finish(t)
	kept.finish(t, dial(t, proxies[0].Addr))
	m.waitEmpty(t, soon)
}

// powerLoss ends all masters and proxies at once, and starts them again.
func powerLoss(t *testing.T, m masters, proxies ...*harness.Proxy) (again []*harness.Proxy) {
	t.Helper()
	for _, p := range proxies {
		p.Signal(syscall.SIGKILL)
	}
	for _, r := range m {
		r.Signal(syscall.SIGKILL)
	}
	for _, p := range proxies {
		p.Kill()
	}
	restartAll(t, m)
	for range proxies {
		again = append(again, startProxy(t, m))
	}
	return again
}

// TestTotalPowerLossWithMastersThatPersist loses no lock and needs nobody.
func TestTotalPowerLossWithMastersThatPersist(t *testing.T) {
	m := startMasters(t, 3, persistent...)
	a, b := startProxy(t, m), startProxy(t, m)
	c := dial(t, a.Addr)
	const n = 50
	for i := range n {
		expect(t, c, "+OK", acquire(lockName(i), lockToken(i), lockTTL)...)
	}
	start := time.Now()
	again := powerLoss(t, m, a, b)
	t.Logf("ready after %v", time.Since(start))
	for _, p := range again {
		c := dial(t, p.Addr)
		for i := range n {
			expect(t, c, "$-1", acquire(lockName(i), "rival", lockTTL)...)
			expect(t, c, ":1", extend(lockName(i), lockToken(i), lockTTL)...)
		}
	}
	c = dial(t, again[0].Addr)
	for i := range n {
		expect(t, c, ":1", release(lockName(i), lockToken(i))...)
	}
	m.waitEmpty(t, soon)
}

// TestTotalPowerLossWithoutPersistence looks like a first start: locks are
// granted at once, whoever held them before. The README says so.
func TestTotalPowerLossWithoutPersistence(t *testing.T) {
	m := startMasters(t, 3)
	a, b := startProxy(t, m), startProxy(t, m)
	expect(t, dial(t, a.Addr), "+OK", acquire("held", "mine", lockTTL)...)
	again := powerLoss(t, m, a, b)
	if log := again[0].Log() + again[1].Log(); !strings.Contains(log, "first start: all 3 masters are empty") {
		t.Errorf("no log speaks of a first start:\n%s", log)
	}
	expect(t, dial(t, again[1].Addr), "+OK", acquire("held", "rival", lockTTL)...)
}

// TestAllMastersComeBackEmptyWhileProxiesLive: these know how long a lock may
// live, also those that have only seen it on the masters, or have restarted
// since. Nothing is granted until then.
func TestAllMastersComeBackEmptyWhileProxiesLive(t *testing.T) {
	m := startMasters(t, 3)
	a, b := startProxy(t, m), startProxy(t, m)
	expect(t, dial(t, b.Addr), "+OK", acquire("short", "mine", "500")...)
	const ttl = 5 * time.Second
	taken := time.Now()
	expect(t, dial(t, a.Addr), "+OK", acquire("held", "mine", strconv.FormatInt(ttl.Milliseconds(), 10))...)
	restartAll(t, m) // b has not heard of the longer lock
	eventually(t, soon, func() error {
		if got := standing(t, a.Addr, m[0]); !strings.Contains(got, "live until") {
			return fmt.Errorf("master 1: %s", got)
		}
		return nil
	})
	late := startUnreadyProxy(t, m.addrs()) // knows nothing, and must not take this for a first start
	var rivals sync.WaitGroup
	for _, p := range []*harness.Proxy{a, b, late} {
		c := dial(t, p.Addr)
		rivals.Go(func() {
			for {
				got, err := c.Do(acquire("held", "rival", lockTTL)...)
				if err != nil || got == "+OK" || got == "$-1" {
					if early := time.Until(taken.Add(ttl)); early > 0 {
						t.Errorf("proxy %s answered %s, error %v, %v before the end of the lock", p.Addr, got, err, early)
					}
					return
				}
				if time.Since(taken) > 3*ttl {
					t.Errorf("proxy %s still answers %s", p.Addr, got)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	rivals.Wait()
}

// TestAllProxiesRestartWhileMastersLive: the new ones vote at once, with all
// locks as they were.
func TestAllProxiesRestartWhileMastersLive(t *testing.T) {
	m := startMasters(t, 3)
	a, b := startProxy(t, m), startProxy(t, m)
	expect(t, dial(t, a.Addr), "+OK", acquire("held", "mine", lockTTL)...)
	a.Kill()
	b.Kill()
	p := startUnreadyProxy(t, m.addrs()) // the first operation waits for the masters
	c := dial(t, p.Addr)
	expect(t, c, "$-1", acquire("held", "rival", lockTTL)...)
	expect(t, c, ":1", extend("held", "mine", lockTTL)...)
	expect(t, c, ":1", release("held", "mine")...)
}

// TestAReleasedLockIsNotResurrectedByALateCopy: one master is so slow that it
// creates its copy of a lock after the lock was released. It is removed there,
// and meanwhile nobody finds the lock.
func TestAReleasedLockIsNotResurrectedByALateCopy(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	c := dial(t, p.Addr)
	relays[2].Delay(opTimeout + 50*time.Millisecond)
	for i := range 20 {
		key := fmt.Sprint("late:", i)
		expect(t, c, "+OK", acquire(key, "mine", lockTTL)...)
		expect(t, c, ":1", extend(key, "mine", lockTTL)...)
		expect(t, c, ":1", release(key, "mine")...)
	}
	seen := 0
	eventually(t, 2*soon, func() error {
		held := keysOf(t, m[2], 0)
		seen = max(seen, len(held))
		if seen == 0 || len(held) > 0 {
			return fmt.Errorf("master 3 holds %q, at most %d until now", held, seen)
		}
		return nil
	})
	for i := range 20 {
		key := fmt.Sprint("late:", i)
		expect(t, c, "$-1", "GET", key)
		expect(t, c, "+OK", acquire(key, "next", lockTTL)...)
		expect(t, c, ":1", release(key, "next")...)
	}
}
