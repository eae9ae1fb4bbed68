package proxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"redlock-proxy/redlock"
)

// TestUtilityReplies runs each line on one connection in its order, first in
// RESP2 and then in RESP3. A reply in three equals that in two where it is
// empty; "…" stands for anything.
func TestUtilityReplies(t *testing.T) {
	noted := func(name, why string) string { return "-" + notServed(name, why) + "\r\n" }
	tests := []struct{ line, two, three string }{
		{"PING", "+PONG\r\n", ""},
		{"pInG hello", "$5\r\nhello\r\n", ""},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command\r\n", ""},
		{`ECHO "a\r\n\x00\xff"`, "$5\r\na\r\n\x00\xff\r\n", ""},
		{"TIME", "*2\r\n$10\r\n…\r\n$…\r\n…\r\n", ""},
		{"ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", ""},
		{"WAIT 0 0", ":0\r\n", ""},
		{"WAIT 3 1000", ":0\r\n", ""},
		{"WAIT 1 -1", "-ERR timeout is negative\r\n", ""},
		{"WAITAOF 0 0 0", "-ERR unknown command 'WAITAOF', with args beginning with: '0' '0' '0' \r\n", ""},
		{"READONLY", "+OK\r\n", ""},
		{"READWRITE", "+OK\r\n", ""},
		{"ASKING", "-ERR This instance has cluster support disabled\r\n", ""},
		{"CLUSTER SLOTS", "-ERR This instance has cluster support disabled\r\n", ""},
		{"CLUSTER SHARDS", "-ERR This instance has cluster support disabled\r\n", ""},
		{"SENTINEL MASTERS", "-ERR unknown command 'SENTINEL', with args beginning with: 'MASTERS' \r\n", ""},
		{"SELECT 3", "+OK\r\n", ""},
		{"SELECT 0", "+OK\r\n", ""},

		{"CLIENT GETNAME", "$-1\r\n", "_\r\n"},
		{"CLIENT SETNAME me", "+OK\r\n", ""},
		{"client getname", "$2\r\nme\r\n", ""},
		{`CLIENT SETNAME ""`, "+OK\r\n", ""},
		{"CLIENT ID", ":1\r\n", ""},
		{"CLIENT SETINFO LIB-NAME go-redis(,go1.26)", "+OK\r\n", ""},
		{"CLIENT SETINFO lib-ver 9.23.0", "+OK\r\n", ""},
		{`CLIENT SETINFO lib-ver "9 23"`, "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n", ""},
		{"CLIENT SETINFO lib-foo x", "-ERR Unrecognized option 'lib-foo'\r\n", ""},
		{"CLIENT NO-EVICT on", "+OK\r\n", ""},
		{"CLIENT NO-TOUCH ON", "+OK\r\n", ""},
		{"CLIENT NO-TOUCH maybe", "-ERR syntax error\r\n", ""},
		{"CLIENT CAPA redirect", "+OK\r\n", ""},
		{"CLIENT REPLY ON", "+OK\r\n", ""},
		{"CLIENT REPLY OFF", noted("CLIENT REPLY OFF", "the reply says whether the lock is held"), ""},
		{"CLIENT REPLY SKIP", noted("CLIENT REPLY SKIP", "the reply says whether the lock is held"), ""},
		{"CLIENT TRACKING ON OPTIN", "-" + errTracking + "\r\n", ""},
		{"CLIENT TRACKING OFF", "+OK\r\n", ""},
		{"CLIENT TRACKINGINFO", "*6\r\n$5\r\nflags\r\n*1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n",
			"%3\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n"},
		{"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", "-" + errMaint + "\r\n", ""},
		{"CLIENT INFO", "$…\r\nid=1 addr=127.0.0.1:5000 laddr=127.0.0.1:6380 name= age=0 idle=0 flags=eT db=0 sub=0 psub=0 ssub=0 multi=-1 user=default redir=-1 resp=2 lib-name=go-redis(,go1.26) lib-ver=9.23.0\n\r\n",
			"=…\r\ntxt:id=1 addr=127.0.0.1:5000 laddr=127.0.0.1:6380 name= age=0 idle=0 flags=eT db=0 sub=0 psub=0 ssub=0 multi=-1 user=default redir=-1 resp=3 lib-name=go-redis(,go1.26) lib-ver=9.23.0\n\r\n"},
		{"CLIENT LIST ID 1 9", "$…\r\nid=1 …\n\r\n", "=…\r\ntxt:id=1 …\n\r\n"},
		{"CLIENT LIST ID 9", "$0\r\n\r\n", "=4\r\ntxt:\r\n"},
		{"CLIENT LIST TYPE pubsub", "$0\r\n\r\n", "=4\r\ntxt:\r\n"},

		{"CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n", "%1\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"},
		{"CONFIG GET databases", "*2\r\n$9\r\ndatabases\r\n$2\r\n16\r\n", "%1\r\n$9\r\ndatabases\r\n$2\r\n16\r\n"},
		{"CONFIG GET save appendonly", "*4\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n",
			"%2\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
		{"CONFIG GET MAXMEMORY* maxmemory", "*6\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n$17\r\nmaxmemory-clients\r\n$1\r\n0\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n",
			"%3\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n$17\r\nmaxmemory-clients\r\n$1\r\n0\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n"},
		{"CONFIG GET requirepass masterauth", "*0\r\n", "%0\r\n"},
		{"CONFIG SET timeout 5", noted("CONFIG SET", "settings are flags and environment variables, see redlock-proxy --help"), ""},

		{"ACL WHOAMI", "$7\r\ndefault\r\n", ""},
		{`SCRIPT LOAD "return 1"`, "$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n", ""},
		{"script exists E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 00", "*2\r\n:1\r\n:0\r\n", ""},
		{"SCRIPT FLUSH ASYNC", "+OK\r\n", ""},
		{"SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "*1\r\n:0\r\n", ""},
		{"SCRIPT DEBUG NO", "+OK\r\n", ""},
		{"SCRIPT DEBUG YES", noted("SCRIPT DEBUG", "scripts are not run here but turned into lock operations"), ""},

		{"HSET k f v", noted("HSET", whyStructure), ""},
		{"incr k", noted("INCR", whyCounter), ""},
		{"BLPOP lock-signal:x 0", noted("BLPOP", whyBlocking), ""},
		{"FLUSHALL", noted("FLUSHALL", whyFlush), ""},
		{"SSUBSCRIBE c", noted("SSUBSCRIBE", whySharded), ""},
		{"OBJECT FREQ k", noted("OBJECT", whyInspect), ""},
		{"NOPE a", "-ERR unknown command 'NOPE', with args beginning with: 'a' \r\n", ""},
		{"PING", "+PONG\r\n", ""},
	}
	for _, proto := range []int{2, 3} {
		s, c := newTestServer(t)
		c.proto = proto
		for _, test := range tests {
			want := test.two
			if proto == 3 && test.three != "" {
				want = test.three
			}
			got, do := say(t, s, c, test.line)
			if !like(got, want) || do != actionNone {
				t.Errorf("RESP%d %s\n got %q, action %v\nwant %q", proto, test.line, got, do, want)
			}
		}
	}
}

func TestHelloDescribesAnUpToDateSingleMaster(t *testing.T) {
	fields := func(proto string) string {
		return "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.4.0\r\n$5\r\nproto\r\n:" + proto +
			"\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	}
	s, c := newTestServer(t)
	for _, test := range []struct{ line, want string }{
		{"HELLO", "*14\r\n" + fields("2")},
		{"HELLO 3", "%7\r\n" + fields("3")},
		{"HELLO", "%7\r\n" + fields("3")},
		{"HELLO 2", "*14\r\n" + fields("2")},
		{"HELLO 3 SETNAME me", "%7\r\n" + fields("3")},
	} {
		if got, _ := say(t, s, c, test.line); got != test.want {
			t.Errorf("%s\n got %q\nwant %q", test.line, got, test.want)
		}
	}
	if c.name != "me" || c.proto != 3 {
		t.Errorf("after HELLO 3 SETNAME me: name %q, proto %d", c.name, c.proto)
	}
}

func TestAWrongHelloChangesNothing(t *testing.T) {
	s, c := newTestServer(t, withPassword("", "secret"))
	for _, line := range []string{
		"HELLO 3 SETNAME x", "HELLO 4 AUTH default secret", "HELLO 3 AUTH default wrong SETNAME x",
		"HELLO 3 AUTH default secret SETNAME", "HELLO 3 AUTH default secret FOO", `HELLO 3 AUTH default secret SETNAME "a b"`,
	} {
		if got, _ := say(t, s, c, line); got[0] != '-' {
			t.Errorf("%s = %q, want an error", line, got)
		}
		if c.authed || c.proto != 2 || c.name != "" {
			t.Errorf("after %s: authed %v, proto %d, name %q", line, c.authed, c.proto, c.name)
		}
	}
}

func TestOnlyTheWayInIsOpenBeforeAuth(t *testing.T) {
	s, c := newTestServer(t, withPassword("", "secret"))
	for _, line := range []string{"PING", "GET k", "SELECT 1", "SCRIPT LOAD x", "CLIENT ID", "REDLOCK ADMIT ALL", "INFO", "NOPE", "SUBSCRIBE x"} {
		got, do := say(t, s, c, line)
		if got != "-NOAUTH Authentication required.\r\n" || do != actionNone {
			t.Errorf("%s before AUTH = %q, action %v", line, got, do)
		}
	}
	for name, want := range map[string]bool{"auth": true, "HELLO": true, "Quit": true, "RESET": true, "SET": false, "PING": false} {
		if got := s.allowed(c, []byte(name)); got != want {
			t.Errorf("allowed(%s) before AUTH = %v", name, got)
		}
	}
	if got, _ := say(t, s, c, "AUTH secret"); got != "+OK\r\n" {
		t.Fatalf("AUTH = %q", got)
	}
	if got, _ := say(t, s, c, "PING"); got != "+PONG\r\n" || !s.allowed(c, []byte("SET")) {
		t.Errorf("PING after AUTH = %q", got)
	}
	say(t, s, c, "RESET")
	if s.allowed(c, []byte("SET")) {
		t.Error("RESET did not log out")
	}
}

func TestAuthWithANamedUser(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"AUTH secret", "-" + errWrongPass + "\r\n"}, // the password of user "default", whom there is not
		{"AUTH default secret", "-" + errWrongPass + "\r\n"},
		{"AUTH locker wrong", "-" + errWrongPass + "\r\n"},
		{"AUTH locker secret", "+OK\r\n"},
		{"AUTH locker secret x", "-ERR syntax error\r\n"},
	} {
		s, c := newTestServer(t, withPassword("locker", "secret"))
		got, _ := say(t, s, c, test.line)
		if got != test.want {
			t.Errorf("%s = %q, want %q", test.line, got, test.want)
		}
		if c.authed != (test.want == "+OK\r\n") {
			t.Errorf("%s: authed %v", test.line, c.authed)
		}
	}
}

func TestResetAndQuit(t *testing.T) {
	s, c := newTestServer(t)
	for _, line := range []string{"HELLO 3 SETNAME me", "SELECT 5", "CLIENT NO-TOUCH on"} {
		say(t, s, c, line)
	}
	if got, do := say(t, s, c, "RESET"); got != "+RESET\r\n" || do != actionReset {
		t.Errorf("RESET = %q, action %v", got, do)
	}
	if c.proto != 2 || c.db != 0 || c.name != "" || c.noTouch || !c.authed {
		t.Errorf("after RESET: proto %d, db %d, name %q, no-touch %v, authed %v", c.proto, c.db, c.name, c.noTouch, c.authed)
	}
	if got, do := say(t, s, c, "quit now"); got != "+OK\r\n" || do != actionClose {
		t.Errorf("QUIT = %q, action %v", got, do)
	}
}

func TestClientListShowsOpenConnections(t *testing.T) {
	s, first := newTestServer(t)
	second := connect(s)
	say(t, s, second, "CLIENT SETNAME other")
	got, _ := say(t, s, first, "CLIENT LIST")
	if !like(got, "$…\r\nid=1 … name= …\nid=2 … name=other …\n\r\n") {
		t.Errorf("CLIENT LIST = %q", got)
	}
	s.goodbye(second)
	if got, _ := say(t, s, first, "CLIENT LIST TYPE normal"); strings.Contains(got, "id=2") {
		t.Errorf("CLIENT LIST after a disconnect = %q", got)
	}
}

func TestClientListWhileOthersChange(t *testing.T) {
	s, c := newTestServer(t)
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			other := connect(s)
			for range 100 {
				for _, line := range []string{"HELLO 3 SETNAME x", "SELECT 3", "CLIENT SETINFO lib-ver 1", "CLIENT NO-TOUCH on", "RESET"} {
					say(t, s, other, line)
					other.touch(time.Now())
				}
			}
			s.goodbye(other)
		})
	}
	for range 100 {
		say(t, s, c, "CLIENT LIST")
		say(t, s, c, "INFO")
	}
	others.Wait()
	if n := s.clients.count(); n != 1 {
		t.Errorf("%d clients are left, want 1", n)
	}
}

func TestNamesAreBounded(t *testing.T) {
	s, c := newTestServer(t)
	long := strings.Repeat("x", maxAttribute+1)
	for _, line := range []string{"CLIENT SETNAME " + long, "HELLO 3 SETNAME " + long, "CLIENT SETINFO lib-name " + long} {
		if got, _ := say(t, s, c, line); got[0] != '-' {
			t.Errorf("%.30s… = %q, want an error", line, got)
		}
	}
}

func TestAdmitIsLeftToTheSession(t *testing.T) {
	s, c := newTestServer(t)
	got, do := say(t, s, c, "redlock admit all")
	if got != "" || do != actionAdmit {
		t.Errorf("REDLOCK ADMIT ALL = %q, action %v", got, do)
	}
	if target := admitTarget(words(t, "REDLOCK ADMIT all")); target != "ALL" {
		t.Errorf("target %q, want ALL", target)
	}
	if target := admitTarget(words(t, "REDLOCK ADMIT Host:1")); target != "Host:1" {
		t.Errorf("target %q, want Host:1", target)
	}
	if got, do := say(t, s, c, "REDLOCK ADMIT"); do != actionNone || got != "-ERR wrong number of arguments for 'redlock|admit' command\r\n" {
		t.Errorf("REDLOCK ADMIT = %q, action %v", got, do)
	}
	if got := string(appendAdmitted(nil, []string{"a votes", "b: down\r\n+OK"}, nil)); got != "*2\r\n+a votes\r\n+b: down  +OK\r\n" {
		t.Errorf("admitted = %q", got)
	}
	if got := string(appendAdmitted(nil, nil, errors.New("no master x"))); got != "-ERR no master x\r\n" {
		t.Errorf("not admitted = %q", got)
	}
}

func TestStatusTable(t *testing.T) {
	s, c := newTestServer(t)
	want := []string{
		"ready: a quorum of masters votes",
		"MASTER         STATE  SERVER        LATENCY  QUEUE  FAILURES  REASON",
		"10.0.0.1:7001  votes  redis 7.0.15  200µs    3      0         -",
		"10.0.0.2:7002  votes  redis 7.0.15  250µs    0      0         -",
		"10.0.0.3:7003  down   -             0s       0      7         connection refused",
	}
	got, _ := say(t, s, c, "REDLOCK STATUS")
	if want := "*5\r\n+" + strings.Join(want, "\r\n+") + "\r\n"; got != want {
		t.Errorf("RESP2\n got %q\nwant %q", got, want)
	}
	c.proto = 3
	text := strings.Join(want, "\n") + "\n"
	got, _ = say(t, s, c, "REDLOCK STATUS")
	if want := fmt.Sprintf("=%d\r\ntxt:%s\r\n", len(text)+4, text); got != want {
		t.Errorf("RESP3\n got %q\nwant %q", got, want)
	}
}

func TestPingDoesNotAllocate(t *testing.T) {
	s, c := newTestServer(t)
	args := [][]byte{[]byte("PiNg")}
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { s.utility(c, args, dst) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestChangesOfTheSetOfMasters(t *testing.T) {
	for line, want := range map[string]redlock.SetChange{
		"REDLOCK MASTERS ADD d:1":         {Add: "d:1"},
		"redlock masters remove a:1":      {Remove: "a:1"},
		"REDLOCK MASTERS replace a:1 d:1": {Remove: "a:1", Add: "d:1"},
	} {
		if got, fault := setChange(words(t, line)); fault != "" || got != want {
			t.Errorf("%s: %+v %q, want %+v", line, got, fault, want)
		}
	}
	for _, line := range []string{"REDLOCK MASTERS ADD a:1 b:1", "REDLOCK MASTERS REPLACE a:1", "REDLOCK MASTERS MOVE a:1"} {
		if _, fault := setChange(words(t, line)); !strings.HasPrefix(fault, "ERR syntax error") {
			t.Errorf("%s: %q", line, fault)
		}
	}
	if got := string(appendChanged(nil, []string{"db 0: done"}, errors.New("db 1: down"))); got != "-ERR db 1: down; done before: db 0: done\r\n" {
		t.Errorf("half-done change: %q", got)
	}
}
