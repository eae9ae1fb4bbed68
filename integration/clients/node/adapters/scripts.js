// Scripts of the drivers' rows: what a user without a lock library writes.

/** Deletes the lock KEYS[1] if it holds the token ARGV[1]. */
export const RELEASE = `
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`;

/** Gives the lock KEYS[1] a TTL of ARGV[2] ms if it holds the token ARGV[1]. */
export const EXTEND = `
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`;
