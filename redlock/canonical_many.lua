-- canonical.lua for many keys: each is changed, or not, as if it were alone, and
-- an error of one is none of the others'.
--
-- KEYS the keys, no two the same  ARGV their tokens, and then three for each run of
-- keys that are treated alike: how many they are, the time after which nothing is
-- to be done, and the new TTL, or nothing to delete them
--
-- Answers for each what canonical.lua would.
local call, pcall, keys, argv, out = redis.call, redis.pcall, KEYS, ARGV, {}
local time, first = call('TIME'), 1
local now = time[1] * 1000 + time[2] / 1000
for run = #keys + 1, #argv, 3 do
  local last, px = first + argv[run] - 1, argv[run + 2]
  local late = now > tonumber(argv[run + 1])
  for i = first, last do
    local key = keys[i]
    if late then
      out[i] = -9
    else
      local held = pcall('GET', key)
      if held ~= argv[i] then
        out[i] = held or -2
      else
        local ttl, done = call('PTTL', key), nil
        if px == '' then done = pcall('DEL', key) else done = pcall('PEXPIRE', key, px) end
        out[i] = done == 1 and ttl or done
      end
    end
  end
  first = last + 1
end
return out
