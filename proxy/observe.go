package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// REDLOCK LOCKS, FAILURES and CONTENDED show what there is and what went wrong:
// tables for people, a line each in RESP2, one text in RESP3.

// How many lines these show, unless a COUNT says otherwise, and at most.
const (
	locksShown     = 100
	failuresShown  = 20
	contendedShown = 20
	contendedMost  = contendedSets * contendedPlaces
)

// observeCommands are those subcommands of REDLOCK.
func observeCommands() []*command {
	return []*command{
		{name: "locks", arity: -2, run: nothing, action: actionLocks},
		{name: "failures", arity: -2, run: showFailures},
		{name: "contended", arity: -2, run: showContended},
	}
}

// locks runs REDLOCK LOCKS, which reads the masters: not while the session's
// reader waits.
func (s *session) locks(sl *slot, db int, args [][]byte) {
	sl.reply = s.srv.appendLocks(sl.reply, sl.proto, db, args)
	s.completed(sl)
}

func (s *Server) appendLocks(dst []byte, proto, db int, args [][]byte) []byte {
	filter, count, fault := parseLocks(args)
	if fault != "" {
		return resp.AppendError(dst, fault)
	}
	seen, err := s.cfg.Locks.Survey(s.ctx, db, filter, count, s.see.marks.mark)
	if err != nil {
		return resp.AppendError(dst, oneLine("NOQUORUM "+err.Error()))
	}
	return appendTable(dst, proto, surveySummary(&seen), "KEY\tTOKEN\tTTL\tMASTERS\tSTATE\tAGE", func(row func(cells ...any)) {
		for _, l := range seen.Locks {
			shown := s.shown(db, seen.Masters, &l)
			row(quote(shown.Key), shown.Token, shown.TTL, shown.Copies, shown.State, shown.Age)
		}
	})
}

// parseLocks reads [pattern] [COUNT n].
func parseLocks(args [][]byte) (f redlock.KeyFilter, count int, fault string) {
	count, rest := locksShown, args[2:]
	if len(rest)%2 == 1 {
		f.Pattern, rest = rest[0], rest[1:]
	}
	switch {
	case len(rest) == 0:
		return f, count, ""
	case len(rest) > 2 || !is(rest[0], "count"):
		return f, 0, "ERR syntax error"
	}
	count, fault = parseCount(rest[1], redlock.SurveyLimit)
	return f, count, fault
}

// parseCount reads how many lines are wanted.
func parseCount(arg []byte, most int) (n int, fault string) {
	n, err := strconv.Atoi(string(arg))
	switch {
	case err != nil:
		return 0, errNotInt
	case n < 1 || n > most:
		return 0, fmt.Sprintf("ERR value is out of range, value must between 1 and %d", most)
	}
	return n, ""
}

// shownLock is a lock as people are shown it.
type shownLock struct {
	Key, Token, TTL, Copies, State, Age string
}

func (s *Server) shown(db, masters int, l *redlock.SurveyedLock) shownLock {
	shown := shownLock{Key: string(shown([]byte(l.Key))), Token: s.see.marks.mask(l.Token), TTL: "none", Age: "unknown",
		Copies: fmt.Sprintf("%d/%d", l.Copies, masters), State: [...]string{"held", "undecided", "no majority"}[l.Agreed]}
	if l.TTL >= 0 {
		shown.TTL = shortTime(l.TTL)
	}
	switch {
	case l.NoString:
		shown.Token, shown.State = "-", shown.State+", no string"
		return shown
	case l.Values > 1:
		shown.State += fmt.Sprintf(", %d tokens", l.Values)
	}
	if age, known := s.see.grants.age(hashKey(s.seed, db, []byte(l.Key)), l.Token, time.Since(s.started)); known {
		shown.Age = wholeSeconds(age)
	}
	return shown
}

// surveySummary says, in a line, what a survey saw.
func surveySummary(seen *redlock.Survey) string {
	text := fmt.Sprintf("%d of %d masters read, keys: %d", seen.Answered, seen.Masters, len(seen.Locks))
	if seen.More {
		text += ", there are more"
	}
	if !seen.Voting {
		text += "; NO QUORUM of masters that vote: nothing is decided"
	}
	for _, m := range seen.Missing {
		text += "; not read: " + m
	}
	return text
}

// showFailures answers REDLOCK FAILURES [COUNT n].
func showFailures(s *Server, c *client, args [][]byte, dst []byte) []byte {
	n, fault := countOption(args, failuresShown, failuresKept)
	if fault != "" {
		return resp.AppendError(dst, fault)
	}
	last := s.see.failures.latest(n)
	summary := fmt.Sprintf("failures and refusals, the latest first: %d", len(last))
	return appendTable(dst, c.proto, summary, "TIME\tTIMES\tREASON\tCOMMAND\tKEY\tCLIENT\tTEXT", func(row func(cells ...any)) {
		for _, f := range last {
			row(f.at.UTC().Format(time.RFC3339), f.times, f.reason, f.kind, keyOrDash(f.key), dash(f.client), f.text)
		}
	})
}

// showContended answers REDLOCK CONTENDED [COUNT n].
func showContended(s *Server, c *client, args [][]byte, dst []byte) []byte {
	n, fault := countOption(args, contendedShown, contendedMost)
	if fault != "" {
		return resp.AppendError(dst, fault)
	}
	top := s.see.contended.top(n, time.Now())
	summary := fmt.Sprintf("keys that were denied most in the last one to two minutes: %d", len(top))
	return appendTable(dst, c.proto, summary, "DENIED\tDB\tKEY", func(row func(cells ...any)) {
		for _, k := range top {
			row(k.denials(), k.db, quote(k.key))
		}
	})
}

// denials is the count, with its least if that is another.
func (k *contendedCount) denials() string {
	if k.surplus == 0 {
		return strconv.FormatUint(k.count, 10)
	}
	return fmt.Sprintf("%d..%d", k.count-k.surplus, k.count)
}

// countOption reads [COUNT n] behind a subcommand.
func countOption(args [][]byte, without, most int) (n int, fault string) {
	switch {
	case len(args) == 2:
		return without, ""
	case len(args) != 4 || !is(args[2], "count"):
		return 0, "ERR syntax error"
	}
	return parseCount(args[3], most)
}

// appendTable appends a summary and a table.
func appendTable(dst []byte, proto int, summary, head string, fill func(row func(cells ...any))) []byte {
	var b strings.Builder
	b.WriteString(oneLine(summary) + "\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	fill(func(cells ...any) {
		words := make([]string, len(cells))
		for i, cell := range cells {
			words[i] = oneLine(fmt.Sprint(cell))
		}
		fmt.Fprintln(w, strings.Join(words, "\t"))
	})
	w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if proto == 3 {
		return appendText(dst, 3, strings.Join(lines, "\n")+"\n")
	}
	return appendLines(dst, lines)
}

// keyOrDash is quote for a cell that may have no key.
func keyOrDash(key string) string {
	if key == "" {
		return "-"
	}
	return quote(key)
}

// quote is a key as redis-cli would print it, if it is not plain text.
func quote(key string) string {
	if key != "" && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"'
	}) {
		return key
	}
	return strconv.Quote(key)
}

// shortTime is a duration with two or three digits that matter.
func shortTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%.1fd", d.Hours()/24)
}

// wholeSeconds is shortTime for what is known to the second.
func wholeSeconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return shortTime(d)
}
