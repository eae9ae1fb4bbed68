//go:build linux

package caller

import (
	"strconv"
	"time"
)

const (
	releaseScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`
	extendScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0`
	renewScript = `if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 'OK'
end
return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])`
)

// names are how histories name the scripts.
var names = map[string]string{releaseScript: "release", extendScript: "extend", renewScript: "acquire-or-renew"}

func millis(ttl time.Duration) string { return strconv.FormatInt(ttl.Milliseconds(), 10) }

func acquire(key, token string, ttl time.Duration) []string {
	return []string{"SET", key, token, "NX", "PX", millis(ttl)}
}

func renew(key, token string, ttl time.Duration) []string {
	return []string{"EVAL", renewScript, "1", key, token, millis(ttl)}
}

// releases are ways of compare-and-delete, extends of compare-and-expire. Both
// answer :1, or :0 if the lock is not theirs; or +OK and nil.
var releases = []func(key, token string) []string{
	func(key, token string) []string { return []string{"EVAL", releaseScript, "1", key, token} },
	func(key, token string) []string { return []string{"DELEX", key, "IFEQ", token} },
}

var extends = []func(key, token string, ttl time.Duration) []string{
	func(key, token string, ttl time.Duration) []string {
		return []string{"EVAL", extendScript, "1", key, token, millis(ttl)}
	},
	func(key, token string, ttl time.Duration) []string {
		return []string{"SET", key, token, "IFEQ", token, "PX", millis(ttl)}
	},
}

// yes reports whether a reply means that it was done.
func (r *reply) yes() bool { return r.text == ":1" || r.text == "+OK" || r.text == `"OK"` }

// no reports whether a reply means that the lock is not the caller's, or
// somebody else's.
func (r *reply) no() bool { return r.text == ":0" || r.text == "$-1" }
