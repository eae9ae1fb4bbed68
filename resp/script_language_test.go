package resp

// languageScripts are about Lua itself: values, operators, control, the
// functions that scripts may use, and the errors of all of them.
func languageScripts() []scriptCase {
	return scripts(
		// what a script can return
		`return 3.99`, `return -3.99`, `return 1e20`, `return 0/0`, `return 1/0`, `return -0`, `return true`, `return false`, `return nil`, `return`, ``, `-- nothing`,
		`return 1, 2`, `return function() end`, `return redis.call`, `return {}`, `return ''`, `return KEYS`, `return ARGV`, `return {KEYS, ARGV}`,
		`return {1, 2, nil, 4}`, `return {1, {2, {3, 'x'}}, true, false, redis.status_reply('x'), redis.error_reply('y')}`,
		`return {ok = 'fine'}`, `return {ok = 1}`, `return {ok = true, 1, 2}`, `return {err = 'X'}`, `return {err = 'X y'}`, `return {err = ''}`, `return {err = 1}`,
		`return {err = 'a\nb'}`, `return {ok = 'a\r\nb'}`, `return {double = 3.5}`, `return {double = 3}`, `return {a = 1, 5}`, `return {[1] = 1, [2] = 2, [4] = 4}`,
		`return redis.error_reply('X')`, `return redis.error_reply('X y z')`, `return redis.error_reply('-X y z')`, `return redis.error_reply('')`,
		`return redis.error_reply('a\nb c')`, `return redis.error_reply(1)`, `return redis.error_reply()`, `return redis.status_reply('X')`, `return redis.status_reply(1)`,
		`redis.setresp(3) return true`, `redis.setresp(3) return {false, true}`, `redis.setresp(3) return nil`, `redis.setresp(3) return redis.call('get', KEYS[1]) == nil`,
		`redis.setresp(3) redis.setresp(2) return true`, `redis.setresp(4)`, `redis.setresp()`,
		// errors
		`error('boom')`, `error('boom', 0)`, `error('boom', 2)`, `error({err = 'MY err'})`, `error({err = 'MYerr'})`, `error(nil)`, `error()`, `error(12)`, `error(true)`,
		"local function f()\n error('x')\nend\n\nf()", "local function f()\n error('x', 2)\nend\n\nf()", "error('a\\nb')",
		`redis.call('set', KEYS[1], 'x') error('boom')`, `redis.call('del', KEYS[1]) return redis.call('get')`, `redis.call('get')`, `return redis.pcall('get')`,
		`redis.call()`, `redis.call({})`, `redis.call('set', KEYS[1], nil)`, `redis.call('get', KEYS[3])`, `return redis.pcall('set', KEYS[1], {})`,
		`return {pcall(error, 'x')}`, `return {pcall(error, {err = 'x'})}`, `return {pcall(function() error('x') end)}`, `return {pcall(function() return 1, 2 end)}`,
		`local ok, e = pcall(redis.call, 'get') return {tostring(ok), e}`, `local ok, e = pcall(redis.call, 'get', KEYS[1]) return {tostring(ok), e}`,
		`local ok, e = pcall(redis.call, 'get') error(e)`, `return {pcall(nil)}`, `return {pcall(pcall, error, 'x')}`,
		`assert(false)`, `assert(false, 'msg')`, `assert(nil, {err = 'x'})`, `return assert(1, 2)`, `assert()`,
		"\n\nlocal a = 1 + nil", `local a = nil .. 'x'`, `local a = {} < 1`, `local a = nil; a.b = 1`, `local t = {}; t.x.y = 1`, `local s = 'x'; s.y = 1`,
		`local a = foo`, `foo = 1`, `KEYS = {}`, `redis = 1`, `redis.x = 1`, `string.x = 1`, `function f() return 1 end return f()`, `foo()`, `local x; x()`,
		`redis.foo()`, `return redis.foo`, `return ARGV[5] + 1`, `return ARGV[5] .. 'x'`, `local a = {} return a.b.c`, `local a = {} return a['b'].c`,
		`local a = {} local k = 'b' return a[k].c`, `local a = nil; local function f() return a.b end return f()`, `local a = nil; local function f() return a() end return f()`,
		`local a = 'x'; return a:foo()`, `local a = 5; return a:foo()`, `return KEYS[5].x`, `return KEYS.x.y`, `return -{}`, `return #5`, `return {} .. 'x'`, `return 'abc' + 1`,
		`return 'a' < 1`, `return {} < {}`, `return nil > 1`, `local t = {} t[nil] = 1`, `local t = {} t[0/0] = 1`, `for i = 1, 'x' do end`, `for i = {}, 1 do end`,
		`for k in 5 do end`, `for k in nil do end`, `return print`, `return os`, `return dofile`,
		// what Lua does not compile
		`break`, `x =`, `return ==`, `if`, `local a = 'x`, `local a = function() return ... end`, `goto x`,
		// operators and numbers
		`return '10' + 5`, `return '0x10' + 0`, `return 0x10`, `return 08`, `return 1 .. 2`, `return -'2'`, `return #'abc'`, `return 2^10`, `return -2^2`, `return 2^-1 * 10`,
		`return 7 % 3`, `return -7 % 3`, `return 5 % -3`, `return 5.5 % 2`, `return 5 % 0`, `return 'a' < 'b'`, `return 'B' >= 'a'`, `return '' < 'a'`, `return 'a\0b' < 'a\0c'`,
		`return nil == false`, `return 1 == '1'`, `return 0 == -0`, `return not nil`, `return not 0`, `return nil and 1`, `return false or 'x'`, `return 1 and 2 or 3`,
		`return 10 / 4`, `return 2 - 3 - 4`, `return 'a' .. 'b' .. 1 .. 2.5`, `return 1 + 2 < 4`, `return (1 < 2) == true`,
		`return tostring(1e15)`, `return tostring(123456789012345)`, `return 1.1 .. ''`, `return tostring(0/0) .. tostring(1/0) .. tostring(-1/0)`, `return tostring(-0)`,
		`return tostring(1e100)`, `return tostring(0.1)`, `return tostring(1/3)`, `return tostring(2^53)`, `return tostring(99999999999999)`, `return tostring(100000000000000)`, `return tostring(1e-5)`, `return tostring(123456.789e3)`,
		`return {tonumber('  10  '), tonumber('1e1'), tonumber('0x1F'), tonumber('-0x1F'), tonumber('z', 36), tonumber('101', 2)}`,
		`return tonumber('')`, `return tonumber('abc')`, `return tonumber('1 2')`, `return tonumber('1_0')`, `return tonumber(nil)`, `return tonumber()`, `return tonumber('7', 99)`,
		`return tostring(nil) .. tostring(true) .. tostring('x') .. tostring(5)`, `return tostring()`, `return type()`, `return type(nil) .. type(1) .. type('') .. type({}) .. type(type) .. type(true)`,
		// control
		`local n = 0 for i = 10, 1, -1 do n = n + i end return n`, `for i = 1, 0 do return 1 end return 2`, `for i = 1, 3 do if i == 2 then return i end end`,
		`local n = 0 for i = 1, 3 do for j = 1, 3 do if j == 2 then break end n = n + 1 end end return n`, `local n = 0 while true do n = n + 1 if n > 5 then break end end return n`,
		`local n = 0 repeat local m = n n = n + 1 until m == 3 return n`, `for i = 0.5, 2 do return tostring(i) end`, `for i = '1', 2 do return i end`, `for i = 1, 10, 0 do break end return 5`,
		`local t = {} for k, v in pairs({10, 20, x = 30}) do t[#t + 1] = v end return t`, `local t = {} for i, v in ipairs({1, 2, nil, 4}) do t[i] = v end return t`,
		`local t = {} for k in next, {5, 6} do t[#t + 1] = k end return t`, `for i, v in ipairs(nil) do end`, `for i, v in pairs() do end`, `ipairs()`,
		`do local x = 1 end return x`, `local x = 1 do local x = 2 end return x`, `local x = 1 if true then x = 2 end return x`, `local a, b, c = 1, 2 return {a, b, tostring(c)}`,
		`local a, b = 1, 2 a, b = b, a return {a, b}`, `local t = {1, 2} local i = 1 i, t[i] = 2, 9 return {i, t[1], t[2]}`, `local a = {} a.b = {} a.b.c = 5 return a.b.c`,
		`local x = 1 local x = x + 1 return x`, `if nil then return 1 elseif false then return 2 elseif 0 then return 3 else return 4 end`,
		// functions
		`local function f(a, b) return b, a end return {f(1, 2)}`, `local function f(a, ...) return select('#', ...), ... end return {f(1, 2, 3)}`, `local function f(...) local a, b = ... return {a, b} end return f(1, 2, 3)`,
		`local function f() return 1, 2 end return {f(), f()}`, `local function f() return 1, 2 end return {(f())}`, `local function f(...) return ... end return {f(), 5, f(6, 7)}`,
		`local function fact(n) if n <= 1 then return 1 end return n * fact(n - 1) end return fact(10)`, `local f = function(x) return x + 1 end return f(f(1))`,
		`local n = 0 local function up() n = n + 1 return n end up() up() return n`, `local fs = {} for i = 1, 3 do fs[i] = function() return i end end return {fs[1](), fs[2](), fs[3]()}`,
		`local function counter() local c = 0 return function() c = c + 1 return c end end local a, b = counter(), counter() a() a() return {a(), b()}`,
		`local function a() local x = 1 local function b() local function c() x = x + 1 return x end return c end return b()() end return a()`,
		`local t = {} function t.f(x) return x * 2 end function t:g(y) return self.f(y) + 1 end return t:g(5)`, `local a = {b = {}} function a.b.c() return 7 end return a.b.c()`,
		`return (function(...) return select(2, ...) end)(1, 2, 3)`, `return ...`, `return select('#', ...)`, `local call = redis.call return call('ping')`, `local r = redis return r.call('echo', 'x')`,
		`local f = function() return 1 end local g = f f = function() return 2 end return {f(), g()}`, `local x = 5 local function f(x) x = x + 1 return x end return {f(1), x}`,
		// tables
		`local t = {1, 2, 3} t[#t + 1] = 4 t[#t] = nil return #t`, `local t = {} t[2] = 'b' t[1] = 'a' t[3] = 'c' return {#t, t[1], t[2], t[3]}`, `local t = {n = 1, [2] = 3, 'x'; 'y'} return {t.n, t[1], t[2], #t}`,
		`local t = {} for i = 1, 300 do t[i] = i end return {#t, t[300], unpack(t, 299)}`, `local t = {} for i = 1, 20 do t['k' .. i] = i end return {t.k1, t.k20, tostring(t.k21)}`,
		`local t = {} t[1.5] = 'x' t[true] = 'y' return {t[1.5], t[true]}`, `return #{1, 2, nil}`, `return #{nil, nil, 3}`, `return {[1] = 'x', 'y'}`, `return next({})`, `return {next({10})}`, `return next({a = 1}, 'b')`,
		`local t = {1, 2, 3} table.insert(t, 4) table.insert(t, 1, 0) return t`, `local t = {1, 2, 3} local r = table.remove(t) return {r, #t, table.remove(t, 1), #t}`, `return table.remove({})`,
		`return table.concat({1, 2, 3}, ',')`, `return table.concat({}, ',')`, `return table.concat({1, 2, 3}, '', 2, 3)`, `return table.concat({1, {}, 3}, ',')`, `return table.getn({1, 2})`,
		`table.insert({}, 1, 2, 3)`, `table.insert({})`, `table.insert(nil, 1)`, `return unpack({1, 2, 3})`, `return {unpack({1, 2, 3}, 2)}`, `return {unpack({1, 2, 3}, 2, 5)}`, `return unpack()`,
		`return {select(2, 'a', 'b', 'c')}`, `return {select(-1, 'a', 'b', 'c')}`, `return select(0)`, `return select('#')`, `return rawget({5}, 1)`, `return rawequal('a', 'a')`, `return rawset({}, 1, 2)`, `return rawequal(1)`,
		`KEYS[1] = 'x' return KEYS[1]`, `ARGV[9] = 'z' return #ARGV`, `local t = {} t[t] = 1 return t[t]`,
		// strings
		`return ('abc'):sub(-2)`, `return string.sub('abc', 2, 2)`, `return ('abc'):sub(0)`, `return ('abc'):sub(2, -1)`, `return ('abc'):sub(5)`, `return ('abc'):sub(-10, 2)`, `return ('abc'):sub(3, 1)`, `return string.sub()`, `return ('x'):sub()`,
		`return ('x'):rep(3)`, `return ('x'):rep(0)`, `return ('x'):rep(-1)`, `return ('x'):rep()`, `return ('x').rep('y')`, `return string.rep('y')`, `return ('x'):rep('y')`,
		`return ('aBc'):upper() .. ('aBc'):lower() .. ('abc'):reverse()`, `return {('abc'):byte(1, -1)}`, `return ('abc'):byte()`, `return {('abc'):byte(10)}`, `return ('abc'):byte(-1)`, `return string.char(65, 66)`, `return string.char()`, `return string.char(256)`,
		`return ('abc'):len()`, `return {('hello'):find('l', 1, true)}`, `return {('hello'):find('l')}`, `return ('hello'):find('z')`, `return {('a.b'):find('.', 1, true)}`, `return {('hello'):find('l', 4)}`, `return {('hello'):find('')}`, `return {('hello'):find('', 10)}`, `return {('hello'):find('o', -1)}`,
		`return string.format('%d %s %5.1f %x %q', '3', 'a', 2.25, 255, 'q"')`, `return string.format('%d', 'x')`, `return string.format('%s')`, `return string.format('%y', 1)`, `return string.format('%s', {}) == nil`, `return string.format('%s', true)`,
		`return string.format('%5d|%-5d|%05d|%+d', 1, 2, 3, 4)`, `return string.format('%%')`, `return string.format('%g %g %g', 1e20, 0.1, 100000)`, `return string.format('%.14g', 2^53)`, `return string.format('%c%c', 65, 66)`, `return string.format('%10s|%-10s|%.2s', 'a', 'b', 'cde')`, `return string.format('%i %u %o %X', 5, 6, 8, 255)`, `return string.format('%e %E', 1.5, 1.5)`, `return string.format('%.3f', 1/3)`, `return string.format('%d', 3.7)`,
		`return 'a\065\n\t\\"\''`, `return "\x"`, `return [[a
b]]`, `return [==[x]]y]==]`, `return ("x"):rep(3):upper():sub(2)`, `return #"\0\0"`,
		// mathematics
		`return {math.floor(2.5), math.ceil(2.5), math.floor(-2.5), math.max(1, 5, 3), math.min(4, 2), math.abs(-3)}`, `return math.max()`, `return math.max('x')`, `return tostring(math.huge)`, `return math.floor('3.7')`, `return tostring(math.pi)`, `return {math.sqrt(16), math.pow(2, 3), math.fmod(7, 3)}`,
		// the redis library
		`return redis.sha1hex('abc')`, `return redis.sha1hex('')`, `return redis.sha1hex(1)`, `return redis.sha1hex()`, `return redis.log(redis.LOG_WARNING, 'x')`, `redis.log('x')`, `redis.log(9, 'x')`, `return redis.replicate_commands()`, `return redis.set_repl(redis.REPL_ALL)`, `redis.set_repl()`, `return redis.LOG_DEBUG`, `return redis.breakpoint()`, `return redis.debug('x')`,
		// a first line with flags
		"#!lua\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], 'v')", "#!lua flags=no-writes,allow-stale\nreturn redis.call('get', KEYS[1])", "#!lua flags=foo\nreturn 1", "#!foo\nreturn 1", "#!lua name=x\nreturn 1", "#!lua", "#!lua flags=allow-oom\nreturn nil + 1", "#\nreturn 1",
	)
}

// commandScripts are about the commands that scripts may call.
func commandScripts() []scriptCase {
	texts := []string{
		`redis.call('set', KEYS[1], 1.5) return redis.call('get', KEYS[1])`, `redis.call('set', KEYS[1], 1.1) return redis.call('get', KEYS[1])`, `redis.call('set', KEYS[1], 1e15) return redis.call('get', KEYS[1])`, `redis.call('set', KEYS[1], 1e17) return redis.call('get', KEYS[1])`, `redis.call('set', KEYS[1], -3) return redis.call('get', KEYS[1])`,
		`return redis.call('select', '99')`, `return redis.call('select', 'x')`, `return redis.call('select', 1)`, `return redis.call('ping')`, `return redis.call('ping', 'x')`, `return redis.call('ping', 'x', 'y')`, `return redis.call('echo', 'x')`, `return #redis.call('time')`, `return type(redis.call('time')[1])`, `return redis.call('time', 'x')`, `return {type(redis.call('get', KEYS[1])), type(redis.call('ping')), type(redis.call('exists', KEYS[1]))}`,
		`redis.call('set', KEYS[1], 'v') redis.call('pexpire', KEYS[1], 0) return redis.call('get', KEYS[1])`, `redis.call('set', KEYS[1], 'v', 'px', 60000) return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1]), redis.call('ttl', KEYS[1])}`, `redis.call('set', KEYS[1], 'v') return {redis.call('pttl', KEYS[1]), redis.call('ttl', KEYS[1]), redis.call('persist', KEYS[1])}`, `redis.call('set', KEYS[1], 'v', 'ex', 50) return {redis.call('pttl', KEYS[1]), redis.call('ttl', KEYS[1]), redis.call('persist', KEYS[1]), redis.call('ttl', KEYS[1])}`,
		`redis.call('set', KEYS[1], 'v', 'pxat', 1) return redis.call('exists', KEYS[1])`, `redis.call('set', KEYS[1], 'v', 'px', 60000) redis.call('set', KEYS[1], 'w', 'keepttl') return redis.call('pttl', KEYS[1])`, `redis.call('del', KEYS[1]) redis.call('set', KEYS[1], 'w', 'keepttl', 'nx') return redis.call('pttl', KEYS[1])`,
		`redis.call('del', KEYS[1]) return redis.call('set', KEYS[1], 'new', 'px', 5000)`, `redis.call('set', KEYS[1], 'x', 'px', 5000) redis.call('del', KEYS[1]) return redis.call('exists', KEYS[1])`, `redis.call('setnx', KEYS[1], 'x') return redis.call('pexpire', KEYS[1], 60000)`,
		`return redis.call('set', KEYS[1], 'tok', 'px', 5000)`, `return redis.call('set', KEYS[1], 'tok', 'keepttl')`, `return redis.call('set', KEYS[1], 'v', 'get')`, `return redis.call('set', KEYS[1], 'v', 'xx', 'get', 'px', 5000)`, `return {redis.call('set', KEYS[1], 'v', 'nx', 'get', 'px', 5000)}`, `local old = redis.call('set', KEYS[1], 'v', 'get', 'px', 5000) if old == ARGV[1] then return 'mine' end return 'not'`,
	}
	for _, call := range []string{
		`'get', KEYS[1]`, `'strlen', KEYS[1]`, `'type', KEYS[1]`, `'ttl', KEYS[1]`, `'pttl', KEYS[1]`, `'exists', KEYS[1]`, `'exists', KEYS[1], KEYS[1]`, `'del', KEYS[1], KEYS[1]`, `'getdel', KEYS[1]`, `'persist', KEYS[1]`, `'mget', KEYS[1], KEYS[1]`,
		`'getrange', KEYS[1], 0, -1`, `'getrange', KEYS[1], 1, 1`, `'getrange', KEYS[1], -2, -1`, `'getrange', KEYS[1], -1, -2`, `'getrange', KEYS[1], 5, 2`, `'getrange', KEYS[1], -100, 100`, `'getrange', KEYS[1], 'a', -1`, `'substr', KEYS[1], 0, 1`,
		`'setnx', KEYS[1], 'v'`, `'setex', KEYS[1], 50, 'v'`, `'psetex', KEYS[1], 5000, 'v'`, `'setex', KEYS[1], 0, 'v'`, `'psetex', KEYS[1], -1, 'v'`, `'setex', KEYS[1], 'x', 'v'`, `'mset', KEYS[1], 'v'`, `'mset', KEYS[1], 'v', KEYS[1], 'w'`, `'mset', KEYS[1], 'v', KEYS[1]`, `'mset', KEYS[1]`, `'msetnx', KEYS[1], 'v'`, `'msetnx', KEYS[1], 'v', KEYS[1]`,
		`'set', KEYS[1], 'v', 'px', 0`, `'set', KEYS[1], 'v', 'px', 'x'`, `'set', KEYS[1], 'v', 'foo'`, `'set', KEYS[1], 'v', 'px'`, `'set', KEYS[1], 'v', 'px', 1, 'ex', 1`, `'set', KEYS[1], 'v', 'nx', 'xx'`, `'set', KEYS[1], 'v', 'px', '1.5'`, `'set', KEYS[1], 'v', 'px', 5e3`, `'set', KEYS[1], 'v', 'px', 1.5`, `'set', KEYS[1], 'v', 'px', ' 5'`, `'set', KEYS[1], 'v', 'px', '9223372036854775807'`, `'set', KEYS[1], 'v', 'ex', '9223372036854775807'`, `'set', KEYS[1], 'v', 'keepttl', 'px', 5`, `'set', KEYS[1], 'v', 'pxat', 1`, `'set', KEYS[1], 'v', 'exat', 1, 'nx'`, `'set', KEYS[1], 'v', 'xx'`, `'set', KEYS[1], 'v', 'xx', 'keepttl'`, `'set', KEYS[1], 'v', 'nx'`,
		`'expire', KEYS[1], 50`, `'expire', KEYS[1], 'x'`, `'expire', KEYS[1], '9223372036854775807'`, `'expire', KEYS[1], 10, 'foo'`, `'expire', KEYS[1], 10, 'nx', 'gt'`, `'expire', KEYS[1], 10, 'gt', 'lt'`, `'expire', KEYS[1], 50, 'nx'`, `'expire', KEYS[1], 50, 'xx'`, `'expire', KEYS[1], 50, 'gt'`, `'expire', KEYS[1], 50, 'lt'`, `'pexpire', KEYS[1], 500000, 'gt'`, `'pexpire', KEYS[1], 500000, 'lt', 'xx'`, `'expire', KEYS[1], 0`, `'pexpire', KEYS[1], -1`, `'expireat', KEYS[1], 1`, `'pexpireat', KEYS[1], 1`, `'pexpireat', KEYS[1], 99999999999999`, `'expire', KEYS[1]`,
	} {
		texts = append(texts, `return redis.call(`+call+`)`, `local r = redis.pcall(`+call+`) return {type(r), r}`, `redis.setresp(3) return redis.call(`+call+`)`)
	}
	return scripts(texts...)
}
