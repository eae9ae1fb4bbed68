package resp

import (
	"fmt"
	"time"

	"redlock-proxy/redlock"
)

// Plan is one run of a script over a quorum of masters: the table that it
// amounts to, and what to answer in each case.
//
// The script is run with the key absent, with a value that is not known, with
// the value that this was compared with, and with something that is not a
// string. Where such a run needs to know more, its leaf is Learn: the script is
// run again on what a quorum holds, and if it writes then, a second swap does
// it that expects exactly that.
//
// Most scripts do the same whatever their arguments are. Then the table is filled
// in from a template, without a run.
//
// A Plan may be used again, and is not safe for concurrent use.
type Plan struct {
	// DB is the database of the key: the script may select one.
	DB int
	// Swap is the present swap. Its slices are those of the script's
	// arguments, which must not be modified until the engine is done.
	Swap redlock.Swap
	// NoKey says that the script touches no key: there is nothing to ask of
	// masters and Resolve answers at once, without an outcome.
	NoKey bool
	// DefaultTTL says that the script gave a key no expiry somewhere, and
	// Env.DefaultTTL stands in for it.
	DefaultTTL bool

	script     *Script
	keys, args [][]byte
	env        *Env
	db         int // the one the script starts in
	readOnly   bool
	now        time.Time

	replies [redlock.CaseWrong + 1]numberReply

	learned redlock.State // what the present swap expects, if it is not the first
	rounds  int
	spent   bool        // see [Plan.note]
	expects expectation // of a transaction

	names  [][]byte        // the keys of the present swap, if they are several
	vector []redlock.State // as learned, of all of them

	lists []modelList // that the script was seen to push to

	published []Publication    // by the run that was answered last
	heard     map[string]int64 // see [luaMachine.receivers]
}

// numberReply is what a run of the first table has returned in a case, if that is
// a number and nothing was published: it need not be run again for the reply.
type numberReply struct {
	n     int64
	known bool
}

// maxRounds bounds how often a script is run on a state that then turns out to
// have changed. In practice the deadline of the operation ends it before.
const maxRounds = 8

const tooManyRounds = "NOQUORUM the key keeps changing while the script looks at it; nothing was done, try again"

// Plan derives the table of one run. If errText is not empty it is to be
// answered (as "-" + errText), and nothing is to be sent.
//
// The slices in keys and args are kept, and must not be modified until the
// last operation started from p is done with.
func (s *Script) Plan(p *Plan, keys, args [][]byte, db int, readOnly bool, env *Env) (errText string) {
	*p = Plan{DB: db, script: s, keys: keys, args: args, env: env, db: db, readOnly: readOnly || s.readOnly}
	if s.refused != "" {
		return refusedText(s.refused)
	}
	if len(keys)+len(args) > maxInputs {
		return refusedText(tooManyInputs())
	}
	if s.template != nil && s.template.fill(p) {
		return ""
	}
	m := p.machine()
	defer p.done(m)
	if p.first(m, p.derive) != nil || m.noLastingList() != nil {
		return refusedText(m.refusal)
	}
	return ""
}

func tooManyInputs() string {
	return fmt.Sprintf("is called with more than %d keys and arguments", maxInputs)
}

// MayLearn says that a second round may follow.
func (p *Plan) MayLearn() bool {
	s := &p.Swap
	return s.Absent.Effect == redlock.Learn || s.Mine.Effect == redlock.Learn ||
		s.Other.Effect == redlock.Learn || s.Wrong.Effect == redlock.Learn
}

// machine takes a machine for the runs of p.
func (p *Plan) machine() *luaMachine {
	m := p.script.machines.Get().(*luaMachine)
	m.env, m.now, m.heard = p.env, p.now, p.heard
	m.model.lists = p.lists
	m.frozen.DefaultTTL = p.env.DefaultTTL
	return m
}

// done gives the machine back.
func (p *Plan) done(m *luaMachine) {
	p.now, p.heard, p.published = m.now, m.heard, m.said
	p.lists = m.model.lists
	m.release()
	p.script.machines.Put(m)
}

// run runs the script once. Its result is a reply only if err is nil or errLua.
func (p *Plan) run(m *luaMachine, assume redlock.State, known bool) (luaValue, error) {
	m.model.given, m.model.bind = nil, false
	return p.runGiven(m, assume, known)
}

// runGiven is run with what the model is given besides.
func (p *Plan) runGiven(m *luaMachine, assume redlock.State, known bool) (luaValue, error) {
	v, err := luaValue{}, errList
	for err == errList { // not more often than maxScriptLists in all runs together
		m.model.db, m.readOnly = p.db, p.readOnly
		v, err = m.run(&p.script.main, p.keys, p.args, assume, known)
	}
	if err != nil && err != errLua {
		return v, err
	}
	if bad := p.script.watchesNoList(m); bad != nil {
		return v, bad
	}
	m.noteLastingLists()
	if bad := m.measure(&v); bad != nil {
		return v, bad
	}
	return v, err
}

// assumed is what a run assumes in a case of the first table, and whether that
// is all there is to know of the value. TTLs are not known.
func (p *Plan) assumed(c redlock.Case) (assume redlock.State, known bool) {
	switch c {
	case redlock.CaseMine:
		return redlock.State{Kind: redlock.Text, Value: p.Swap.Token, TTL: unknownTTL}, true
	case redlock.CaseOther:
		return redlock.State{Kind: redlock.Text, TTL: unknownTTL}, false
	case redlock.CaseWrong:
		return redlock.State{Kind: redlock.WrongType, TTL: unknownTTL}, false
	}
	return redlock.State{}, true
}

// first derives the first swap, and again if that shows that the script pushes
// to a key: what was found before may have taken it for a string.
func (p *Plan) first(m *luaMachine, derive func(*luaMachine) error) error {
	for {
		lists := len(m.model.lists)
		err := derive(m)
		if len(m.model.lists) == lists {
			return err
		}
		p.Swap, p.NoKey, p.DefaultTTL, p.names = redlock.Swap{}, false, false, nil
		p.replies = [len(p.replies)]numberReply{}
	}
}

// derive fills the table. An error is errRefused.
func (p *Plan) derive(m *luaMachine) error {
	s := &p.Swap
	if err := p.guess(m, redlock.CaseAbsent); err != nil {
		return err
	}
	if p.NoKey = !m.model.touched; p.NoKey {
		return m.onlyLists()
	}
	// Up to here no run knows anything of the key, so all touch the same one.
	s.Key, p.DB = m.model.key.key, m.model.key.db
	needsString := m.model.needsString && len(m.model.lists) == 0 // a list might be left to stay
	for _, c := range [...]redlock.Case{redlock.CaseOther, redlock.CaseMine, redlock.CaseWrong} {
		if m.model.nmore > 0 {
			return p.deriveSeveral(m)
		}
		if c == redlock.CaseMine && !p.compared(m) || c == redlock.CaseWrong && needsString {
			continue
		}
		if err := p.guess(m, c); err != nil {
			return err
		}
	}
	if m.model.nmore > 0 {
		return p.deriveSeveral(m)
	}
	return nil
}

// compared makes a token of what the unknown value was compared with by the
// last run, if it was.
func (p *Plan) compared(m *luaMachine) bool {
	n := len(m.model.candidates)
	if n == 0 {
		return false
	}
	p.Swap.Token, p.Swap.HasToken = m.model.candidates[0], true
	if n > 1 { // the others are among the other values
		p.Swap.Other = redlock.Leaf{Effect: redlock.Learn}
	}
	return true
}

// guess fills the leaf of a case by a run.
func (p *Plan) guess(m *luaMachine, c redlock.Case) error {
	assume, known := p.assumed(c)
	leaf := p.Swap.Leaf(c)
	v, err := p.run(m, assume, known)
	if err == errLearn {
		*leaf = redlock.Leaf{Effect: redlock.Learn}
		return nil
	}
	if err == nil && v.kind == luaNumber && len(m.published) == 0 {
		p.replies[c] = numberReply{toInt64(v.num), true}
	}
	if err == nil || err == errLua {
		*leaf, err = p.effect(m)
	}
	return err
}

// effect is what the last run did to the key.
func (p *Plan) effect(m *luaMachine) (redlock.Leaf, error) {
	leaf, usedDefault, err := m.model.key.effect(m)
	p.DefaultTTL = p.DefaultTTL || usedDefault
	return leaf, err
}

// Resolve is called with the outcome of the present swap; out may be nil if
// p.NoKey. Either it appends the reply, in RESP2 or RESP3 (proto is 2 or 3), or
// it fills again and returns true: that swap, now p.Swap, is to be started and
// Resolve called with its outcome.
func (p *Plan) Resolve(dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	p.note(out)
	if r := p.remembered(out); r.known {
		p.published = nil
		return AppendInt(dst, r.n), false
	}
	m := p.machine()
	defer p.done(m)
	switch {
	case p.NoKey:
		return p.answer(m, dst, proto, redlock.State{}, true), false
	case out.Err != nil:
		return AppendError(dst, "NOQUORUM "+out.Err.Error()), false
	case p.script.watches():
		return p.resolveWatched(m, dst, proto, out, again)
	case p.spent && out.Case != redlock.CaseMine:
		return AppendError(dst, doneTooLate), false
	case len(p.names) > 0:
		return p.resolveSeveral(m, dst, proto, out, again)
	case p.Swap.Leaf(out.Case).Effect == redlock.Learn:
		return p.learn(m, dst, proto, out, again)
	case p.rounds > 0:
		return p.answer(m, dst, proto, p.learned, true), false
	}
	assume, known := p.assumed(out.Case)
	return p.answer(m, dst, proto, assume, known), false
}

// remembered is what the run that made the table has returned in the case of the
// outcome, if that is the reply.
func (p *Plan) remembered(out *redlock.Outcome) (r numberReply) {
	switch {
	case p.NoKey, out.Err != nil, p.rounds > 0, len(p.names) > 0, p.script.watches(), p.spent && out.Case != redlock.CaseMine:
		return r
	case p.Swap.Leaf(out.Case).Effect == redlock.Learn:
		return r
	}
	return p.replies[out.Case]
}

// doneTooLate is the reply where a swap changed what it expects, was too late to
// be promised, and found its own traces when it was tried again.
const doneTooLate = "NOQUORUM too slow: it was done, but too late to promise anything. Look at the masters' latency, or raise --op-timeout"

// note remembers that the swap changed what it expects.
func (p *Plan) note(out *redlock.Outcome) {
	if out == nil || !out.Applied || out.Case != redlock.CaseMine {
		return
	}
	changes := func(l *redlock.Leaf) bool { return l.Effect == redlock.Set || l.Effect == redlock.Delete }
	s := &p.Swap
	p.spent = p.spent || changes(&s.Mine) || s.TTLAtMost != 0
	for i := range s.And {
		p.spent = p.spent || changes(&s.And[i].Mine) || s.And[i].TTLAtMost != 0
	}
}

// answer appends what the script returns in a state.
func (p *Plan) answer(m *luaMachine, dst []byte, proto int, assume redlock.State, known bool) []byte {
	v, err := p.run(m, assume, known)
	return m.appendResult(dst, proto, p.script, &v, err)
}

// learn runs the script on what a quorum holds.
func (p *Plan) learn(m *luaMachine, dst []byte, proto int, out *redlock.Outcome, again *redlock.Swap) ([]byte, bool) {
	state := out.State
	if out.Case == redlock.CaseMine && state.Value == nil {
		state.Value = p.Swap.Token // implied
	}
	v, err := p.run(m, state, true)
	if err != nil && err != errLua {
		return m.appendResult(dst, proto, p.script, &v, err), false
	}
	if m.model.nmore > 0 {
		p.names = append(p.names, p.Swap.Key)
		return p.lookAtAll(m, dst, again)
	}
	leaf, bad := p.effect(m)
	if bad != nil {
		return m.appendResult(dst, proto, p.script, &v, bad), false
	}
	if leaf.Effect == redlock.Keep {
		return m.appendResult(dst, proto, p.script, &v, err), false
	}
	if p.rounds++; p.rounds > maxRounds {
		return AppendError(dst, tooManyRounds), false
	}
	p.expect(state, leaf, m.model.key.asked)
	*again = p.Swap
	return dst, true
}

// expect makes the present swap one that applies leaf to exactly a state, and
// if it was asked for its TTL, to nothing that lives longer.
func (p *Plan) expect(state redlock.State, leaf redlock.Leaf, askedTTL bool) {
	look := redlock.Leaf{Effect: redlock.Learn}
	s := redlock.Swap{Key: p.Swap.Key, Absent: look, Mine: look, Other: look, Wrong: look}
	if state.Kind == redlock.Text {
		s.Token, s.HasToken = state.Value, true
	}
	*s.Leaf(s.Case(&state)) = leaf
	if askedTTL {
		s.TTLAtMost = state.Longest
	}
	p.Swap, p.learned = s, state
}
