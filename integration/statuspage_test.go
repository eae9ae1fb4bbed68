package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestStatusPageShowsAKilledMaster within two seconds, and that it is back,
// without being loaded again.
func TestStatusPageShowsAKilledMaster(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	b := openBrowser(t, "http://"+p.Metrics+"/")
	eval[bool](b, "window.sameLoad = true")
	b.awaits("masters", "3 of 3 vote", soon)
	state := func() string {
		return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("#masters tbody tr")].find(r => r.innerText.startsWith(%q)).innerText`, m[1].Addr()))
	}
	if got := state(); !strings.Contains(got, "votes") {
		t.Errorf("a master that votes: %q", got)
	}

	m[1].Kill()
	if took := b.awaits("masters", "2 of 3 vote", 2*time.Second); took > 2*time.Second {
		t.Errorf("it took %v to show a killed master", took)
	}
	eventually(t, 2*time.Second, func() error {
		if got := state(); !strings.Contains(got, "✗ down") || !strings.Contains(got, "connection refused") {
			return fmt.Errorf("a killed master: %q", got)
		}
		return nil
	})
	b.awaits("summary", "Ready", soon)

	m[2].Kill()
	b.awaits("summary", "Not ready: 0 of 3 masters vote", 2*time.Second)
	if title := eval[string](b, "document.title"); !strings.HasPrefix(title, "NOT READY") {
		t.Errorf("title %q", title)
	}
	if !eval[bool](b, "window.sameLoad === true") {
		t.Error("the page was loaded again")
	}
	b.checkRequests("http://" + p.Metrics)

	p.Kill()
	b.awaits("live", "The proxy does not answer", soon)
}

// TestStatusPageShowsLocksAndFailures, and no token.
func TestStatusPageShowsLocksAndFailures(t *testing.T) {
	const token = "a-token-that-nobody-should-see"
	p := startProxy(t, startMasters(t, 3))
	b := openBrowser(t, "http://"+p.Metrics+"/")
	c := dial(t, p.Addr)
	expect(t, c, "+OK", "SET", "job:<script>alert(1)</script>", token, "NX", "PX", "30000")
	for range 3 {
		expect(t, c, "$-1", "SET", "job:<script>alert(1)</script>", "other", "NX", "PX", "30000")
	}
	on(t, c, "HSET", "h", token, token)
	on(t, c, "SET", "lock:bad", token, "PX", "0")
	b.awaits("locks", "job:<script>alert(1)</script>", 2*soon)
	b.awaits("contended", "job:<script>alert(1)</script>", soon)
	b.awaits("failures", "not_served", soon)
	b.awaits("failures", "lock:bad", soon)
	for id, want := range map[string]string{"locks": "held", "contended": "3", "failures": "invalid expire time"} {
		if got := b.text(id); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, not %q", id, got, want)
		}
	}
	if html := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(html, token) {
		t.Error("a token is on the page")
	}
	for _, typed := range []string{"REDLOCK LOCKS\n", "REDLOCK FAILURES\n", "REDLOCK CONTENDED\n", "INFO redlock\n"} {
		for _, proto := range []string{"-2", "-3"} {
			if got := redisCLI(t, p.Addr, typed, proto); strings.Contains(got, token) || len(got) < 40 {
				t.Errorf("%s %s: %s", proto, typed, got)
			}
		}
	}
	b.checkRequests("http://" + p.Metrics)
}

// TestStatusPageForEverybody: on a phone and a desk, light and dark, by
// keyboard and by what assistive technology sees.
func TestStatusPageForEverybody(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	c := dial(t, p.Addr)
	long := "lock:" + strings.Repeat("long-name", 20)
	expect(t, c, "+OK", "SET", long, "t", "NX", "PX", "60000")
	expect(t, c, "$-1", "SET", long, "t", "NX", "PX", "60000")
	on(t, c, "INCR", "n")
	m[0].Kill()
	b := openBrowser(t, "http://"+p.Metrics+"/")
	b.awaits("masters", "down", soon)
	b.awaits("locks", "lock:", 2*soon)
	for _, look := range looks {
		b.show(look.scheme, look.width, look.height)
		if low := eval[[]string](b, lowContrast); len(low) > 0 {
			t.Errorf("%s: too little contrast: %q", look.name, low)
		}
		if over := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: the page is %d pixels too wide", look.name, over)
		}
		dark := eval[string](b, "getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
		if dark != (look.scheme == "dark") {
			t.Errorf("%s: dark is %v", look.name, dark)
		}
		checkAccessible(t, look.name, b.accessible())
	}
	checkKeyboard(t, b)
}

// checkAccessible compares the landmarks, headings and tables that assistive
// technology sees.
func checkAccessible(t *testing.T, look string, nodes []axNode) {
	t.Helper()
	for _, want := range []axNode{
		{"banner", ""}, {"navigation", "On this page"}, {"main", ""}, {"contentinfo", ""}, {"status", ""},
		{"heading", "redlock-proxy"}, {"heading", "Masters"}, {"heading", "Operations"}, {"heading", "Contended keys"},
		{"heading", "Held locks"}, {"heading", "Failures and refusals"},
		{"region", "Masters"}, {"columnheader", "Why it does not vote"}, {"button", "Pause"},
	} {
		if !slices.Contains(nodes, want) {
			t.Errorf("%s: there is no %s %q", look, want.role, want.name)
		}
	}
	count := map[string]int{}
	for _, n := range nodes {
		count[n.role]++
	}
	if count["table"] != 4 || count["rowheader"] < 6 || count["image"]+count["img"] < 2 {
		t.Errorf("%s: %v", look, count)
	}
}

// checkKeyboard goes through the page with the tabulator key: everything that
// can be operated is reached, and shows that it is.
func checkKeyboard(t *testing.T, b *browser) {
	t.Helper()
	var reached []string
	for range 13 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := eval[string](b, `(e => (e.id || e.getAttribute("href")) + (getComputedStyle(e).outlineStyle === "none" ? " without outline" : ""))(document.activeElement)`)
		reached = append(reached, at)
	}
	want := []string{"#h-masters", "#h-traffic", "#h-failures", "#h-contended", "#h-locks", "pause", "masters", "failures", "contended", "locks", "metrics", "readyz"}
	if !slices.Equal(reached[:len(want)], want) {
		t.Errorf("the tabulator key reaches %q, want %q", reached, want)
	}
	b.do(chromedp.Focus("#pause"), chromedp.KeyEvent(kb.Enter))
	if live := b.text("live"); !strings.HasPrefix(live, "Paused, as of ") {
		t.Errorf("paused by keyboard: %q", live)
	}
}

// TestStatusPageWithoutScript is whole, and is loaded again by itself.
func TestStatusPageWithoutScript(t *testing.T) {
	m := startMasters(t, 3)
	p := startProxy(t, m)
	b := openBrowser(t, "http://"+p.Metrics+"/", call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	if got := b.text("masters"); !strings.Contains(got, "3 of 3 vote") {
		t.Errorf("%q", got)
	}
	if live := b.text("live"); !strings.HasPrefix(live, "As of ") {
		t.Errorf("%q", live)
	}
	m[0].Kill()
	b.awaits("masters", "2 of 3 vote", 10*time.Second)
}

// TestStatusPageAsksForThePassword of a browser, and of Prometheus.
func TestStatusPageAsksForThePassword(t *testing.T) {
	p := startProxy(t, startMasters(t, 3), "--metrics-password", "open sesame")
	for _, path := range []string{"/", "/live", "/metrics"} {
		if code, body, err := p.Get(path); err != nil || code != http.StatusUnauthorized || strings.Contains(body, "127.0.0.1:") {
			t.Errorf("%s without a password: %d %q, %v", path, code, body, err)
		}
	}
	b := openBrowser(t, "http://operator:open%20sesame@"+p.Metrics+"/")
	b.awaits("masters", "3 of 3 vote", soon)
	b.awaits("live", "Live", soon)
}
