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
	return withSubs("redlock", append(observeCommands(),
		&command{name: "status", arity: 2, run: redlockStatus},
		&command{name: "admit", arity: 3, run: func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return dst }, action: actionAdmit},
		&command{name: "masters", arity: -4, run: func(_ *Server, _ *client, _ [][]byte, dst []byte) []byte { return dst }, action: actionChange},
		&command{name: "help", arity: 2, run: help(
			"REDLOCK STATUS",
			"    Which masters there are, whether they vote, and if not, why.",
			"REDLOCK ADMIT <host:port>|ALL",
			"    Let a master that restarted, was emptied or already holds data vote again. Locks that",
			"    it has lost may still be held by clients: wait for the longest TTL in use first.",
			"REDLOCK MASTERS ADD <host:port>",
			"REDLOCK MASTERS REMOVE <host:port>",
			"REDLOCK MASTERS REPLACE <host:port> <host:port>",
			"    Change the set of masters by one, while everything goes on. One that joins has to be",
			"    among the --masters of every proxy first.",
			"REDLOCK LOCKS [<pattern>] [COUNT <n>]",
			"    The locks in this connection's database: a mask in the place of the token, the remaining",
			"    time, how many masters hold them, and how long ago this proxy granted them.",
			"REDLOCK FAILURES [COUNT <n>]",
			"    The last commands and connections that failed or were refused, and why.",
			"REDLOCK CONTENDED [COUNT <n>]",
			"    The keys whose acquires are denied most.",
			"REDLOCK HELP",
			"    This text.")},
	)...)
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

// setChange is the change that REDLOCK MASTERS asks for, or what is wrong with
// the command.
func setChange(args [][]byte) (c redlock.SetChange, fault string) {
	what, names := args[2], args[3:]
	switch {
	case is(what, "add") && len(names) == 1:
		c.Add = string(names[0])
	case is(what, "remove") && len(names) == 1:
		c.Remove = string(names[0])
	case is(what, "replace") && len(names) == 2:
		c.Remove, c.Add = string(names[0]), string(names[1])
	default:
		return c, "ERR syntax error: REDLOCK MASTERS ADD host:port, REMOVE host:port or REPLACE host:port host:port"
	}
	return c, ""
}

// appendChanged appends the reply of REDLOCK MASTERS, given what Locks.Change
// returned.
func appendChanged(dst []byte, lines []string, err error) []byte {
	if err != nil {
		text := "ERR " + err.Error()
		if len(lines) > 0 {
			text += "; done before: " + strings.Join(lines, "; ")
		}
		return resp.AppendError(dst, oneLine(text))
	}
	return appendLines(dst, lines)
}

// appendAdmitted appends the reply of REDLOCK ADMIT, given what Locks.Admit
// returned.
func appendAdmitted(dst []byte, lines []string, err error) []byte {
	if err != nil {
		return resp.AppendError(dst, "ERR "+err.Error())
	}
	return appendLines(dst, lines)
}

// admit runs REDLOCK ADMIT, which asks the masters.
func (s *session) admit(sl *slot, args [][]byte) {
	lines, err := s.srv.cfg.Locks.Admit(s.srv.ctx, admitTarget(args))
	sl.reply = appendAdmitted(sl.reply, lines, err)
	s.completed(sl)
}

// changeMasters runs REDLOCK MASTERS, which may take half a minute.
func (s *session) changeMasters(sl *slot, args [][]byte) {
	change, fault := setChange(args)
	if fault != "" {
		sl.reply = resp.AppendError(sl.reply, fault)
	} else {
		lines, err := s.srv.cfg.Locks.Change(s.srv.ctx, change)
		sl.reply = appendChanged(sl.reply, lines, err)
	}
	s.completed(sl)
}
