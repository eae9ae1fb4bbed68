package integration

import (
	"strings"
	"testing"
)

// tenants is a file that Redis 7.0 understands, too.
const tenants = `user default off
user admin on >admin ~* &* +@all
user app on >app >other ~app:* &app:* +@all -@dangerous
user reader on #7ef9ec0cf2c4facafddd03ab96eca0939d6749b49952bd816f1e0cc6901941d5 %R~app:* ~own:? &own +@read +@connection
user writer on >writer %W~app:* resetchannels &x* -@all +@write +@read +@scripting +@transaction +@pubsub +@connection -getdel
user nothing on nopass
user narrow on nopass allkeys +client|id +get -client +@scripting +config|get +info -incr -@hash +eval_ro
user gone off nopass allkeys allchannels allcommands
`

// passwords of those whose is not their name.
var passwords = map[string]string{"reader": "ro"}

// sayings are what each user says, a line each; a word in {braces} is a script.
var sayings = []struct{ user, lines string }{
	{"app", `
		ACL WHOAMI
		SET app:1 t NX PX 60000
		SET other t NX PX 60000
		GET app:1
		GET other
		MGET app:1 other
		DEL app:2 other
		EXISTS app:1 other
		EXISTS app:1
		KEYS *
		INFO
		CONFIG GET maxmemory
		CONFIG HELP x y
		ACL LIST
		ACL USERS
		ACL GETUSER app
		CLIENT LIST
		CLIENT FOO
		CLIENT
		CLIENT GETNAME
		EVAL {return redis.call('get',KEYS[1])} 1 app:1
		EVAL {return redis.call('get',KEYS[1])} 1 other
		EVAL {return redis.call('get','other')} 0
		EVAL {return redis.pcall('get','other')} 0
		EVAL {return redis.call('publish','app:c','m')} 0
		EVAL {return redis.call('publish','c','m')} 0
		EVAL {return 1} x other
		PUBLISH app:c m
		PUBLISH c m
		SUBSCRIBE c
		PSUBSCRIBE app:?
		PSUBSCRIBE c*
		WATCH app:1
		WATCH other
		UNWATCH
		MULTI
		GET app:1
		SET other x
		EXEC
		MULTI
		GET app:1
		KEYS *
		DISCARD
		MULTI
		GET app:1
		EVAL {return redis.call('get','other')} 0
		EXEC
		GET
		FOO other
		PEXPIRE app:1 90000
		PEXPIRE other 1
		DEL app:1
		AUTH app wrong
		ACL WHOAMI
		AUTH app other
		AUTH reader ro
		ACL WHOAMI`},
	{"reader", `
		GET app:1
		GET own:1
		GET own:11
		SET app:1 x PX 1000
		SET own:1 x PX 60000
		STRLEN app:1
		EXISTS other
		TTL app:1
		TTL other
		TYPE other
		DEL app:1
		EVAL {return 1} 0
		MULTI
		PUBLISH own x
		SUBSCRIBE own
		PING
		SELECT 0
		ECHO x
		TIME
		INFO`},
	{"writer", `
		SET app:1 t PX 60000
		GET app:1
		STRLEN app:1
		EXISTS app:1
		TTL app:1
		SET app:1 u PX 60000 GET
		GETDEL app:1
		GETEX app:1
		GETSET app:1 x
		PERSIST other
		EXPIRE app:1 60
		SETNX app:1 x
		SETNX other x
		EVAL {return 1} 1 app:1
		EVAL {return 1} 1 other
		EVAL_RO {return 1} 1 app:1
		EVAL {return redis.call('set','app:b','1','px','60000')} 0
		EVAL {return redis.call('getdel','app:b')} 0
		EVAL {return redis.call('mset','app:b','1','b','2')} 0
		EVAL {return redis.pcall('time')} 0
		PUBLISH y 1
		PUBLISH x1 1
		SUBSCRIBE y
		PSUBSCRIBE x?
		MULTI
		SET app:1 v PX 60000
		PUBLISH y 1
		EXEC
		DEL app:1`},
	{"nothing", `
		PING
		GET x
		FOO
		GET
		ACL WHOAMI
		MULTI
		EXEC
		CLIENT ID
		CLIENT FOO
		RESET
		PING`},
	{"narrow", `
		GET x
		CLIENT ID
		CLIENT INFO
		CONFIG SET a b
		SET x y
		EVAL_RO {return redis.call('get',KEYS[1])} 1 x
		EVAL {return redis.call('set',KEYS[1],'1')} 1 x
		SCRIPT EXISTS a
		HELLO 3 AUTH nothing x
		HELLO 3 AUTH app wrong
		HELLO 3 AUTH gone x
		AUTH x
		QUIT`},
}

// TestUsersAreToldWhatRedisTellsThem loads the same file into a Redis.
func TestUsersAreToldWhatRedisTellsThem(t *testing.T) {
	p, file := startUsersProxy(t, tenants)
	redis := startRedis(t, "--aclfile", file)
	for _, s := range sayings {
		ours, theirs := login(t, p.Addr, s.user), login(t, redis.Addr(), s.user)
		for line := range strings.Lines(strings.TrimSpace(s.lines)) {
			args := wordsOf(strings.TrimSpace(line))
			want, got := on(t, theirs, args...), on(t, ours, args...)
			if strings.Contains(want, "proto") {
				want, got = want[:20], got[:20] // HELLO
			}
			if got != want && !strings.Contains(want, "script:") {
				t.Errorf("%s: %s\n got %s\nwant %s", s.user, strings.TrimSpace(line), got, want)
			}
			if text, _, script := strings.Cut(want, " script:"); script && !strings.HasPrefix(got, text) {
				t.Errorf("%s: %s\n got %s\nwant %s", s.user, strings.TrimSpace(line), got, want)
			}
		}
	}
}

func wordsOf(line string) []string {
	before, rest, ok := strings.Cut(line, "{")
	if !ok {
		return strings.Fields(line)
	}
	script, after, _ := strings.Cut(rest, "}")
	return append(append(strings.Fields(before), script), strings.Fields(after)...)
}

// TestCategoriesAreThoseOfRedis compares ACL CAT, as far as a command is served.
func TestCategoriesAreThoseOfRedis(t *testing.T) {
	p, redis := startProxyOn(t, nil), startRedis(t)
	categories := func(addr string) map[string]string {
		members := map[string]string{}
		for name := range strings.FieldsSeq(strings.Trim(do(t, addr, "ACL", "CAT"), "[]")) {
			category := strings.Trim(name, `"`)
			for command := range strings.FieldsSeq(strings.Trim(do(t, addr, "ACL", "CAT", category), "[]")) {
				members[strings.Trim(command, `"`)] += " " + category
			}
		}
		return members
	}
	theirs := categories(redis.Addr())
	for command, got := range categories(p.Addr) {
		for category := range strings.FieldsSeq(theirs[command]) {
			if !strings.Contains(got+" ", " "+category+" ") {
				t.Errorf("%s is not in %s", command, category)
			}
		}
		if want := theirs[command]; want != "" && len(strings.Fields(got)) != len(strings.Fields(want)) {
			t.Errorf("%s is in%s, want%s", command, got, want)
		}
	}
}
