package proxy

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// scrape returns what Prometheus would read.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetricsShowWhatWasCounted(t *testing.T) {
	locks := threeMasters()
	locks.quorum.Stats.Undone.Add(4)
	locks.quorum.Stats.LeftToTTL.Add(2)
	locks.quorum.Stats.SplitRetries.Add(3)
	locks.quorum.Stats.Repairs.Add(5)
	locks.quorum.Stats.NotOwed.Add(6)
	locks.counted = redlock.Restorations{Failed: 1, Keys: 100}
	locks.counted.Admitted[redlock.Resynchronised] = 2
	locks.reports[2].Restoring, locks.reports[2].Owed = true, 9
	locks.reports[2].Clock = redlock.MasterClock{Steps: 1, LastStep: -time.Hour}
	locks.reports[0].Clock = redlock.MasterClock{Known: true, Offset: 1500 * time.Millisecond}
	s, c := newTestServer(t, func(cfg *Config) { cfg.Locks, cfg.Metrics = locks, NewMetrics("1.2.3", locks) })
	m := s.cfg.Metrics
	m.operation(resp.KindAcquire, resultApplied, 300*time.Microsecond)
	m.operation(resp.KindAcquire, resultHeld, 2*time.Millisecond)
	m.operation(resp.KindRelease, resultNoQuorum, 50*time.Millisecond)
	m.invalid(resp.KindExtend)
	m.connected()
	m.connected()
	m.disconnected()
	m.reject(rejectedMaxClients)
	m.protocolError()
	m.defaultTTL()
	m.deliveredTo()
	for _, line := range []string{"PING", "ping", "CLIENT ID", "CLIENT GETNAME", "HGET k f", "NOPE", "AUTH default x", "AUTH x y"} {
		say(t, s, c, line)
	}
	body := scrape(t, m)
	for _, want := range []string{
		`redlock_proxy_operations_total{kind="acquire",result="applied"} 1`,
		`redlock_proxy_operations_total{kind="acquire",result="held"} 1`,
		`redlock_proxy_operations_total{kind="release",result="no_quorum"} 1`,
		`redlock_proxy_operations_total{kind="extend",result="invalid"} 1`,
		`redlock_proxy_operations_total{kind="read",result="read"} 0`,
		`redlock_proxy_operation_duration_seconds_bucket{kind="acquire",le="0.0001"} 0`,
		`redlock_proxy_operation_duration_seconds_bucket{kind="acquire",le="0.0005"} 1`,
		`redlock_proxy_operation_duration_seconds_bucket{kind="acquire",le="1"} 2`,
		`redlock_proxy_operation_duration_seconds_count{kind="extend"} 0`,
		`redlock_proxy_connections 1`,
		`redlock_proxy_connections_accepted_total 2`,
		`redlock_proxy_connections_rejected_total{reason="max_clients"} 1`,
		`redlock_proxy_connections_rejected_total{reason="protected_mode"} 0`,
		`redlock_proxy_protocol_errors_total 1`,
		`redlock_proxy_default_ttl_total 1`,
		`redlock_proxy_commands_total{command="ping"} 2`,
		`redlock_proxy_commands_total{command="client"} 2`,
		`redlock_proxy_commands_refused_total 2`,
		`redlock_proxy_auth_failures_total 1`,
		`redlock_proxy_master_votes{master="10.0.0.1:7001"} 1`,
		`redlock_proxy_master_votes{master="10.0.0.3:7003"} 0`,
		`redlock_proxy_master_state{master="10.0.0.3:7003",state="down"} 1`,
		`redlock_proxy_master_state{master="10.0.0.3:7003",state="votes"} 0`,
		`redlock_proxy_master_state{master="10.0.0.1:7001",state="votes"} 1`,
		`redlock_proxy_master_queue_length{master="10.0.0.1:7001"} 3`,
		`redlock_proxy_master_latency_seconds{master="10.0.0.2:7002"} 0.00025`,
		`redlock_proxy_master_failures_total{master="10.0.0.3:7003",reason="down"} 7`,
		`redlock_proxy_quorum_ready 1`,
		`redlock_proxy_quorum_size 2`,
		`redlock_proxy_undo_total{result="undone"} 4`,
		`redlock_proxy_undo_total{result="left_to_ttl"} 2`,
		`redlock_proxy_split_retries_total 3`,
		`redlock_proxy_repairs_total 5`,
		`redlock_proxy_owed_dropped_total 6`,
		`redlock_proxy_master_owed{master="10.0.0.3:7003"} 9`,
		`redlock_proxy_master_restoring{master="10.0.0.1:7001"} 0`,
		`redlock_proxy_master_restoring{master="10.0.0.3:7003"} 1`,
		`redlock_proxy_restorations_total{way="resynchronised"} 2`,
		`redlock_proxy_restorations_total{way="operator"} 0`,
		`redlock_proxy_resync_failures_total 1`,
		`redlock_proxy_resync_keys_total 100`,
		`redlock_proxy_master_clock_offset_seconds{master="10.0.0.1:7001"} 1.5`,
		`redlock_proxy_master_clock_steps_total{master="10.0.0.3:7003"} 1`,
		`redlock_proxy_master_clock_last_step_seconds{master="10.0.0.3:7003"} -3600`,
		`redlock_proxy_messages_published_total{result="no_quorum"} 0`,
		`redlock_proxy_messages_delivered_total 1`,
		`redlock_proxy_subscriptions{kind="pattern"} 0`,
		`redlock_proxy_build_info{goversion="go`,
		`version="1.2.3"`,
		"go_goroutines ",
		"process_start_time_seconds ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
}

func TestMetricsKeepToPrometheusConventions(t *testing.T) {
	body := scrape(t, NewMetrics("1.2.3", threeMasters()))
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// A master's name and reason come from outside; a scrape must survive them,
// and a master that is listed twice.
func TestMetricsSurviveOddNames(t *testing.T) {
	odd := redlock.MasterReport{Name: "m\xff\"\n", State: "\x80", Failures: map[string]uint64{"\xfe": 1}}
	body := scrape(t, NewMetrics("1.2.3", newTestLocks(odd, odd)))
	if want := `redlock_proxy_master_failures_total{master="m?\"\n",reason="?"} 1`; !strings.Contains(body, want) {
		t.Errorf("the scrape lacks %s", want)
	}
}

func TestNoMetricsCountNothing(t *testing.T) {
	var m *Metrics
	m.operation(resp.KindAcquire, resultApplied, time.Second)
	m.invalid(resp.KindAcquire)
	m.command(0)
	m.unserved()
	m.connected()
	m.disconnected()
	m.reject(rejectedShutdown)
	m.protocolError()
	m.authFailed()
	m.defaultTTL()
	m.deliveredTo()
}

func TestResultOfAnOperation(t *testing.T) {
	var (
		applied = redlock.Outcome{Case: redlock.CaseAbsent, Applied: true}
		absent  = redlock.Outcome{Case: redlock.CaseAbsent}
		foreign = redlock.Outcome{Case: redlock.CaseOther}
		unknown = redlock.Outcome{Err: errors.New("unknown")}
	)
	for _, test := range []struct {
		kind resp.Kind
		outs []redlock.Outcome
		want result
	}{
		{resp.KindAcquire, []redlock.Outcome{applied}, resultApplied},
		{resp.KindAcquire, []redlock.Outcome{foreign}, resultHeld},
		{resp.KindRelease, []redlock.Outcome{absent}, resultAbsent},
		{resp.KindRelease, []redlock.Outcome{unknown}, resultNoQuorum},
		{resp.KindRead, []redlock.Outcome{foreign}, resultRead},
		{resp.KindRead, []redlock.Outcome{absent, unknown}, resultNoQuorum},
		{resp.KindDelete, []redlock.Outcome{absent, applied, absent}, resultApplied},
		{resp.KindScript, nil, resultRead},
	} {
		if got := resultOf(test.kind, test.outs); got != test.want {
			t.Errorf("%v with %d outcomes: %v, want %v", test.kind, len(test.outs), got, test.want)
		}
	}
}

func TestCountingAnOperationDoesNotAllocate(t *testing.T) {
	m := NewMetrics("", threeMasters())
	if n := testing.AllocsPerRun(100, func() { m.operation(resp.KindAcquire, resultApplied, time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkCountingAnOperation(b *testing.B) {
	m := NewMetrics("", threeMasters())
	b.ReportAllocs()
	for b.Loop() {
		m.operation(resp.KindAcquire, resultApplied, time.Millisecond)
	}
}

func BenchmarkPing(b *testing.B) {
	locks := threeMasters()
	s, err := NewServer(Config{Locks: locks, Metrics: NewMetrics("", locks)})
	if err != nil {
		b.Fatal(err)
	}
	c := connect(s)
	args, dst := [][]byte{[]byte("PING")}, make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		s.utility(c, args, dst)
	}
}
