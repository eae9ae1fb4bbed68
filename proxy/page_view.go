package proxy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// viewer looks at a proxy for its status page.
type viewer struct {
	server  *Server
	history *history
	locks   *lockSnapshot
}

// view is what the status page shows, in the words that it shows.
type view struct {
	Version, Now string
	Ready        bool
	Why          string // it is not ready
	Masters      []masterView
	Quorum       string
	Plots        []plot
	Contended    []contendedView
	Several      bool // more databases than 0 are in use
	LocksNote    string
	Locks        []lockView
	Reasons      string
	Failures     []failureView
}

type masterView struct {
	Name, Server, State, Latency, Reason string
	Votes                                bool
	Queue                                int
	Failures                             uint64
}

type contendedView struct {
	Key, Denied string
	DB          int
}

type lockView struct {
	shownLock
	DB int
}

type failureView struct{ When, Reason, Command, Key, Client, Text, Times string }

// How much the page shows.
const (
	pageContended = 10
	pageFailures  = 20
)

func newViewer(s *Server) viewer {
	return viewer{server: s, history: newHistory(s.cfg.Metrics), locks: &lockSnapshot{locks: s.cfg.Locks, mark: s.see.marks.mark}}
}

// look takes everything in. ctx is for what goes on after it has returned.
func (v *viewer) look(ctx context.Context) view {
	now, s := time.Now(), v.server
	page := view{Version: s.cfg.Version, Now: now.UTC().Format("15:04:05"), Why: notReady(s.cfg.Locks), Plots: plots(v.history.recent())}
	page.Ready, page.Several = page.Why == "", len(s.cfg.Locks.Databases()) > 1
	page.showMasters(s.cfg.Locks)
	page.showLocks(s, v.locks.get(ctx), now)
	for _, k := range s.see.contended.top(pageContended, now) {
		page.Contended = append(page.Contended, contendedView{quote(k.key), k.denials(), k.db})
	}
	page.showFailures(s.see.failures.latest(failuresKept))
	return page
}

func (p *view) title() string {
	if p.Ready {
		return "ready · redlock-proxy"
	}
	return "NOT READY · redlock-proxy"
}

func (p *view) showMasters(locks Locks) {
	votes := 0
	for _, r := range locks.Report() {
		m := masterView{Name: r.Name, Server: r.Server, State: r.State, Votes: r.Votes, Queue: r.Queue,
			Latency: r.Latency.Round(10 * time.Microsecond).String(), Reason: r.Reason}
		for _, n := range r.Failures {
			m.Failures += n
		}
		if m.Reason == m.State {
			m.Reason = ""
		}
		if r.Latency == 0 || r.State == "down" {
			m.Latency = "–"
		}
		if r.VotesIn > 0 {
			m.Reason += "; it votes in at most " + shortTime(r.VotesIn)
		}
		if r.Votes {
			votes++
		}
		p.Masters = append(p.Masters, m)
	}
	if q, err := locks.DB(0); err == nil {
		masters, need := q.Size()
		p.Quorum = fmt.Sprintf("%d of %d vote, an operation needs %d.", votes, masters, need)
	}
}

func (p *view) showLocks(s *Server, seen snapshot, now time.Time) {
	p.LocksNote = seen.note(now)
	for _, d := range seen.databases {
		for _, l := range d.survey.Locks {
			if l.TTL >= 0 {
				l.TTL = max(0, l.TTL-now.Sub(seen.at))
			}
			shown := lockView{s.shown(d.db, d.survey.Masters, &l), d.db}
			shown.Key = quote(shown.Key)
			p.Locks = append(p.Locks, shown)
		}
	}
}

// showFailures shows the latest, and how many there are for each reason.
func (p *view) showFailures(all []failure) {
	times := map[string]uint64{}
	for _, f := range all {
		times[f.reason] += f.times
	}
	p.Reasons = reasonCounts(times)
	for _, f := range all[:min(len(all), pageFailures)] {
		p.Failures = append(p.Failures, failureView{When: f.at.UTC().Format("2006-01-02 15:04:05"), Reason: f.reason, Command: f.kind,
			Key: keyOrDash(f.key), Client: f.client, Text: f.text, Times: fmt.Sprint(f.times)})
	}
}

// reasonCounts lists reasons, the most frequent first.
func reasonCounts(times map[string]uint64) string {
	reasons := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b))
	})
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s %d", reason, times[reason])
	}
	return "By reason, of those remembered: " + strings.Join(reasons, ", ") + "."
}
