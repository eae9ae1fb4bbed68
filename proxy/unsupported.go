package proxy

import (
	"bytes"
	"strings"

	"redlock-proxy/resp"
)

// What Redis knows and a lock proxy does not serve. An application that meets
// such an error should learn from it what to change; unknown names get Redis's
// own text, by which clients recognise an older server.

// Reasons for a refusal, for people.
const (
	whyStructure = "only strings that are locks are kept; lists, hashes, sets, sorted sets, streams and the like do not fit a vote of independent masters. Keep such data on a Redis of its own"
	whyCounter   = "a master that misses one call would hold another number, or another string, for ever, and a number drawn by a minority could be drawn twice; keep counters, fencing counters too, on a Redis of their own"
	whyBlocking  = "only strings that are locks are kept, not even the lists that lock scripts push to, for no quorum can hand one element to exactly one waiter; waiting needs polling: let the client try again for the lock (without blocking, after a short, random delay)"
	whyFlush     = "it would free every lock of every client, and a master that misses it would still hold them; delete your own keys by name (SCAN lists them)"
	whyMany      = "several keys cannot be changed at once by it; take one lock, or use a script over the keys"
	whySharded   = "shard channels belong to clusters, and this is none; use SUBSCRIBE and PUBLISH"
	whyFunctions = "functions are not there; send the script with EVAL or EVALSHA"
	whyOperator  = "it manages a Redis server, and this is none; use it on the masters"
	whyInspect   = "it looks into a Redis server, and this is none; see INFO, REDLOCK STATUS and the metrics"
	whyReplicas  = "there are no replicas; the masters are independent"
)

// refusals returns the reason for every command of Redis that is refused, by
// lower-case name.
func refusals() map[string]string {
	table := map[string]string{}
	for _, group := range [...]struct{ why, names string }{
		{whyStructure, `
			hset hget hdel hexists hgetall hincrby hincrbyfloat hkeys hlen hmget hmset hrandfield hscan hsetnx hstrlen hvals
			hexpire hpexpire hexpireat hpexpireat hexpiretime hpexpiretime httl hpttl hpersist hgetdel hgetex hsetex
			lpush rpush lpushx rpushx lpop rpop lrange lindex linsert llen lmove lmpop lpos lrem lset ltrim rpoplpush
			sadd srem scard sdiff sdiffstore sinter sintercard sinterstore sismember smismember smembers smove spop srandmember sscan sunion sunionstore
			zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange
			zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex
			zrevrangebyscore zrevrank zscan zscore zunion zunionstore
			xadd xack xackdel xautoclaim xclaim xdel xdelex xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim
			geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore
			pfadd pfcount pfmerge pfdebug pfselftest setbit getbit bitcount bitfield bitfield_ro bitop bitpos sort sort_ro lcs`},
		{whyCounter, `incr decr incrby decrby incrbyfloat append setrange getrange substr`},
		{whyBlocking, `blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop`},
		{whyFlush, `flushdb flushall swapdb`},
		{whyMany, `mset msetnx msetex rename renamenx copy move`},
		{whySharded, `ssubscribe sunsubscribe spublish`},
		{whyFunctions, `fcall fcall_ro function`},
		{whyOperator, `shutdown save bgsave bgrewriteaof lastsave module migrate restore restore-asking dump`},
		{whyInspect, `object memory debug latency slowlog monitor lolwut hotkeys touch`},
		{whyReplicas, `replicaof slaveof sync psync replconf failover`},
	} {
		for name := range strings.FieldsSeq(group.names) {
			table[name] = group.why
		}
	}
	return table
}

// refuse answers a command that is not served. The connection goes on.
func (s *Server) refuse(args [][]byte, dst []byte) []byte {
	return resp.AppendError(dst, s.refusalText(args))
}

// refusalText is the error text for a command that is not served.
func (s *Server) refusalText(args [][]byte) string {
	s.cfg.Metrics.unserved()
	var buf [32]byte
	if len(args[0]) <= len(buf) {
		if why := s.refused[string(lower(buf[:0], args[0]))]; why != "" {
			return notServed(upper(args[0]), why)
		}
	}
	return unknownCommand(args)
}

// notServed is the error text for what Redis knows and this proxy does not do.
func notServed(name, why string) string {
	return "ERR " + name + " is not served by redlock-proxy: " + why
}

// unknownCommand is Redis's text, which several clients look for: with the
// first 128 bytes of the name and of the quoted arguments, each only up to a
// NUL byte, as C prints them.
func unknownCommand(args [][]byte) string {
	var quoted strings.Builder
	for _, arg := range args[1:] {
		if quoted.Len() >= 128 {
			break
		}
		quoted.WriteString("'" + cString(arg, 128-quoted.Len()) + "' ")
	}
	return "ERR unknown command '" + cString(args[0], 128) + "', with args beginning with: " + quoted.String()
}

// unknownSubcommand is Redis's answer for CLIENT FOO.
func unknownSubcommand(_ *Server, _ *client, args [][]byte, dst []byte) []byte {
	return resp.AppendError(dst, "ERR unknown subcommand '"+cString(args[1], 128)+"'. Try "+upper(args[0])+" HELP.")
}

// arityError is Redis's text for a wrong number of arguments.
func arityError(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// cString is what C's "%.*s" prints of b.
func cString(b []byte, most int) string {
	if len(b) > most {
		b = b[:most]
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(b)
}
