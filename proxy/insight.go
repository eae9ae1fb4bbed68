package proxy

import (
	"fmt"
	"strings"
	"time"

	"redlock-proxy/redlock"
	"redlock-proxy/resp"
)

// insight is what a proxy remembers for the people who look after it. All of it
// is bounded, and nothing is allocated for an operation that succeeds.
type insight struct {
	marks     *marker
	grants    grants
	failures  failures
	contended contended
}

func newInsight() *insight { return &insight{marks: newMarker()} }

// answered notes a lock command whose reply is in the client's socket.
func (sl *slot) answered(r result, now time.Time) {
	switch {
	case r == resultApplied:
		sl.noteGrants(now)
	case r == resultNoQuorum:
		sl.noteNoQuorum(now)
	case r == resultHeld && (sl.lock.Kind == resp.KindAcquire || sl.lock.Kind == resp.KindRenew):
		sl.noteDenials(now)
	}
}

// noteGrants notes when locks were granted. A lock that is extended keeps its
// age.
func (sl *slot) noteGrants(now time.Time) {
	for i := range sl.ops {
		swap, out := &sl.ops[i].Swap, &sl.outs[i]
		if !out.Applied {
			continue
		}
		if leaf := swap.Leaf(out.Case); out.Case != redlock.CaseMine && leaf.Effect == redlock.Set {
			sl.noteGrant(swap.Key, leaf.Value, now)
		}
		for k := range out.Parts {
			if leaf := &swap.And[k].Absent; out.Parts[k].Kind == redlock.Absent && leaf.Effect == redlock.Set {
				sl.noteGrant(swap.And[k].Key, leaf.Value, now)
			}
		}
	}
}

func (sl *slot) noteGrant(key, token []byte, now time.Time) {
	s := sl.s.srv
	s.see.grants.note(hashKey(s.seed, sl.lock.DB, key), s.see.marks.mark(token), now.Sub(s.started))
}

// noteDenials notes the keys that somebody else holds.
func (sl *slot) noteDenials(now time.Time) {
	for i := range sl.ops {
		swap, out := &sl.ops[i].Swap, &sl.outs[i]
		if out.Case == redlock.CaseOther {
			sl.noteDenial(swap.Key, now)
		}
		for k := range out.Parts {
			if out.Parts[k].Kind == redlock.Text {
				sl.noteDenial(swap.And[k].Key, now)
			}
		}
	}
}

func (sl *slot) noteDenial(key []byte, now time.Time) {
	s := sl.s.srv
	s.see.contended.deny(hashKey(s.seed, sl.lock.DB, key), sl.lock.DB, key, now)
}

// noteNoQuorum notes an operation that was answered with an error.
func (sl *slot) noteNoQuorum(now time.Time) {
	for i := range sl.outs {
		if err := sl.outs[i].Err; err != nil {
			sl.s.srv.see.failures.note(failure{at: now, kind: sl.lock.Kind.String(), reason: reasonOf(err),
				key: string(shown(sl.ops[i].Swap.Key)), text: err.Error(), client: sl.s.addr})
			return
		}
	}
}

// noteAbandoned notes an operation whose client left.
func (sl *slot) noteAbandoned() {
	sl.s.srv.see.failures.note(failure{at: time.Now(), kind: sl.lock.Kind.String(), reason: resultAbandoned.String(),
		key: string(shown(sl.ops[0].Swap.Key)), text: "the client left before it could read the reply; what it was granted is given back", client: sl.s.addr})
}

// noteInvalid notes a lock command that no master was asked about.
func (s *session) noteInvalid(kind resp.Kind, args [][]byte, fault string) {
	s.srv.cfg.Metrics.invalid(kind)
	s.srv.see.failures.note(failure{at: s.now, kind: kind.String(), reason: resultInvalid.String(),
		key: string(shown(keyOf(args))), text: withoutValues(fault, args), client: s.addr})
}

// noteUnserved notes a command that is not served. An unknown one may hold
// anything, so nothing of it is kept but its name.
func (s *Server) noteUnserved(c *client, args [][]byte) {
	var buf [32]byte
	text := "unknown command"
	if len(args[0]) <= len(buf) {
		if why := s.refused[string(lower(buf[:0], args[0]))]; why != "" {
			text = why
		}
	}
	s.see.failures.note(failure{at: time.Now(), kind: strings.ToLower(quote(string(shown(args[0])))), reason: reasonNotServed, text: text, client: c.addr})
}

// noteNotQueued notes a command that ended its transaction. cmd is the utility
// command of that name, if there is one.
func (s *session) noteNotQueued(cmd *command, args [][]byte, fault string) {
	if cmd == nil && !resp.IsLock(args[0]) {
		s.srv.noteUnserved(&s.client, args)
		return
	}
	s.srv.see.failures.note(failure{at: s.now, kind: resp.KindTransaction.String(), reason: resultInvalid.String(), text: withoutValues(fault, args), client: s.addr})
}

// noteDenied notes a command that the user may not run, or not on these keys or
// channels.
func (s *session) noteDenied(d denial, name string, args [][]byte) {
	s.srv.cfg.Metrics.denied(d)
	var key []byte
	if resp.IsLock(args[0]) {
		key = keyOf(args)
	}
	_, text, _ := strings.Cut(d.errText(name), " ")
	s.srv.see.failures.note(failure{at: s.now, kind: name, reason: reasonNoPermission, key: string(shown(key)),
		text: fmt.Sprintf("user %q: %s", s.account.name, text), client: s.addr})
}

// noteAuth notes a wrong user or password.
func (s *Server) noteAuth(c *client) {
	s.cfg.Metrics.authFailed()
	s.see.failures.note(failure{at: time.Now(), kind: "auth", reason: reasonAuth, text: "wrong user or password", client: c.addr})
}

// noteRejected notes a connection that is not served.
func (s *Server) noteRejected(why rejection, addr, text string) {
	s.cfg.Metrics.reject(why)
	s.see.failures.note(failure{at: time.Now(), kind: "connect", reason: why.String(), text: text, client: addr})
}
