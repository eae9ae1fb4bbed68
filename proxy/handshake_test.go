package proxy

import (
	"testing"
)

// exchange is one command of a handshake and the reply that lets the client go
// on; "…" stands for anything.
type exchange struct{ line, want string }

const (
	okReply     = "+OK\r\n"
	hello2Reply = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.4.0\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:…\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	hello3Reply = "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.4.0\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:…\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	info2Reply  = "$…\r\n# Server\r\nredis_version:8.4.0\r\nredis_mode:standalone\r\n…\r\nloading:0\r\n…\r\nrole:master\r\nconnected_slaves:0\r\n…\r\n"
	info3Reply  = "=…\r\ntxt:# Server\r\nredis_version:8.4.0\r\nredis_mode:standalone\r\n…\r\nloading:0\r\n…\r\nrole:master\r\nconnected_slaves:0\r\n…\r\n"

	noMaint    = "-ERR CLIENT MAINT_NOTIFICATIONS is not served by …\r\n" // always refused, never sometimes
	noTracking = "-ERR CLIENT TRACKING is not served by …\r\n"
	noCluster  = "-ERR This instance has cluster support disabled\r\n"
)

// handshakes are what each client sends when it connects, as it was seen on
// the wire or read in its source, up to its first lock command. All have to
// get through, with a password where the line shows one.
var handshakes = []struct {
	client   string
	password string
	lines    []exchange
}{
	{"go-redis 9.23", "", []exchange{
		{"hello 3", hello3Reply},
		{"select 2", okReply},
		{"client setname app", okReply},
		{"client maint_notifications on moving-endpoint-type internal-ip", noMaint},
		{"client setinfo LIB-NAME go-redis(,go1.26)", okReply},
		{"client setinfo LIB-VER 9.23.0", okReply},
	}},
	{"go-redis 9.23 with password", "pw", []exchange{
		{"hello 3 auth default pw setname app", hello3Reply},
		{"readonly", okReply},
		{"client maint_notifications on moving-endpoint-type none", noMaint},
		{"client setinfo LIB-NAME go-redis(,go1.26)", okReply},
	}},
	{"go-redis 8", "pw", []exchange{{"auth pw", okReply}, {"select 1", okReply}}},
	{"go-zero", "", []exchange{{"hello 3", hello3Reply}, {"ping", "+PONG\r\n"}}},
	{"rueidis 1.0.79 without cache", "pw", []exchange{
		{"HELLO 3 AUTH default pw SETNAME app", hello3Reply},
		{"SELECT 1", okReply},
		{"CLIENT NO-TOUCH ON", okReply},
		{"CLIENT NO-EVICT ON", okReply},
		{"CLIENT CAPA redirect", okReply},
		{"CLIENT SETINFO LIB-NAME rueidis", okReply},
		{"CLIENT SETINFO LIB-VER 1.0.79", okReply},
		{"CLUSTER SHARDS", noCluster}, // asked since HELLO says version 8
		{"PING", "+PONG\r\n"},
	}},
	{"rueidis 1.0.79 with cache", "", []exchange{
		{"HELLO 3", hello3Reply},
		{"CLIENT TRACKING ON OPTIN", noTracking}, // it then says to set DisableCache
		{"CLUSTER SLOTS", noCluster},
	}},
	{"redigo 1.9.3", "pw", []exchange{
		{"AUTH pw", okReply},
		{"CLIENT SETNAME app", okReply},
		{"SELECT 0", okReply},
		{"ECHO \"\\x01marker\"", "$7\r\n\x01marker\r\n"},
	}},
	{"redis-py 7", "pw", []exchange{
		{"AUTH default pw", okReply},
		{"CLIENT SETNAME app", okReply},
		{"CLIENT SETINFO LIB-NAME redis-py", okReply},
		{"CLIENT SETINFO LIB-VER 7.1.0", okReply},
		{"SELECT 3", okReply},
	}},
	{"redis-py 8", "pw", []exchange{
		{"HELLO 3 AUTH default pw", hello3Reply},
		{"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", noMaint},
		{"CLIENT SETNAME app", okReply},
		{"CLIENT SETINFO LIB-NAME redis-py", okReply},
		{"CLIENT SETINFO LIB-VER 8.1.0", okReply},
		{"SELECT 3", okReply},
		{"SCRIPT LOAD \"return redis.call('get', KEYS[1])\"", "$40\r\n…\r\n"},
	}},
	{"aioredlock 0.7.3", "", []exchange{
		{"SCRIPT LOAD \"return redis.call('get', KEYS[1])\"", "$40\r\n…\r\n"},
		{"SCRIPT LOAD \"return redis.call('pttl', KEYS[1])\"", "$40\r\n…\r\n"},
	}},
	{"ioredis 5", "pw", []exchange{
		{"auth pw", okReply},
		{"select 1", okReply},
		{"client SETINFO LIB-NAME ioredis", okReply},
		{"client SETINFO LIB-VER 5.11.0", okReply},
		{"info", info2Reply},
		{"quit", okReply},
	}},
	{"ioredis 6", "pw", []exchange{
		{"hello 3 AUTH default pw", hello3Reply},
		{"select 1", okReply},
		{"client SETINFO LIB-NAME ioredis", okReply},
		{"client SETINFO LIB-VER 6.0.0", okReply},
		{"info", info3Reply},
	}},
	{"node_redis 3", "pw", []exchange{{"auth pw", okReply}, {"select 1", okReply}, {"info", info2Reply}}},
	{"node-redis 5", "pw", []exchange{
		{"AUTH pw", okReply},
		{"SELECT 1", okReply},
		{"CLIENT SETINFO LIB-NAME node-redis", okReply},
		{"CLIENT SETINFO LIB-VER 5.12.0", okReply},
	}},
	{"node-redis 6", "pw", []exchange{
		{"HELLO 3 AUTH default pw", hello3Reply},
		{"SELECT 1", okReply},
		{"CLIENT SETINFO LIB-NAME node-redis", okReply},
		{"CLIENT SETINFO LIB-VER 6.3.0", okReply},
		{"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", noMaint},
		{"QUIT", okReply},
	}},
	{"redis-client for Ruby 0.30", "pw", []exchange{
		{"HELLO 3 AUTH default pw", hello3Reply},
		{"SELECT 1", okReply},
		{"CLIENT SETINFO LIB-NAME redis-client", okReply},
		{"CLIENT SETNAME app", okReply},
	}},
	{"phpredis, reused connection", "pw", []exchange{
		{"AUTH pw", okReply},
		{"ECHO phpredis:0123456789abcdef", "$25\r\nphpredis:0123456789abcdef\r\n"},
		{"SELECT 0", okReply},
	}},
	{"predis 3.6", "pw", []exchange{
		{"HELLO 2 AUTH default pw SETNAME predis", hello2Reply},
		{"CLIENT SETINFO LIB-NAME predis", okReply},
		{"CLIENT SETINFO LIB-VER 3.6.0", okReply},
		{"SELECT 0", okReply},
	}},
	{"predis 3.0.0 with password and no user", "pw", []exchange{
		{"HELLO 2 AUTH pw SETNAME predis", "-…\r\n"}, // malformed; any error makes it go on
		{"AUTH pw", okReply},
		{"CLIENT SETNAME predis", okReply},
	}},
	{"Redisson 4.7", "pw", []exchange{
		{"AUTH pw", okReply},
		{"SELECT 1", okReply},
		{"CLIENT SETNAME app", okReply},
		{"PING", "+PONG\r\n"},
		{"WAIT 0 0", ":0\r\n"},
		{"WAITAOF 0 0 0", "-ERR unknown command 'WAITAOF', …\r\n"},
		{"INFO ALL", info2Reply},
	}},
	{"Lettuce 7.7", "pw", []exchange{
		{"HELLO 3 AUTH default pw SETNAME app", hello3Reply},
		{"SELECT 1", okReply},
		{"CLIENT SETINFO lib-name Lettuce", okReply},
		{"CLIENT SETINFO lib-ver 7.7.0", okReply},
		{"CLIENT MAINT_NOTIFICATIONS on moving-endpoint-type external-ip", noMaint},
		{"INFO", info3Reply}, // the health check of Spring Boot
	}},
	{"Lettuce 5", "", []exchange{{"PING", "+PONG\r\n"}}},
	{"Jedis 8", "pw", []exchange{
		{"HELLO 3 AUTH default pw", hello3Reply},
		{"CLIENT SETINFO LIB-NAME jedis", okReply},
		{"CLIENT SETINFO LIB-VER 8.0.0", okReply},
		{"SELECT 1", okReply},
		{"PING", "+PONG\r\n"},
	}},
	{"Vert.x", "pw", []exchange{{"HELLO 3 AUTH default pw SETNAME app", hello3Reply}, {"SELECT 1", okReply}}},
	{"StackExchange.Redis 3.1", "pw", []exchange{
		{"AUTH pw", okReply},
		{"HELLO 3", hello3Reply},
		{"CLIENT SETNAME host(SE.Redis-v3.1.31)", okReply},
		{"CLIENT SETINFO lib-name SE.Redis", okReply},
		{"CLIENT SETINFO lib-ver 3.1.31", okReply},
		{"CLIENT ID", ":…\r\n"},
		{"CONFIG GET timeout", "%1\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"},
		{"CONFIG GET replica-read-only", "%1\r\n$17\r\nreplica-read-only\r\n$3\r\nyes\r\n"},
		{"CONFIG GET databases", "%1\r\n$9\r\ndatabases\r\n$2\r\n16\r\n"},
		{"SENTINEL MASTERS", "-ERR unknown command 'SENTINEL', …\r\n"}, // a string would make it a sentinel
		{"INFO replication", "=…\r\ntxt:# Replication\r\nrole:master\r\nconnected_slaves:0\r\n…\r\n"},
		{"INFO server", "=…\r\ntxt:# Server\r\nredis_version:8.4.0\r\nredis_mode:standalone\r\n…\r\nrun_id:…\r\n"},
		{"CLUSTER NODES", noCluster}, // a string would make it a cluster
		{"ECHO \"\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x09\\x0a\\x0b\\x0c\\x0d\\x0e\\xff\"",
			"$16\r\n\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff\r\n"},
	}},
	{"StackExchange.Redis 2.x, subscriptions", "", []exchange{
		{"CLIENT SETNAME host(SE.Redis-v2.10)", okReply},
		{"CLIENT ID", ":…\r\n"},
		{"ECHO 0123456789abcdef", "$16\r\n0123456789abcdef\r\n"},
		{"SUBSCRIBE __Booksleeve_MasterChanged", ""}, // the session answers, see TestStackExchangeRedisSubscribes
		{"PING", "+PONG\r\n"},
		{"INFO replication", "$…\r\n# Replication\r\nrole:master\r\n…"},
	}},
	{"ServiceStack.Redis", "pw", []exchange{{"AUTH pw", okReply}, {"SELECT 1", okReply}, {"CLIENT SETNAME app", okReply}, {"INFO", info2Reply}}},
	{"redis-rs 1.6", "pw", []exchange{
		{"AUTH pw", okReply},
		{"SELECT 1", okReply},
		{"CLIENT SETINFO LIB-NAME redis-rs", okReply},
		{"CLIENT SETINFO LIB-VER 1.6.0", okReply},
	}},
	{"fred 10", "", []exchange{
		{"PING", "+PONG\r\n"},
		{"SELECT 0", okReply},
		{"CLIENT SETNAME fred", okReply},
		{"CLIENT ID", ":…\r\n"},
		{"INFO server", "$…\r\n# Server\r\nredis_version:8.4.0\r\n…"},
	}},
	{"redix 1.6, Redlock for Elixir", "pw", []exchange{
		{"AUTH pw", okReply},
		{"SELECT 0", okReply},
		{"READONLY", okReply},
		{"SCRIPT LOAD \"return 1\"", "$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n"}, // it compares the SHA1
	}},
	{"redis-plus-plus 1.3", "pw", []exchange{
		{"AUTH pw", okReply},
		{"HELLO 3", hello3Reply},
		{"CLIENT SETNAME app", okReply},
		{"SELECT 1", okReply},
		{"READONLY", okReply},
	}},
	{"redis-cli 7", "pw", []exchange{
		{"AUTH pw", okReply},
		{"COMMAND DOCS", "*…\r\n$4\r\nauth\r\n…"},
		{"SELECT 0", okReply},
	}},
	{"redis-benchmark 7", "", []exchange{
		{"CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
	}},
}

func TestClientsGetThroughTheirHandshake(t *testing.T) {
	for _, h := range handshakes {
		t.Run(h.client, func(t *testing.T) {
			s, c := newTestServer(t, withPassword("", h.password))
			for _, x := range h.lines {
				if got, _ := say(t, s, c, x.line); !like(got, x.want) {
					t.Errorf("%s\n got %q\nwant %q", x.line, got, x.want)
				}
			}
		})
	}
}
