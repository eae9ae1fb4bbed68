package resp

import (
	"errors"
	"math"

	"redlock-proxy/redlock"
)

// The run that makes a template knows of the arguments only which they are. It is
// no run of the luaMachine with one more kind of value: whatever builtin or
// operator forgot about that kind would let a lock script do what it was not
// seen to do. It knows the few things that the scripts of lock libraries consist
// of, and ends with errNoTemplate at everything else.
//
// There are no loops and no functions in them, so each part runs once, and
// maxTemplateSteps of them are far from every bound of a real run.

var errNoTemplate = errors.New("script: what it does may depend on its arguments")

const maxTemplateSteps = 256

// maxTemplateInput is the highest index that a template reads.
const maxTemplateInput = 64

// templateSort is what is known of a templateValue.
type templateSort uint8

const (
	sortKnown  templateSort = iota // it is in v
	sortInput                      // a string: the key or argument in
	sortNumber                     // the number that this spells
	sortHeld                       // the string at the key, which is not known
	sortReply                      // a table: a status, or an error
	sortKeys                       // KEYS
	sortArgv                       // ARGV
)

type templateValue struct {
	sort templateSort
	v    luaValue
	in   templateInput
}

func known(v luaValue) templateValue { return templateValue{v: v} }

// truthy is what a condition makes of v.
func (v *templateValue) truthy() bool { return v.sort != sortKnown || v.v.truthy() }

// typeName is what Lua's type returns.
func (v *templateValue) typeName() string {
	switch v.sort {
	case sortKnown:
		return v.v.typeName()
	case sortInput, sortHeld:
		return "string"
	case sortNumber:
		return "number"
	}
	return "table"
}

// isKnown says that v is known, and of a kind.
func (v *templateValue) isKnown(kind luaKind) bool { return v.sort == sortKnown && v.v.kind == kind }

// templateRun is one run: a script, and the only key that it touches.
type templateRun struct {
	t      *template
	assume redlock.Case
	locals map[*luaLocal]templateValue
	steps  int

	// As in lockModel and modelKey.
	touched, needsString bool
	kind                 redlock.Kind
	value                templateValue
	ttl                  int // as in templateLeaf
	wrote, timed         bool

	compared templateInput // what the unknown value was compared with
}

func newTemplateRun(t *template, c redlock.Case, token templateInput) *templateRun {
	r := &templateRun{t: t, assume: c, locals: map[*luaLocal]templateValue{}}
	switch c {
	case redlock.CaseMine:
		r.kind, r.value = redlock.Text, templateValue{sort: sortInput, in: token}
	case redlock.CaseOther:
		r.kind, r.value = redlock.Text, templateValue{sort: sortHeld}
	case redlock.CaseWrong:
		r.kind = redlock.WrongType
	}
	return r
}

// result is what the script returns. It is known, or a reply or an input, of
// which the plan remembers nothing.
func (r *templateRun) result(script *luaProto) (templateValue, error) {
	v, _, err := r.block(script.body)
	switch {
	case err != nil:
		return v, err
	case v.sort == sortHeld:
		return v, errLearn
	case v.sort == sortInput || v.sort == sortReply:
		return v, nil
	case v.sort == sortKnown && v.v.kind <= luaString:
		return v, nil
	}
	return v, errNoTemplate
}

// step counts a part of the script.
func (r *templateRun) step() error {
	if r.steps++; r.steps > maxTemplateSteps {
		return errNoTemplate
	}
	return nil
}

// block runs statements until one returns a value.
func (r *templateRun) block(block []luaStmt) (v templateValue, returned bool, err error) {
	for _, s := range block {
		if v, returned, err = r.exec(s); returned || err != nil {
			break
		}
	}
	return v, returned, err
}

func (r *templateRun) exec(s luaStmt) (v templateValue, returned bool, err error) {
	if err := r.step(); err != nil {
		return v, false, err
	}
	switch s := s.(type) {
	case *localStmt:
		values, err := r.list(&s.values)
		for i, l := range s.locals {
			r.locals[l] = nth(values, i)
		}
		return v, false, err
	case *assignStmt:
		return v, false, r.assign(s)
	case *callStmt:
		_, err := r.eval(s.call)
		return v, false, err
	case *doStmt:
		return r.block(s.body)
	case *ifStmt:
		return r.branch(s)
	case *returnStmt:
		values, err := r.list(&s.values)
		return nth(values, 0), true, err
	}
	return v, false, errNoTemplate
}

// nth is a value in a list, nil behind the last.
func nth(values []templateValue, i int) templateValue {
	if i < len(values) {
		return values[i]
	}
	return templateValue{}
}

func (r *templateRun) assign(s *assignStmt) error {
	local, ok := s.targets[0].(*localExpr)
	if !ok || len(s.targets) > 1 {
		return errNoTemplate
	}
	values, err := r.list(&s.values)
	r.locals[local.l] = nth(values, 0)
	return err
}

func (r *templateRun) branch(s *ifStmt) (v templateValue, returned bool, err error) {
	for i := range s.clauses {
		c := &s.clauses[i]
		if c.condition == nil {
			return r.block(c.body)
		}
		is, err := r.eval(c.condition)
		if err != nil {
			return v, false, err
		}
		if is.truthy() {
			return r.block(c.body)
		}
	}
	return v, false, nil
}

// list evaluates expressions. A call at the end has one value, as all functions
// that are called here.
func (r *templateRun) list(l *luaList) ([]templateValue, error) {
	exprs := l.exprs
	if l.rest != nil {
		call, ok := l.rest.(*callExpr)
		if !ok {
			return nil, errNoTemplate
		}
		exprs = append(exprs[:len(exprs):len(exprs)], call)
	}
	values := make([]templateValue, len(exprs))
	for i, e := range exprs {
		var err error
		if values[i], err = r.eval(e); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r *templateRun) eval(e luaExpr) (templateValue, error) {
	if err := r.step(); err != nil {
		return templateValue{}, err
	}
	switch e := e.(type) {
	case *constExpr:
		return known(e.v), nil
	case *localExpr:
		if v, ok := r.locals[e.l]; ok {
			return v, nil
		}
	case keysExpr:
		return templateValue{sort: sortKeys}, nil
	case argvExpr:
		return templateValue{sort: sortArgv}, nil
	case *indexExpr:
		return r.index(e)
	case *logicExpr:
		v, err := r.eval(e.left)
		if err != nil || v.truthy() == e.or {
			return v, err
		}
		return r.eval(e.right)
	case *notExpr:
		v, err := r.eval(e.of)
		return known(luaBool(!v.truthy())), err
	case *equalExpr:
		equal, err := r.equal(e)
		return known(luaBool(equal != e.negate)), err
	case *negateExpr:
		v, err := r.eval(e.of)
		if err == nil && v.isKnown(luaNumber) {
			return known(luaNum(-v.v.num)), nil
		}
	case *tableExpr:
		return r.reply(e)
	case *callExpr:
		return r.call(e)
	}
	return templateValue{}, errNoTemplate
}

// index is KEYS[n] or ARGV[n]. That it is there is seen to in template.fits.
func (r *templateRun) index(e *indexExpr) (templateValue, error) {
	object, err := r.eval(e.object)
	if err != nil {
		return object, err
	}
	key, err := r.eval(e.key)
	if err != nil {
		return key, err
	}
	if !key.isKnown(luaNumber) || key.v.num != math.Trunc(key.v.num) || key.v.num < 1 || key.v.num > maxTemplateInput {
		return key, errNoTemplate
	}
	n := int(key.v.num)
	switch object.sort {
	case sortKeys:
		r.t.keys = max(r.t.keys, n)
	case sortArgv:
		r.t.args = max(r.t.args, n)
	default:
		return key, errNoTemplate
	}
	return templateValue{sort: sortInput, in: templateInput{object.sort == sortArgv, n}}, nil
}

// equal is the == operator. What the unknown value is compared with is the token,
// and a second one is for the real runs. Two different inputs may be equal or not.
func (r *templateRun) equal(e *equalExpr) (bool, error) {
	a, err := r.eval(e.left)
	if err != nil {
		return false, err
	}
	b, err := r.eval(e.right)
	if err != nil {
		return false, err
	}
	if a.sort == sortInput && b.sort == sortHeld {
		a, b = b, a
	}
	switch {
	case a.sort == sortKnown && b.sort == sortKnown:
		return rawEqual(&a.v, &b.v), nil
	case a.typeName() != b.typeName():
		return false, nil
	case a.sort == sortInput && b.sort == sortInput && a.in == b.in, a.sort == sortHeld && b.sort == sortHeld:
		return true, nil
	case a.sort == sortHeld && b.sort == sortInput && (r.compared.n == 0 || r.compared == b.in):
		r.compared = b.in
		return false, nil
	}
	return false, errNoTemplate
}

// reply is {err = "…"} or {ok = "…"}.
func (r *templateRun) reply(e *tableExpr) (templateValue, error) {
	if len(e.keys) != 1 || e.keys[0] == nil || e.rest != nil {
		return templateValue{}, errNoTemplate
	}
	key, err := r.eval(e.keys[0])
	if err != nil {
		return key, err
	}
	text, err := r.eval(e.values[0])
	if err != nil {
		return text, err
	}
	if !text.isKnown(luaString) || !key.isKnown(luaString) || string(key.v.str) != "err" && string(key.v.str) != "ok" {
		return text, errNoTemplate
	}
	return templateValue{sort: sortReply}, nil
}
