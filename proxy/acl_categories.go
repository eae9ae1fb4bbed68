package proxy

import (
	"strings"

	"redlock-proxy/resp"
)

// aclMembers are the categories of Redis 7.0 and which of the commands that are
// served are in them, as its ACL CAT tells; ours are behind. What is in none is
// reached by +@all and by its name.
var aclMembers = [...]struct{ category, commands string }{
	{"keyspace", `dbsize del exists expire expireat expiretime keys persist pexpire pexpireat pexpiretime pttl randomkey scan ttl type unlink
		delex delifeq`},
	{"read", `dbsize exists expiretime get keys mget pexpiretime pttl randomkey scan strlen ttl type getrange substr
		digest`},
	{"write", `del expire expireat getdel getex getset persist pexpire pexpireat psetex set setex setnx unlink mset msetnx lpush rpush
		delex delifeq`},
	{"string", `get getdel getex getset mget psetex set setex setnx strlen getrange substr mset msetnx
		delex delifeq digest`},
	{"connection", `asking auth client command echo hello ping quit readonly readwrite reset select wait`},
	{"transaction", `discard exec multi unwatch watch`},
	{"scripting", `eval eval_ro evalsha evalsha_ro script`},
	{"pubsub", `psubscribe publish pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub
		punsubscribe subscribe unsubscribe`},
	{"admin", `client|kill client|list client|no-evict client|pause client|unblock client|unpause
		config|get config|resetstat config|rewrite config|set role acl|deluser acl|getuser acl|list acl|load acl|save acl|setuser acl|users
		redlock`},
	{"dangerous", `client|kill client|list client|no-evict client|pause client|unblock client|unpause
		config|get config|resetstat config|rewrite config|set info keys role acl|deluser acl|getuser acl|list acl|load acl|save acl|setuser acl|users
		redlock`},
	{"fast", `asking auth dbsize discard echo exists expire expireat expiretime get getdel getex getset hello mget multi persist
		pexpire pexpireat pexpiretime ping pttl publish quit readonly readwrite reset role select setnx strlen time ttl type unlink
		unwatch watch lpush rpush delex delifeq digest`},
	{"slow", `acl client cluster command config del eval eval_ro evalsha evalsha_ro exec info keys psetex psubscribe pubsub
		punsubscribe randomkey scan script set setex subscribe unsubscribe wait getrange substr mset msetnx redlock`},
	{"set", ""}, {"sortedset", ""}, {"list", "lpush rpush"}, {"hash", ""}, {"bitmap", ""},
	{"hyperloglog", ""}, {"geo", ""}, {"stream", ""}, {"blocking", ""},
}

// scriptOnly are commands that scripts may call and clients may not send.
const scriptOnly = "getrange substr mset msetnx lpush rpush"

// aclNames are the commands that users are given, each by its name in errors,
// like "get" or "client|id".
type aclNames struct {
	all        []string
	byWord     map[string][]string        // those that a rule means by a word
	inert      map[string]bool            // known to Redis, and served to nobody
	categories map[string]map[string]bool // of each command
}

func newACLNames() *aclNames {
	n := &aclNames{byWord: map[string][]string{}, inert: map[string]bool{}, categories: map[string]map[string]bool{}}
	for name, cmd := range commandTable() {
		if cmd.subs == nil || cmd.arity == -1 {
			n.add(name)
		}
		for _, sub := range cmd.subs {
			n.add(sub.name)
		}
	}
	for _, info := range resp.Catalog() {
		if resp.IsLock([]byte(info.Name)) {
			n.add(info.Name)
		}
	}
	for name := range strings.FieldsSeq(scriptOnly) {
		n.add(name)
	}
	for name := range refusals() {
		n.inert[name] = n.categories[name] == nil
	}
	for _, c := range aclMembers {
		for word := range strings.FieldsSeq(c.commands) {
			for _, name := range n.named(word) {
				n.categories[name][c.category] = true
			}
		}
	}
	return n
}

func (n *aclNames) add(name string) {
	n.all = append(n.all, name)
	n.categories[name] = map[string]bool{}
	n.byWord[name] = append(n.byWord[name], name)
	if container, _, ok := strings.Cut(name, "|"); ok {
		n.byWord[container] = append(n.byWord[container], name)
	}
}

// named are the commands that a rule means by a name: a command with its
// subcommands, or one of these.
func (n *aclNames) named(word string) []string { return n.byWord[word] }

// in are the commands of a category; there may be none. ok is false if there is
// no such category.
func (n *aclNames) in(category string) (names []string, ok bool) {
	if category == "all" {
		return n.all, true
	}
	for _, c := range aclMembers {
		ok = ok || c.category == category
	}
	for _, name := range n.all {
		if n.categories[name][category] {
			names = append(names, name)
		}
	}
	return names, ok
}
