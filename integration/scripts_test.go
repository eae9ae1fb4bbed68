package integration

// The scripts that the raw connections of these tests send: the usual
// compare-and-delete and compare-and-expire, in words of our own.
const (
	releaseScript = `local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

	extendScript = `local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
)

func acquire(key, token, ms string) []string { return []string{"SET", key, token, "NX", "PX", ms} }
func release(key, token string) []string     { return []string{"EVAL", releaseScript, "1", key, token} }
func extend(key, token, ms string) []string {
	return []string{"EVAL", extendScript, "1", key, token, ms}
}
