package proxy

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// redlockCommand is REDLOCK, the commands for operators of this proxy.
func redlockCommand() *command {
	return withSubs("redlock",
		&command{name: "status", arity: 2, run: redlockStatus},
		&command{name: "admit", arity: 3, run: func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return dst }, action: actionAdmit},
		&command{name: "help", arity: 2, run: help(
			"REDLOCK STATUS",
			"    Which masters there are, whether they vote, and if not, why.",
			"REDLOCK ADMIT <host:port>|ALL",
			"    Let a master that restarted, was emptied or already holds data vote again. Locks that",
			"    it has lost may still be held by clients: wait for the longest TTL in use first.",
			"REDLOCK HELP",
			"    This text.")},
	)
}

// redlockStatus answers REDLOCK STATUS: lines in RESP2, which redis-cli prints
// unquoted, one text in RESP3.
func redlockStatus(s *Server, c *client, _ [][]byte, dst []byte) []byte {
	lines := statusLines(s.cfg.Locks)
	if c.proto == 3 {
		return appendText(dst, 3, strings.Join(lines, "\n")+"\n")
	}
	return appendLines(dst, lines)
}

// statusLines are a summary and a table of the masters.
func statusLines(locks Locks) []string {
	var b strings.Builder
	if why := notReady(locks); why != "" {
		b.WriteString("NOT READY: " + why + "\n")
	} else {
		b.WriteString("ready: a quorum of masters votes\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MASTER\tSTATE\tSERVER\tLATENCY\tQUEUE\tFAILURES\tREASON")
	for _, r := range locks.Report() {
		fmt.Fprintln(w, statusRow(&r))
	}
	w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func statusRow(r *redlock.MasterReport) string {
	var failures uint64
	for _, n := range r.Failures {
		failures += n
	}
	return fmt.Sprintf("%s\t%s\t%s\t%v\t%d\t%d\t%s",
		r.Name, r.State, dash(r.Server), r.Latency.Round(10*time.Microsecond), r.Queue, failures, dash(r.Reason))
}

// dash is a cell of the table.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return oneLine(s)
}

// admitTarget is the master that REDLOCK ADMIT names, or ALL.
func admitTarget(args [][]byte) string {
	if is(args[2], "all") {
		return "ALL"
	}
	return string(args[2])
}

// appendAdmitted appends the reply of REDLOCK ADMIT, given what Locks.Admit
// returned.
func appendAdmitted(dst []byte, lines []string, err error) []byte {
	if err != nil {
		return resp.AppendError(dst, "ERR "+err.Error())
	}
	return appendLines(dst, lines)
}
