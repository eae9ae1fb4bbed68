package integration

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/integration/internal/harness"
)

// stateOf is one of a master's gauges or counters in a proxy's metrics; 0 if
// there is no such series.
func stateOf(t *testing.T, p *harness.Proxy, series string) float64 {
	t.Helper()
	_, page, err := p.Get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// votesSeries is the metric that says whether a master votes.
func votesSeries(addr string) string {
	return fmt.Sprintf("redlock_proxy_master_votes{master=%q}", addr)
}

// waitVotes waits until the metrics say whether a master votes.
func waitVotes(t *testing.T, p *harness.Proxy, addr string, want float64, timeout time.Duration) {
	t.Helper()
	eventually(t, timeout, func() error {
		if got := stateOf(t, p, votesSeries(addr)); got != want {
			return fmt.Errorf("%s is %v, want %v", votesSeries(addr), got, want)
		}
		return nil
	})
}

// footprint is what a proxy takes.
type footprint struct {
	goroutines float64
	memory     int64
}

func footprintOf(t *testing.T, p *harness.Proxy) footprint {
	t.Helper()
	goroutines, err := p.Metric("go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return footprint{goroutines, peak}
}

// checkBounded wants little more than before, but for what conns more
// connections take: a few goroutines each, and buffers of 64 KB.
func (before footprint) checkBounded(t *testing.T, p *harness.Proxy, conns int) {
	t.Helper()
	after := footprintOf(t, p)
	if limit := before.goroutines + float64(4*conns+20); after.goroutines > limit {
		t.Errorf("%v goroutines, want at most %v", after.goroutines, limit)
	}
	if grown, limit := after.memory-before.memory, int64(maxGrowth+conns<<16); grown > limit {
		t.Errorf("the memory grew by %d MB, want at most %d", grown>>20, limit>>20)
	}
}

// phases are the latencies of a load while all is well and while something is
// wrong, measured in turns so that whatever else this machine does hits both.
type phases struct {
	load *load
	well harness.Latencies
	ill  harness.Latencies
}

// during lets the load work for some time and notes its latencies.
func (ph *phases) during(d time.Duration, in *harness.Latencies) {
	ph.load.mu.Lock()
	from := len(ph.load.latencies)
	ph.load.mu.Unlock()
	time.Sleep(d)
	ph.load.mu.Lock()
	*in = append(*in, ph.load.latencies[from:]...)
	ph.load.mu.Unlock()
}

// check compares the middle operations.
func (ph *phases) check(t *testing.T) {
	t.Helper()
	well, ill := ph.well.Quantile(0.5), ph.ill.Quantile(0.5)
	t.Logf("p50 with all masters %v (%d operations), without one %v (%d)", well, len(ph.well), ill, len(ph.ill))
	if len(ph.well) < 100 || len(ph.ill) < 100 {
		t.Errorf("%d and %d operations are too few to compare", len(ph.well), len(ph.ill))
	}
	if limit := well + well/2; ill > limit {
		t.Errorf("the middle operation took %v without one master, want at most 1.5 times the %v with all", ill, well)
	}
}

// TestAHungMasterCostsLittle: one of three masters is stopped, both for a
// moment that nobody can have noticed yet and until it is known to be down. The
// middle operation takes no longer than one and a half times what it takes with
// all three, none is later than the op-timeout (checked by finish), and nothing
// piles up. The master votes again by itself (pitfalls 3 and 36).
func TestAHungMasterCostsLittle(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	ph := phases{load: startLoad(t, p.Addr, 8, nothingElse)}
	time.Sleep(100 * time.Millisecond)
	before := footprintOf(t, p)
	for range 5 {
		ph.during(300*time.Millisecond, &ph.well)
		m[1].Freeze()
		ph.during(300*time.Millisecond, &ph.ill)
		m[1].Thaw()
		time.Sleep(50 * time.Millisecond) // it catches up
	}
	m[1].Freeze()
	waitVotes(t, p, m[1].Addr(), 0, 2*time.Second)
	ph.during(500*time.Millisecond, &ph.ill)
	before.checkBounded(t, p, 0)
	m[1].Thaw()
	waitVotes(t, p, m[1].Addr(), 1, soon)
	ph.during(500*time.Millisecond, &ph.well)
	ph.load.finish(t)
	ph.check(t)
}

// TestAMasterTwoSecondsLate: its network is that slow. Acquire, extend and
// release are answered by the other two (pitfall 3).
func TestAMasterTwoSecondsLate(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	ph := phases{load: startLoad(t, p.Addr, 4, nothingElse)}
	relays[2].Delay(time.Second)
	ph.during(1500*time.Millisecond, &ph.ill)
	relays[2].Delay(0)
	ph.load.finish(t)
	if p50 := ph.ill.Quantile(0.5); p50 > fast || len(ph.ill) < 100 {
		t.Errorf("the middle one of %d operations took %v, want at most %v", len(ph.ill), p50, fast)
	}
}

// TestALateMasterHoldsTheLockSoon: a lock that two masters granted at once is on
// the third, 100 ms away, well before 300 ms are over (pitfall 5).
func TestALateMasterHoldsTheLockSoon(t *testing.T) {
	m := startMasters(t, 3)
	relays, addrs := relayed(t, m)
	p := startProxyOn(t, addrs)
	relays[2].Delay(50 * time.Millisecond)
	c := dial(t, p.Addr)
	stalled := watchStalls(t)
	var grants, copies harness.Latencies
	for i := range 5 {
		key := fmt.Sprint("held:", i)
		start := time.Now()
		expect(t, c, "+OK", acquire(key, "mine", lockTTL)...)
		granted := time.Now()
		waitHeld(t, m, key, "mine")
		grants, copies = append(grants, granted.Sub(start)), append(copies, time.Since(granted))
	}
	if p50 := grants.Quantile(0.5); p50 > 50*time.Millisecond {
		t.Errorf("the middle grant took %v: the late master was waited for", p50)
	}
	if worst, limit := copies.Quantile(1), 300*time.Millisecond+2*stalled(); worst > limit {
		t.Errorf("all masters held a lock %v after it was granted, want at most %v", worst, limit)
	}
}

// TestThousandsInFlightWhenMastersHang: masters are stopped while acquires are
// on their way, of which up to 5,000 wait at a time. Each is answered within
// op-timeout + 20 ms, granted as long as a majority is there and with an error
// if not, and none costs a goroutine (pitfall 36).
func TestThousandsInFlightWhenMastersHang(t *testing.T) {
	const conns, each, timeout = 50, 100, time.Second
	for _, hung := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d of 3", hung), func(t *testing.T) {
			m := startMasters(t, 3)
			p := startProxy(t, m, "--op-timeout", timeout.String())
			before := footprintOf(t, p)
			stalled := watchStalls(t)
			answered := make(chan stream, conns)
			for i := range conns {
				c := dial(t, p.Addr)
				go func() { answered <- sendStream(c, each, fmt.Sprint("stream:", i)) }()
			}
			time.Sleep(50 * time.Millisecond) // they have begun
			for _, r := range m[:hung] {
				r.Freeze()
			}
			var all stream
			for range conns {
				all.add(<-answered)
			}
			before.checkBounded(t, p, conns)
			for _, r := range m[:hung] {
				r.Thaw()
			}
			t.Logf("%d granted, %d without a quorum, longest %v", all.granted, all.noQuorum, all.slowest)
			if all.err != nil || all.granted+all.noQuorum != conns*each {
				t.Errorf("%d granted, %d without a quorum, error %v, want %d answers", all.granted, all.noQuorum, all.err, conns*each)
			}
			if limit := timeout + opSlack + 2*stalled(); all.slowest > limit {
				t.Errorf("an answer took %v, want at most %v", all.slowest, limit)
			}
			if hung == 1 && all.noQuorum > 0 || hung == 2 && all.noQuorum == 0 {
				t.Errorf("%d of %d had no quorum with %d masters hung", all.noQuorum, conns*each, hung)
			}
		})
	}
}

// stream is what came of the acquires of a connection.
type stream struct {
	granted, noQuorum int
	slowest           time.Duration
	err               error
}

func (s *stream) add(other stream) {
	s.granted += other.granted
	s.noQuorum += other.noQuorum
	s.slowest = max(s.slowest, other.slowest)
	s.err = errors.Join(s.err, other.err)
}

// sendStream sends n acquires, one every 5 ms without waiting for replies, and
// reads those.
func sendStream(c *harness.Conn, n int, name string) (s stream) {
	sent, written := make(chan time.Time, n), make(chan error, 1)
	go func() {
		var err error
		for i := range n {
			c.Queue(acquire(fmt.Sprintf("%s:%d", name, i), "t", lockTTL)...)
			sent <- time.Now()
			err = errors.Join(err, c.Flush())
			time.Sleep(5 * time.Millisecond)
		}
		written <- err
	}()
	for range n {
		reply, err := c.Read()
		switch {
		case err != nil:
			s.err = err
			return s
		case reply == "+OK":
			s.granted++
		case orNoQuorum(reply):
			s.noQuorum++
		default:
			s.err = fmt.Errorf("got %s", reply)
		}
		s.slowest = max(s.slowest, time.Since(<-sent))
	}
	s.err = errors.Join(s.err, <-written)
	return s
}
