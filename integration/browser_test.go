package integration

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one page open.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	asked  []string // URLs of all requests
	faults []string // what the browser logged: violations of the policy, scripts that failed
}

// move is something that is done in the browser.
type move = chromedp.Action[chromedp.Void]

// openBrowser starts Chromium, which ends with the test, and opens a page, with
// some steps before.
func openBrowser(t *testing.T, url string, before ...move) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	b.do(before...)
	b.do(chromedp.Navigate(url))
	return b
}

// note keeps what the browser tells of requests and faults.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *log.EventEntryAdded:
		b.faults = append(b.faults, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	}
}

func (b *browser) do(steps ...move) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// call is a move that sends a command of the DevTools protocol.
func call[P, R any](command cdp.Command[P, R], params P) move {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// eval returns the value of a script.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// text is the text of an element, as it is shown; empty while the page is being
// loaded.
func (b *browser) text(id string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.getElementById(%q)?.innerText ?? \"\"", id))
}

// awaits waits until an element shows a text and returns how long that took.
func (b *browser) awaits(id, text string, timeout time.Duration) time.Duration {
	b.t.Helper()
	began := time.Now()
	eventually(b.t, timeout, func() error {
		if shown := b.text(id); !strings.Contains(shown, text) {
			return fmt.Errorf("%s shows %q, not %q", id, shown, text)
		}
		return nil
	})
	return time.Since(began)
}

// looks are ways in which a page can be shown.
var looks = []struct {
	name, scheme  string
	width, height int64
}{
	{"phone, light", "light", 360, 740},
	{"phone, dark", "dark", 360, 740},
	{"desk, light", "light", 1280, 900},
	{"desk, dark", "dark", 1280, 900},
}

// show changes the size of the window and what the user prefers.
func (b *browser) show(scheme string, width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height), call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// lowContrast returns the texts on the page that stand out less from what is
// behind them than the 4.5 to 1 of WCAG 2.2, level AA.
const lowContrast = `(() => {
	const parse = c => { const p = c.match(/[\d.]+/g).map(Number); return p.length > 3 && p[3] === 0 ? null : p };
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
	const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c } return [255, 255, 255] };
	const low = [];
	for (const e of document.body.querySelectorAll("*")) {
		const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
		if (!text || e.closest("script, style, noscript") || !e.getClientRects().length) continue;
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
		if ((a + .05) / (b + .05) < 4.5) low.push(text);
	}
	return low;
})()`

// checkRequests fails the test if the page asked anybody but the proxy, or the
// browser found fault with it.
func (b *browser) checkRequests(origin string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, origin) && url != "data:," {
			b.t.Errorf("the page asked for %s", url)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("no request was seen")
	}
	for _, fault := range b.faults {
		b.t.Errorf("the browser says: %s", fault)
	}
}

// accessible are the roles and names of what assistive technology sees.
func (b *browser) accessible() (nodes []axNode) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		for _, n := range tree.Nodes {
			if !n.Ignored {
				nodes = append(nodes, axNode{axText(n.Role), axText(n.Name)})
			}
		}
		return err
	}))
	return nodes
}

type axNode struct{ role, name string }

func axText(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}
