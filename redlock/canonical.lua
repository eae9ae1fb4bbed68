-- The two changes of an existing key that most calls are: compare-and-delete,
-- and with ARGV[3] compare-and-expire. What swap.lua would do, in half the time.
--
-- KEYS[1] the key  ARGV[1] the token  ARGV[2] do nothing after this time
-- ARGV[3] the new TTL
--
-- Answers the remaining TTL (-1: none) of the key that was changed, -2 if it is
-- absent, -9 if it is too late, or the other string that it holds.
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[2]) then return -9 end
local held = redis.pcall('GET', KEYS[1])
if held ~= ARGV[1] then return held or -2 end
local ttl = redis.call('PTTL', KEYS[1])
if ARGV[3] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('DEL', KEYS[1])
end
return ttl
