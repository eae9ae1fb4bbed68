package resp

import (
	"strings"
	"testing"
	"time"
)

func TestRefusalsNameTheReason(t *testing.T) {
	e := testEnv()
	e.MaxTTL = 1_000_000
	deep := strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100)
	nested := "return " + strings.Repeat("{", 100) + strings.Repeat("}", 100)
	for _, test := range []struct{ text, want string }{
		{`for i = 1, 128 do redis.call('get', 'k' .. i) end`, ""},
		{`for i = 1, 129 do redis.call('get', 'k' .. i) end`, "touches more than 128 keys"},
		{`if redis.call('get', 'a') == 'x' then redis.call('select', 1) redis.call('get', 'b') end`, "in more than one database (0 and 1)"},
		{`redis.call('get', KEYS[1]) redis.call('select', 1) redis.call('get', KEYS[1])`, "in more than one database (0 and 1)"},
		{`if redis.call('get', KEYS[1]) == 'tok' then redis.call('hset', 'c', 'x', 'y') end`, "calls 'HSET'"},
		{`redis.pcall('sadd', KEYS[1], 'x')`, "calls 'SADD'"},
		{`return cjson.encode({})`, "uses 'cjson'"},
		{`local e = cjson.encode`, "uses 'cjson'"},
		{`return ('x'):gsub('x', 'y')`, "uses 'string.gsub'"},
		{`return string.find('x', '%d')`, "uses a pattern in string.find"},
		{`return setmetatable({}, {})`, "uses 'setmetatable'"},
		{`return math.random()`, "uses 'math.random'"},
		{`table.sort({})`, "uses 'table.sort'"},
		{`return tostring({})`, "makes a string of a table"},
		{`redis.call('set', KEYS[1], 'x', 'PX', 1000001)`, "TTL of 1000001 ms, longer than the 1000000 ms of --max-ttl"},
		{`redis.call('expire', KEYS[1], 1001)`, "TTL of 1001000 ms"},
		{`while true do end`, "takes more than 20000 steps"},
		{`local function f() return f() end return f()`, "call each other more than 64 deep"},
		{`local function f() f() end pcall(f)`, "call each other more than 64 deep"},
		{`return ('x'):rep(2000000)`, "needs more than 1024 KiB"},
		{`local t = {} for i = 1, 8000 do t[i] = {} end`, "needs more than 1024 KiB"},
		{`local t = {1, 2} for i = 1, 30 do t = {t, t} end return t`, "returns more than 4 MiB or 100000 elements"},
		{`local t = {} t[1] = t return t`, "returns a reply nested more than 64 deep"},
		{`local s = ('x'):rep(100000) local t = {} for i = 1, 100 do t[i] = s end return t`, "returns more than 4 MiB"},
		{`return {map = {a = 1}}`, "returns a reply of the type map"},
		{"return " + deep, ""},
		{nested, "is nested more than 64 deep"},
		{"return " + strings.Repeat("not ", 100) + "1", "is nested more than 64 deep"},
		{strings.Repeat("do ", 100) + strings.Repeat("end ", 100), "is nested more than 64 deep"},
		{"return 1 --" + strings.Repeat(" ", maxScript), "is longer than 16 KiB"},
		{`local f = function() return 1 end local f = function() return f() end return f()`, "has a local function 'f'"},
		{"local a" + strings.Repeat(", a", 250), "has more than 200 local variables"},
	} {
		sha, err := e.Scripts.Load([]byte(test.text))
		if err != nil {
			t.Errorf("%.80s: does not load: %v", test.text, err)
			continue
		}
		var p Plan
		errText := e.Scripts.Get([]byte(sha)).Plan(&p, words([]string{"k"}), nil, 0, false, e)
		if test.want == "" {
			if errText != "" {
				t.Errorf("%.80s: refused: %s", test.text, errText)
			}
			continue
		}
		if !strings.HasPrefix(errText, "ERR redlock-proxy: this script ") || !strings.Contains(errText, test.want) {
			t.Errorf("%.80s:\n got %s\nwant … %s …", test.text, errText, test.want)
		}
	}
}

func TestHugeArgumentsCostNoMoreThanTheirBound(t *testing.T) {
	e := testEnv()
	huge := strings.Repeat("x", 1<<20)
	other := huge[1:] + "y"
	for _, text := range []string{
		`local t = {} for i = 1, 9 do t[i .. 'k'] = i end while true do local x = t[ARGV[1]] end`,
		`local t = {} while true do t[ARGV[1]] = 1 end`,
		`while true do local x = ARGV[1] == ARGV[2] end`,
		`while true do local x = ARGV[1] < ARGV[2] end`,
		`while true do pcall(assert, false, ARGV[1]) end`,
		`while true do pcall(error, ARGV[1]) end`,
		`while true do redis.error_reply(ARGV[1]) end`,
		`while true do redis.pcall('expire', KEYS[1], 1, ARGV[1]) end`,
		`while true do redis.pcall('set', KEYS[1], 'v', ARGV[1]) end`,
		`while true do redis.sha1hex(ARGV[1]) end`,
		`while true do string.find(ARGV[1], ARGV[2], 1, true) end`,
		`while true do string.format(ARGV[1]) end`,
		`while true do string.format('%s', ARGV[1]) end`,
		`while true do ARGV[1]:upper() end`,
		`while true do table.concat({ARGV[1], ARGV[2]}) end`,
		`while true do redis.pcall('del', ARGV[1]) redis.pcall('set', ARGV[1], ARGV[2]) end`,
		`while true do redis.pcall('get', ARGV[1]) redis.pcall('get', ARGV[2]) end`,
		`redis.call('get', KEYS[1]) redis.call('lpush', ARGV[1], 1) while true do redis.call('del', ARGV[2]) end`,
		`redis.call('get', KEYS[1]) redis.call('lpush', ARGV[1], 1) redis.call('lpush', ARGV[2], 1) while true do redis.call('lpush', ARGV[2], 1) end`,
		`while true do redis.pcall('set', KEYS[1], ARGV[1], 'ifeq', ARGV[2]) redis.pcall('set', KEYS[1], ARGV[2]) end`,
		`while true do local x = tonumber(ARGV[1]) end`,
	} {
		begin := time.Now()
		s, err := e.Scripts.Compile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		errText := s.Plan(new(Plan), words([]string{"k"}), words([]string{huge, other}), 0, false, e)
		if !strings.Contains(errText, "takes more than") && !strings.Contains(errText, "needs more than") {
			t.Errorf("%s: %.200s", text, errText)
		}
		// A run is bounded to some 20 MB of comparing and 1 MiB of making.
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: takes %v", text, took)
		} else {
			t.Logf("%v %s", took, text)
		}
	}
}
