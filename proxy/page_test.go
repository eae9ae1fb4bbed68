package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// fetch is get with headers.
func fetch(s *StatusServer, path, password string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
	if password != "" {
		r.SetBasicAuth("anybody", password)
	}
	s.Handler().ServeHTTP(w, r)
	return w
}

// fullPage is the page of a proxy that has something to show everywhere.
func fullPage(t *testing.T) *StatusServer {
	t.Helper()
	locks := inAllStates()
	locks.survey = func(int, redlock.KeyFilter, int) (redlock.Survey, error) {
		return redlock.Survey{Masters: 3, Need: 2, Answered: 2, Voting: true, Missing: []string{"10.0.0.2:7002: refused"}, Locks: []redlock.SurveyedLock{
			{Key: "lock:<b>&", Token: 7, Values: 1, Copies: 2, TTL: 90 * time.Second},
		}}, nil
	}
	s := statusServer(t, locks)
	see := s.server.see
	for range 3 {
		see.contended.deny(1, 0, []byte("wanted\n"), time.Now())
	}
	see.failures.note(failure{at: time.Now(), kind: "acquire", reason: "no_quorum", key: "lock:<i>", text: "1 of 3 masters <answered>", client: "10.1.1.1:5"})
	return s
}

func TestStatusPageShowsEverythingWithoutAScript(t *testing.T) {
	body := fetch(fullPage(t), "/", "").Body.String()
	for _, want := range []string{
		"10.0.0.1:7001", "✗</span> down", "connection refused", "it restarted; it votes in at most 1m00s", "1 of 3 vote, an operation needs 2.",
		"Not ready: 1 of 3 masters vote, 2 needed; 10.0.0.2:7002 down: connection refused",
		"lock:&lt;b&gt;&amp;", "2/3", "held", "Database 0: 2 of 3 masters read, keys: 1; not read: 10.0.0.2:7002: refused.",
		`&#34;wanted\n&#34;`, "no_quorum 1", "lock:&lt;i&gt;", "1 of 3 masters &lt;answered&gt;", "10.1.1.1:5", "Version 1.2.3",
		`aria-label="Lock commands per second now: answered 0, denied 0, failed 0; most`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// The policy allows the page's own style and script and nothing else, and the
// page asks nobody else for anything.
func TestStatusPageIsSelfContained(t *testing.T) {
	answer := fetch(fullPage(t), "/", "")
	body, policy := answer.Body.String(), answer.Header().Get("Content-Security-Policy")
	for kind, element := range map[string]string{"script-src": "script", "style-src": "style"} {
		_, rest, _ := strings.Cut(body, "<"+element+">")
		text, _, found := strings.Cut(rest, "</"+element+">")
		if want := kind + " " + hashSource(text) + ";"; !found || !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
		if strings.Count(body, "<"+element) != 1 {
			t.Errorf("more than one %s", element)
		}
	}
	for _, want := range []string{"default-src 'none'; ", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if found := regexp.MustCompile(`https?://|//[a-z]|src=|url\(|@import| style=| on[a-z]+=`).FindString(body); found != "" {
		t.Errorf("the page has %q", found)
	}
	if n := len(body); n > 32<<10 {
		t.Errorf("the page is %d bytes long", n)
	}
}

// Every table has heads, every part its heading; what is put in place by the
// script is there, by its id.
func TestStatusPageCanBeReadAloud(t *testing.T) {
	s := fullPage(t)
	body := fetch(s, "/", "").Body.String()
	if n, heads := strings.Count(body, "<table"), strings.Count(body, "<thead><tr role=\"row\"><th scope=\"col\""); n != 4 || heads != n {
		t.Errorf("%d tables, %d of them with heads", n, heads)
	}
	if rows, heads := strings.Count(body, "<tr role=\"row\">\n")+strings.Count(body, "\n<tr role=\"row\">"), strings.Count(body, `<th scope="row"`); rows != heads || rows == 0 {
		t.Errorf("%d rows, %d of them with a head", rows, heads)
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		if !strings.Contains(body, fmt.Sprintf(`<h2 id="%s">`, m[1])) {
			t.Errorf("no heading %s", m[1])
		}
	}
	var live struct {
		Title, Now string
		HTML       map[string]string
	}
	if err := json.Unmarshal(fetch(s, "/live", "").Body.Bytes(), &live); err != nil {
		t.Fatal(err)
	}
	for id, html := range live.HTML {
		if !strings.Contains(body, fmt.Sprintf(`id="%s"`, id)) || html == "" {
			t.Errorf("the part %s has no place, or is empty", id)
		}
	}
	if len(live.HTML) != len(liveParts) || live.Title != "NOT READY · redlock-proxy" || live.Now == "" {
		t.Errorf("%+v", live)
	}
}

func TestStatusPageCanBeSwitchedOff(t *testing.T) {
	s := statusServer(t, threeMasters(), func(cfg *Config) { cfg.StatusPage = false })
	if body := fetch(s, "/", "").Body.String(); !strings.HasPrefix(body, "redlock-proxy\n") {
		t.Errorf("%q", body)
	}
	if code := fetch(s, "/live", "").Code; code != http.StatusNotFound {
		t.Errorf("/live: %d", code)
	}
}

func TestPasswordOfTheStatusPage(t *testing.T) {
	locks := inAllStates()
	s := statusServer(t, locks, func(cfg *Config) { cfg.StatusPassword = "open sesame" })
	for _, test := range []struct {
		path, password string
		want           int
	}{
		{"/", "", 401}, {"/live", "", 401}, {"/metrics", "", 401}, {"/metrics", "open", 401},
		{"/", "open sesame", 200}, {"/live", "open sesame", 200}, {"/metrics", "open sesame", 200},
		{"/healthz", "", 200}, {"/readyz", "", 503},
	} {
		answer := fetch(s, test.path, test.password)
		if answer.Code != test.want || test.want == 401 && answer.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s with %q: %d, want %d", test.path, test.password, answer.Code, test.want)
		}
		if test.want != 200 && strings.Contains(answer.Body.String(), "10.0.0.") {
			t.Errorf("%s without the password names masters: %s", test.path, answer.Body)
		}
	}
	if body := fetch(s, "/readyz", "open sesame").Body.String(); !strings.Contains(body, "10.0.0.2:7002 down") {
		t.Errorf("/readyz with the password: %q", body)
	}
	if f := s.server.see.failures.latest(5); len(f) != 1 || f[0].reason != reasonAuth || strings.Contains(fmt.Sprint(f), "open") {
		t.Errorf("a wrong password: %+v", f)
	}
}

// However many look, the masters are read by one, and not again and again.
func TestLocksAreReadSeldomForThePage(t *testing.T) {
	locks := threeMasters()
	reads := make(chan struct{}, 100)
	locks.survey = func(int, redlock.KeyFilter, int) (redlock.Survey, error) {
		reads <- struct{}{}
		return redlock.Survey{Masters: 3, Need: 2, Answered: 3, Voting: true}, nil
	}
	s := statusServer(t, locks)
	if len(reads) > 0 {
		t.Error("the masters are read though nobody looks")
	}
	for range 50 {
		if body := fetch(s, "/live", "").Body.String(); !strings.Contains(body, "None.") {
			t.Fatalf("%s", body)
		}
	}
	if n := len(reads); n != 1 {
		t.Errorf("the masters were read %d times for 50 looks", n)
	}
}

func TestHistoryShowsRatesAndTimes(t *testing.T) {
	m := NewMetrics("1.2.3", threeMasters())
	h := newHistory(m)
	now := h.at
	for i := range 200 {
		m.operation(resp.KindAcquire, resultApplied, 300*time.Microsecond)
		m.operation(resp.KindAcquire, resultHeld, 700*time.Microsecond)
		m.operation(resp.KindRelease, resultNoQuorum, 40*time.Millisecond)
		if i%100 == 99 {
			now = now.Add(2 * time.Second)
			h.take(readTotals(m), now)
		}
	}
	h.take(readTotals(m), now.Add(time.Second))
	got := h.recent()
	if len(got) != 3 {
		t.Fatalf("%d samples", len(got))
	}
	if s := got[1]; s.served != 100 || s.denied != 50 || s.failed != 50 || s.p50 < 500*time.Microsecond || s.p50 > time.Millisecond || s.p99 < 25*time.Millisecond || s.p99 > 50*time.Millisecond {
		t.Errorf("%+v", s)
	}
	if got[2] != (sample{}) {
		t.Errorf("a second without operations: %+v", got[2])
	}
	p := plots(got)
	if p[0].Most != "100" || p[0].Lines[1].Name != "denied" || p[0].Lines[1].Points != "236.0,30.0 238.0,30.0 240.0,59.0" || p[1].Most != "50 ms" {
		t.Errorf("%+v", p)
	}
	for range 2 * historyLength {
		now = now.Add(2 * time.Second)
		h.take(readTotals(m), now)
	}
	if n := len(h.recent()); n != historyLength {
		t.Errorf("%d samples are kept", n)
	}
}
