package resp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// The same scripts on the same states, in a real redis-server and as tables
// over a quorum of one: the replies must have the same bytes in RESP2 and
// RESP3, and the same must be stored afterwards.

// scriptStates are what may be at the key "k" when a script runs. The token of
// the caller is "tok".
var scriptStates = []startState{
	{name: "absent"},
	{"mine", redlock.Text, "tok", 100_000},
	{"other", redlock.Text, "other", 100_000},
	{"mine with something behind", redlock.Text, "tok:more", 100_000},
	{"mine without TTL", redlock.Text, "tok", redlock.NoTTL},
	{"other without TTL", redlock.Text, "other", redlock.NoTTL},
	{"empty", redlock.Text, "", 100_000},
	{"a number", redlock.Text, "7", 100_000},
	{"list", redlock.WrongType, "", 100_000},
	{"list without TTL", redlock.WrongType, "", redlock.NoTTL},
}

// scriptCase is a script with its arguments.
type scriptCase struct {
	text string
	keys []string
	args []string
}

func (s *scriptCase) command() []string {
	return slices.Concat([]string{"EVAL", s.text, strconv.Itoa(len(s.keys))}, s.keys, s.args)
}

func TestScriptsAreLikeRealRedis(t *testing.T) {
	addr := startRedis(t)
	for _, group := range []struct {
		name  string
		cases []scriptCase
	}{
		{"lock scripts", lockScripts()},
		{"spellings of compare-and-do", spellings()},
		{"language", languageScripts()},
		{"commands", commandScripts()},
	} {
		t.Run(group.name, func(t *testing.T) {
			failed := 0
			for _, proto := range []int{2, 3} {
				conn := dialRealRedis(t, addr, proto)
				for chunk := range slices.Chunk(group.cases, 100) {
					failed += compareScripts(t, conn, proto, chunk)
				}
			}
			t.Logf("%d scripts on %d states in RESP2 and RESP3, %d differ", len(group.cases), len(scriptStates), failed)
		})
	}
}

func compareScripts(t *testing.T, conn *realRedis, proto int, chunk []scriptCase) (failed int) {
	t.Helper()
	var pipeline [][]string
	for i := range chunk {
		for _, start := range scriptStates {
			pipeline = append(pipeline, start.setup()...)
			pipeline = append(pipeline, chunk[i].command(), []string{"TYPE", "k"}, []string{"PTTL", "k"}, []string{"GET", "k"})
		}
	}
	replies := conn.do(pipeline)
	for i := range chunk {
		reported := false
		for _, start := range scriptStates {
			n := len(start.setup())
			c := comparison{start: start, args: chunk[i].command(), proto: proto, real: realResult(replies[n : n+4])}
			replies = replies[n+4:]
			c.ours = c.run(t)
			if sameScriptReply(c.ours.reply, c.real.reply) && sameAfterScript(&c) || asksForUnknownType(&c) {
				continue
			}
			if failed++; failed <= 50 && !reported {
				reported = true
				t.Errorf("RESP%d on %s: %s\nwith %q %q\nreal %+v\nours %+v", proto, start.name, chunk[i].text, chunk[i].keys, chunk[i].args, c.real, c.ours)
			}
		}
	}
	return failed
}

// asksForUnknownType is the one difference in replies that we want: a quorum
// does not know the type of what is not a string.
func asksForUnknownType(c *comparison) bool {
	return c.start.kind == redlock.WrongType && c.sameState() && strings.Contains(c.args[1], "'type'") &&
		strings.HasPrefix(c.ours.reply, "-ERR redlock-proxy: this script asks for the type of a key")
}

// sameAfterScript compares what is stored. What Redis would store for ever has
// the default TTL with us.
func sameAfterScript(c *comparison) bool {
	return c.sameState() || c.ours.value == c.real.value && c.real.ttl == redlock.NoTTL &&
		near(c.ours.ttl, diffDefaultTTL)
}

// sameScriptReply allows remaining times to be those of a moment later.
func sameScriptReply(ours, real string) bool {
	a, b := strings.Split(ours, "\r\n"), strings.Split(real, "\r\n")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, errX := strconv.ParseInt(strings.TrimPrefix(a[i], ":"), 10, 64)
		y, errY := strconv.ParseInt(strings.TrimPrefix(b[i], ":"), 10, 64)
		if errX != nil || errY != nil || min(x, y) < 4000 || max(x, y)-min(x, y) > 1000 {
			return false
		}
	}
	return true
}

// scripts makes cases of texts that have the key "k", the token "tok" and a TTL
// of 30 seconds.
func scripts(texts ...string) (cases []scriptCase) {
	for _, text := range texts {
		cases = append(cases, scriptCase{text, []string{"k"}, []string{"tok", "30000"}})
	}
	return cases
}

// withArgs makes a case with other arguments.
func withArgs(text string, args ...string) scriptCase {
	return scriptCase{text, []string{"k"}, args}
}

// spellings are compare-and-delete, -expire and -set in all the ways in which
// the same thing can be written.
func spellings() (cases []scriptCase) {
	gets := []string{`redis.call("get", KEYS[1])`, `redis.call('GET',KEYS[1])`, `redis . call ( [[Get]] , KEYS [ 1 ] )`, `redis.pcall("GET", KEYS[1])`}
	dos := []string{`redis.call("del", KEYS[1])`, `redis.call("UNLINK",KEYS[1])`, `redis.call('pexpire', KEYS[1], ARGV[2])`,
		`redis.call("EXPIRE", KEYS[1], ARGV[2] / 1000)`, `redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])`,
		`redis.call("SET", KEYS[1], ARGV[1], "xx", "ex", 30)`, `redis.call('set', KEYS[1], ARGV[1], 'keepttl')`}
	shapes := []string{
		"if %s == ARGV[1] then return %s else return 0 end",
		"if %s == ARGV[1]\nthen\n\treturn %s\nelse\n\treturn 0\nend\n",
		"if %s == ARGV[1] then return %s end return 0",
		"if %s == ARGV[1] then return %s end",
		"if ARGV[1] == %s then\r\n  %s\r\n  return 1\r\nend\r\nreturn 0",
		"if %s ~= ARGV[1] then return 0 end; %s; return 1",
		"if not (%s == ARGV[1]) then return -1 end return %s",
		"local held = %s -- who has it\nif held == ARGV[1] then return %s end\nreturn false",
		"local token, held = ARGV[1], %s\n--[[ compare\n]]\nif held ~= token then return nil end\nreturn %s",
		"local v = %s; if v == false then return -1 elseif v == ARGV[1] then return %s else return 0 end",
		"local v = %s; if v and v == ARGV[1] then return tonumber(%s) and 1 else return 0 end",
		"local v = %s; if not v then return {err = 'GONE it is'} end; if v ~= ARGV[1] then return redis.error_reply('NOT yours') end; return %s",
		"return %s == ARGV[1] and %s or 0",
		"return (%s == ARGV[1] and %s) == 1",
		"local n = 0 for _, key in ipairs(KEYS) do if %s == ARGV[1] then n = n + (tonumber(%s) or 1) end end return n",
		"local i, n = 1, 0 while KEYS[i] do if %s == ARGV[1] then %s n = n + 1 end i = i + 1 end return n",
		"local function mine() return %s == ARGV[1] end\nlocal function act() return %s end\nif mine() then return act() end return 0",
		"local done repeat done = true if %s == ARGV[1] then return {1, %s} end until done return {0}",
		"if %s == ARGV[1] then local ok = %s return ok else return redis.error_reply('ERROR') end",
	}
	for _, shape := range shapes {
		for _, get := range gets {
			for _, do := range dos {
				cases = append(cases, scripts(fmt.Sprintf(shape, get, do))...)
			}
		}
	}
	return cases
}

// lockScripts behave like the scripts of lock libraries, in words of our own.
func lockScripts() []scriptCase {
	cases := scripts(
		// acquire
		`return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`,
		`if redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return false end`,
		`local done = redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) redis.call("GET", KEYS[1]) return done`,
		`if redis.call("setnx", KEYS[1], ARGV[1]) == 1 then redis.call("pexpire", KEYS[1], ARGV[2]) return 1 end return 0`,
		`if redis.call("setnx", KEYS[1], ARGV[1]) == 0 then return 0 end if ARGV[2] ~= "" then redis.call("pexpire", KEYS[1], ARGV[2]) end return 1`,
		`if redis.call('exists', KEYS[1]) < 1 then return redis.call('setex', KEYS[1], 30, ARGV[1]) end`,
		`if redis.call('exists', KEYS[1]) == 1 then return 0 end redis.call('psetex', KEYS[1], ARGV[2], ARGV[1]) return 1`,
		`for _, k in ipairs(KEYS) do if redis.call("exists", k) == 1 then return 0 end end
		 for _, k in ipairs(KEYS) do redis.call("set", k, ARGV[1], "PX", ARGV[2]) end return #KEYS`,
		`return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])`,
		`return redis.call('set', KEYS[1], ARGV[1])`,
		`local old = redis.call('set', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2]) if old then return {0, old} end return {1}`,
		// acquire or renew
		`if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return "OK"
		 else return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) end`,
		`local v = redis.call('get', KEYS[1]) if not v then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return true
		 elseif v == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) return true end return false`,
		`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2])
		 elseif redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 else return 0 end`,
		`local v = redis.call('get', KEYS[1]) if v and v ~= ARGV[1] then return redis.error_reply('ERROR') end return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])`,
		`local held = redis.call("GET", KEYS[1])
		 if held == false then return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) and 1
		 elseif held == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return -1 end`,
		// by the beginning of the value only
		`local ok = redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) if ok then return ok end
		 if redis.call("getrange", KEYS[1], 0, #ARGV[1] - 1) == ARGV[1] then return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end`,
		`if redis.call("msetnx", KEYS[1], ARGV[1]) == 1 then redis.call("pexpire", KEYS[1], ARGV[2]) return redis.status_reply("OK") end
		 for _, k in ipairs(KEYS) do if string.sub(redis.call("get", k), 1, string.len(ARGV[1])) ~= ARGV[1] then return false end end
		 redis.call("mset", KEYS[1], ARGV[1]) redis.call("pexpire", KEYS[1], ARGV[2]) return redis.status_reply("OK")`,
		// release and extend
		`local vs = redis.call("mget", unpack(KEYS)) for i = 1, #KEYS do if vs[i] ~= ARGV[1] then return false end end
		 redis.call("del", unpack(KEYS)) return redis.status_reply("OK")`,
		`local vs = redis.call("mget", unpack(KEYS)) for _, v in pairs(vs) do if v ~= ARGV[1] then return nil end end
		 for _, k in pairs(KEYS) do redis.call("pexpire", k, ARGV[2]) end return {ok = "OK"}`,
		`local v = redis.call("get", KEYS[1]) if v == ARGV[1] then return redis.call("del", KEYS[1]) elseif v == false then return -1 else return 0 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then redis.call("del", KEYS[1]) return "true" else return "false" end`,
		`local v = redis.call("get", KEYS[1]) if v == ARGV[1] then return redis.call("del", KEYS[1]) end if v then return redis.error_reply("ERROR") end return redis.status_reply("OK")`,
		`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 1 else redis.call("del", KEYS[1]) return 0 end`,
		`if redis.call("get", KEYS[1]) ~= ARGV[1] then return 1 elseif redis.call("ttl", KEYS[1]) < 0 then return 2 else redis.call("expire", KEYS[1], 30) return 0 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2], "GT") else return redis.error_reply("NOT LOCKED") end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then if tonumber(ARGV[2]) > 0 then return redis.call("expire", KEYS[1], ARGV[2]) end return redis.call("persist", KEYS[1]) end return 0`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then redis.call("del", KEYS[1]) return redis.call("set", KEYS[1], "new", "PX", ARGV[2], "NX")
		 elseif redis.call("exists", KEYS[1]) == 0 then return redis.call("set", KEYS[1], "new", "PX", ARGV[2]) end`,
		`redis.call("del", KEYS[1])`,
		`return redis.call("del", KEYS[1])`,
		// more than one token
		`local v = redis.call("get", KEYS[1]) if v == ARGV[1] or v == "other" then return redis.call("del", KEYS[1]) end return 0`,
		`local v = redis.call("get", KEYS[1]) if v == "other" then return 1 elseif v == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) elseif v == "" then return redis.call("del", KEYS[1]) end return -5`,
		// queries
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pttl", KEYS[1]) else return -3 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then local t = redis.call("pttl", KEYS[1]) if t > 0 then return t end end return 0`,
		`return {redis.call("get", KEYS[1]), redis.call("pttl", KEYS[1])}`,
		`local v = redis.call("get", KEYS[1]) if not v then return nil end return {v, redis.call("pttl", KEYS[1])}`,
		`local v = redis.call("get", KEYS[1]) if v ~= ARGV[1] then return redis.error_reply("ERROR") end return redis.call("ttl", KEYS[1])`,
		`if redis.call("get", KEYS[1]) ~= ARGV[1] then return {-1, redis.call("pttl", KEYS[1])} end
		 local left = redis.call("pttl", KEYS[1]) if left < 200000 then redis.call("pexpire", KEYS[1], ARGV[2]) return {1, redis.call("pttl", KEYS[1])} end return {0, left}`,
		`redis.call("get", KEYS[1])`,
		// a number as a value
		`local n = tonumber(redis.call("get", KEYS[1]) or "0") if n == nil then return "no number" end redis.call("set", KEYS[1], n + 1, "PX", ARGV[2]) return n + 1`,
	)
	additive := `local v = redis.call('get', KEYS[1]) if not v or v ~= ARGV[1] then return 0 end
		local left = redis.call('pttl', KEYS[1]) if not left then left = 0 end if left < 0 then return 0 end
		local to = ARGV[2] if ARGV[3] == "0" then to = ARGV[2] + left end
		redis.call('pexpire', KEYS[1], to) return 1`
	renewable := `if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1]
		then return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end`
	inDB := `redis.pcall("SELECT", ARGV[1]) if redis.call("get", KEYS[1]) == ARGV[2] then return redis.call("del", KEYS[1]) end return 0`
	return append(cases,
		withArgs(additive, "tok", "30000", "0"), withArgs(additive, "tok", "30000", "1"),
		withArgs(renewable, "tok", "30000", "yes"), withArgs(renewable, "tok", "30000", "no"),
		withArgs(inDB, "0", "tok"),
		// everything in KEYS, only one of which is a key
		scriptCase{`if redis.call("get", KEYS[1]) == KEYS[3] then return redis.call("set", KEYS[1], KEYS[3], "PX", KEYS[2], "XX") end return 0`,
			[]string{"k", "30000", "tok"}, nil},
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`, "tok", "unused"),
		withArgs(`return redis.call("set", KEYS[1], ARGV[1], "NX", "PXAT", ARGV[2])`, "tok", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10)),
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpireat", KEYS[1], ARGV[2]) end return 0`,
			"tok", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10)),
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`, "tok", "0"),
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`, "tok", "-5"),
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`, "tok", "abc"),
		withArgs(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`, "tok"),
		withArgs(`return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2], "NX")`, "tok", "31557600000000"),
		withArgs(`return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2], "NX")`, "tok\x00\r\n\xff", "30000"),
	)
}
