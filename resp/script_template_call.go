package resp

import "redlock-proxy/redlock"

// The functions that a run for a template knows.
var (
	templateRedis = luaGlobals.getName("redis").tab

	templateRedisCall   = templateRedis.getName("call").fn
	templateRedisPcall  = templateRedis.getName("pcall").fn
	templateErrorReply  = templateRedis.getName("error_reply").fn
	templateStatusReply = templateRedis.getName("status_reply").fn
	templateToNumber    = luaGlobals.getName("tonumber").fn
	templateType        = luaGlobals.getName("type").fn
)

func (r *templateRun) call(e *callExpr) (templateValue, error) {
	fn, err := r.eval(e.fn)
	if err != nil {
		return fn, err
	}
	args, err := r.list(&e.args)
	switch {
	case err != nil:
		return templateValue{}, err
	case e.method.kind != luaNil || !fn.isKnown(luaFunction) || len(args) == 0:
		return fn, errNoTemplate
	case fn.v.fn == templateRedisCall:
		return r.command(args, true)
	case fn.v.fn == templateRedisPcall:
		return r.command(args, false)
	case len(args) > 1:
		return fn, errNoTemplate
	}
	switch arg := &args[0]; fn.v.fn {
	case templateErrorReply, templateStatusReply:
		if arg.isKnown(luaString) {
			return templateValue{sort: sortReply}, nil
		}
	case templateToNumber:
		return r.toNumber(arg)
	case templateType:
		return known(luaStr([]byte(arg.typeName()))), nil
	}
	return fn, errNoTemplate
}

// toNumber makes a number of what a command returned, and of an expiry.
func (r *templateRun) toNumber(v *templateValue) (templateValue, error) {
	switch v.sort {
	case sortKnown:
		if n, ok := v.v.number(); ok {
			return known(luaNum(n)), nil
		}
		return templateValue{}, nil
	case sortInput:
		_, err := r.expiry(v, unitMillis) // nil if it is no number
		return templateValue{sort: sortNumber, in: v.in}, err
	case sortNumber:
		return *v, nil
	case sortReply:
		return templateValue{}, nil
	}
	return *v, errNoTemplate
}

// command runs a command of which no argument but an expiry can be wrong. The
// only error is that of a key with another type.
func (r *templateRun) command(args []templateValue, raising bool) (templateValue, error) {
	if !args[0].isKnown(luaString) {
		return args[0], errNoTemplate
	}
	var buf [len("pexpire")]byte
	name := string(fold(buf[:], args[0].v.str))
	if len(args) < 2 || !r.touch(&args[1], name == "get" && raising) {
		return args[0], errNoTemplate
	}
	switch {
	case name == "get" && len(args) == 2:
		return r.get(raising)
	case name == "exists" && len(args) == 2:
		return r.count(), nil
	case (name == "del" || name == "unlink") && len(args) == 2:
		deleted := r.count()
		r.remove()
		return deleted, nil
	case name == "expire" && len(args) == 3:
		return r.expire(&args[2], unitSeconds)
	case name == "pexpire" && len(args) == 3:
		return r.expire(&args[2], unitMillis)
	case name == "setnx" && len(args) == 3:
		stored := !r.exists()
		return oneIf(stored), r.set(&args[2], noTemplateTTL, stored)
	case name == "setex" && len(args) == 4:
		return r.setWithExpiry(&args[3], &args[2], unitSeconds, true)
	case name == "psetex" && len(args) == 4:
		return r.setWithExpiry(&args[3], &args[2], unitMillis, true)
	case name == "set" && len(args) >= 3:
		return r.setWithOptions(&args[2], args[3:])
	}
	return args[0], errNoTemplate
}

func oneIf(b bool) templateValue {
	if b {
		return known(luaNum(1))
	}
	return known(luaNum(0))
}

// touch says that v is the one key of the script.
func (r *templateRun) touch(v *templateValue, getThatRaises bool) bool {
	if v.sort != sortInput || r.t.key.n > 0 && r.t.key != v.in {
		return false
	}
	r.needsString = r.needsString || !r.touched && getThatRaises
	r.t.key, r.touched = v.in, true
	return true
}

func (r *templateRun) exists() bool { return r.kind != redlock.Absent }

// count is 1 if the key exists.
func (r *templateRun) count() templateValue { return oneIf(r.exists()) }

func (r *templateRun) remove() {
	r.kind, r.value, r.wrote, r.timed = redlock.Absent, templateValue{}, true, true
}

func (r *templateRun) get(raising bool) (templateValue, error) {
	switch {
	case r.kind == redlock.Text:
		return r.value, nil
	case r.kind == redlock.Absent:
		return known(luaBool(false)), nil
	case raising:
		return templateValue{}, errLua
	}
	return templateValue{sort: sortReply}, nil
}

func (r *templateRun) expire(v *templateValue, u unit) (templateValue, error) {
	ttl, err := r.expiry(v, u)
	if err == nil && r.exists() {
		r.ttl, r.timed = ttl, true
	}
	return r.count(), err
}

// expiry adds an expiry to the template.
func (r *templateRun) expiry(v *templateValue, u unit) (int, error) {
	x := templateTTL{unit: u}
	switch {
	case v.sort == sortInput || v.sort == sortNumber:
		x.of = v.in
	case v.isKnown(luaNumber) || v.isKnown(luaString):
		text := v.v.str
		if v.v.kind == luaNumber {
			text = appendLuaNumber(nil, v.v.num, 17)
		}
		n, ok := parseInt(text)
		if !ok || n < 1 || n >= endOfTemplateTTL {
			return 0, errNoTemplate
		}
		x.n = n
	default:
		return 0, errNoTemplate
	}
	for i := range r.t.ttls {
		if r.t.ttls[i] == x {
			return i, nil
		}
	}
	if len(r.t.ttls) == maxTemplateTTLs {
		return 0, errNoTemplate
	}
	r.t.ttls = append(r.t.ttls, x)
	return len(r.t.ttls) - 1, nil
}

// setWithOptions is SET with NX, XX, EX and PX, each at most once.
func (r *templateRun) setWithOptions(value *templateValue, options []templateValue) (templateValue, error) {
	write, u := true, unitNone
	var expiry *templateValue
	conditions := 0
	for i := 0; i < len(options); i++ {
		if !options[i].isKnown(luaString) {
			return options[i], errNoTemplate
		}
		var buf [2]byte
		switch string(fold(buf[:], options[i].v.str)) {
		case "nx":
			write, conditions = !r.exists(), conditions+1
			continue
		case "xx":
			write, conditions = r.exists(), conditions+1
			continue
		case "ex":
			u = unitSeconds
		case "px":
			u = unitMillis
		default:
			return options[i], errNoTemplate
		}
		if i++; i == len(options) || expiry != nil {
			return *value, errNoTemplate
		}
		expiry = &options[i]
	}
	if conditions > 1 {
		return *value, errNoTemplate
	}
	return r.setWithExpiry(value, expiry, u, write)
}

// setWithExpiry is a SET whose condition is met if it says write. Without an
// expiry the unit is unitNone.
func (r *templateRun) setWithExpiry(value, expiry *templateValue, u unit, write bool) (templateValue, error) {
	ttl := noTemplateTTL
	if u != unitNone {
		var err error
		if ttl, err = r.expiry(expiry, u); err != nil {
			return *value, err
		}
	}
	if err := r.set(value, ttl, write); err != nil || !write {
		return known(luaBool(false)), err
	}
	return templateValue{sort: sortReply}, nil
}

// set stores an input.
func (r *templateRun) set(value *templateValue, ttl int, write bool) error {
	if value.sort != sortInput {
		return errNoTemplate
	}
	if write {
		r.kind, r.value, r.ttl, r.wrote, r.timed = redlock.Text, *value, ttl, true, true
	}
	return nil
}

// effect is what the run did to the key, as [modelKey.effect] tells it.
func (r *templateRun) effect() (leaf templateLeaf, err error) {
	if !r.exists() {
		if r.assume != redlock.CaseAbsent {
			leaf.effect = redlock.Delete
		}
		return leaf, nil
	}
	mine := r.assume == redlock.CaseMine
	switch {
	case mine && r.wrote && r.value.in != r.t.token:
		return leaf, errNoTemplate // whether it is stored or renewed depends on what they are
	case r.wrote && !mine:
		leaf = templateLeaf{redlock.Set, r.value.in, r.ttl}
	case r.timed:
		leaf = templateLeaf{effect: redlock.Expire, ttl: r.ttl}
	default:
		return leaf, nil
	}
	r.t.defaultTTL = r.t.defaultTTL || leaf.ttl == noTemplateTTL
	return leaf, nil
}
