-- canonical.lua for many keys: each is changed, or not, as if it were alone, and
-- an error of one is none of the others'.
--
-- KEYS the keys, no two the same  ARGV three for each of them: the token, the new
-- TTL or nothing to delete the key, and the time after which nothing is to be
-- done, or nothing if that is the one before
--
-- Answers for each what canonical.lua would.
local time = redis.call('TIME')
local now, limit, out = time[1] * 1000 + time[2] / 1000, 0, {}
for i, key in ipairs(KEYS) do
  local token, px, new = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  if new ~= '' then limit = tonumber(new) end
  if now > limit then
    out[i] = -9
  else
    local held = redis.pcall('GET', key)
    if held ~= token then
      out[i] = held or -2
    else
      local ttl, done = redis.call('PTTL', key), nil
      if px == '' then done = redis.pcall('DEL', key) else done = redis.pcall('PEXPIRE', key, px) end
      out[i] = type(done) == 'table' and done or ttl
    end
  end
end
return out
