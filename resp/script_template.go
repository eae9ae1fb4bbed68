package resp

import "redlock-proxy/redlock"

// template is the table of a script whose arguments decide nothing but what they
// are: one is the key, one the token, others are values and expiries. It is made
// once, from the text (see [templateOf]); a plan then needs no run of the script.
//
// Filled in, it is to the last field what the runs would have led to. Where that
// depends on an argument after all (an expiry that is none, or longer than
// allowed, a key that is reserved, an argument so long that it counts as work),
// it is not used, and the script is run: see [template.fill].
type template struct {
	keys, args int // how many of each the script reads, at least

	key     templateInput
	token   templateInput // none if the script compares with nothing
	ttls    []templateTTL
	leaves  [redlock.CaseWrong + 1]templateLeaf
	replies [redlock.CaseWrong + 1]numberReply

	defaultTTL bool
}

// templateInput is KEYS[n] or, if arg, ARGV[n]. The zero value is none.
type templateInput struct {
	arg bool
	n   int
}

// templateLeaf is a leaf without the arguments of a call.
type templateLeaf struct {
	effect redlock.Effect
	value  templateInput // of a Set
	ttl    int           // in template.ttls, or noTemplateTTL
}

// templateTTL is an expiry that a command is given: an argument or, if that is
// none, a number in the text. It has to be a valid one even if nothing is left of
// it in the table, for otherwise the command fails.
type templateTTL struct {
	of   templateInput
	n    int64
	unit unit
}

const (
	// noTemplateTTL is that of a leaf which stores a value without an expiry.
	noTemplateTTL = -1
	// maxTemplateTTLs is more than any library gives.
	maxTemplateTTLs = 4
	// endOfTemplateTTL is above the expiries in a template, in their unit. Lua
	// writes a smaller integer as it was, so that tonumber does not matter, and
	// no clock overflows.
	endOfTemplateTTL = 1e14
)

// fill fills p, unless the arguments are such that the script has to be run.
// It then leaves p as it was.
func (t *template) fill(p *Plan) bool {
	var ttls [maxTemplateTTLs]int64
	if !t.fits(p) {
		return false
	}
	for i := range t.ttls {
		ms, ok := t.ttls[i].millis(p)
		if !ok {
			return false
		}
		ttls[i] = ms
	}
	s := &p.Swap
	s.Key = t.key.of(p)
	if t.token.n > 0 {
		s.Token, s.HasToken = t.token.of(p), true
	}
	for c := range t.leaves {
		from, leaf := &t.leaves[c], s.Leaf(redlock.Case(c))
		leaf.Effect = from.effect
		switch {
		case from.effect != redlock.Set && from.effect != redlock.Expire:
			continue
		case from.effect == redlock.Set:
			leaf.Value = from.value.of(p)
		}
		if leaf.TTL = p.env.DefaultTTL; from.ttl != noTemplateTTL {
			leaf.TTL = ttls[from.ttl]
		}
	}
	p.replies, p.DefaultTTL = t.replies, t.defaultTTL
	return true
}

// fits says that a run of the script would touch its key without an objection,
// and do the same whatever the arguments hold. Comparing and passing them on is
// free if they are shorter than what counts as a step.
func (t *template) fits(p *Plan) bool {
	if p.readOnly || p.env.Forbids != nil || len(p.keys) < t.keys || len(p.args) < t.args {
		return false
	}
	return shorterThanAStep(p.keys[:t.keys]) && shorterThanAStep(p.args[:t.args]) && !p.env.reserves(t.key.of(p))
}

func shorterThanAStep(inputs [][]byte) bool {
	for _, b := range inputs {
		if len(b) >= bytesAStep {
			return false
		}
	}
	return true
}

// of is what the input is in a call. There are enough of them, see fits.
func (in templateInput) of(p *Plan) []byte {
	if in.arg {
		return p.args[in.n-1]
	}
	return p.keys[in.n-1]
}

// millis is the expiry in a call, and false if a run has to tell what comes of it.
func (t *templateTTL) millis(p *Plan) (ms int64, ok bool) {
	ms = t.n
	if t.of.n > 0 {
		if ms, ok = parseInt(t.of.of(p)); !ok || ms < 1 || ms >= endOfTemplateTTL {
			return 0, false
		}
	}
	if t.unit.seconds() {
		ms *= 1000
	}
	return ms, p.env.MaxTTL <= 0 || ms <= p.env.MaxTTL
}

// templateOf makes the template of a script, nil if it has none. It takes the
// same steps as [Plan.derive].
func templateOf(script *luaProto) *template {
	t := &template{}
	absent, err := t.guess(script, redlock.CaseAbsent, templateInput{})
	if err != nil || !absent.touched {
		return nil
	}
	other, err := t.guess(script, redlock.CaseOther, templateInput{})
	if err != nil {
		return nil
	}
	if t.token = other.compared; t.token.n > 0 {
		if _, err := t.guess(script, redlock.CaseMine, t.token); err != nil {
			return nil
		}
	}
	if !absent.needsString {
		if _, err := t.guess(script, redlock.CaseWrong, templateInput{}); err != nil {
			return nil
		}
	}
	return t
}

// guess fills the leaf of a case by a run, as [Plan.guess] does.
func (t *template) guess(script *luaProto, c redlock.Case, token templateInput) (*templateRun, error) {
	r := newTemplateRun(t, c, token)
	v, err := r.result(script)
	switch err {
	case errLearn:
		t.leaves[c].effect = redlock.Learn
		return r, nil
	case nil:
		if v.v.kind == luaNumber {
			t.replies[c] = numberReply{toInt64(v.v.num), true}
		}
	case errLua:
	default:
		return nil, err
	}
	t.leaves[c], err = r.effect()
	return r, err
}
