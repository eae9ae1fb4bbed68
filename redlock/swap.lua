-- Applies one decision table to one key. For several keys see several.lua,
-- which comes before this in the script.
--
-- KEYS[1]  the key
-- ARGV[1]  four letters, what to do if the key is absent, holds the token,
--          holds another string, or is no string:
--            k  keep it        s  SET value with PX     e  PEXPIRE
--            d  DEL            r  SET value, keep TTL
--          then '=' if there is a token, '<' if it only counts on a key with
--          a certain remaining TTL at most, '-' if there is none, and how to
--          apply the window: 'p' by PEXPIRETIME, 't' by TIME and PTTL, '-' not at all,
--          then 'b' if nothing is to be done after a certain time, '-' if not
-- ARGV[2]  the token
-- ARGV[3]… for each letter in turn: value and TTL for s, TTL for e, value for r
-- at last  that TTL; the window, if there is one: first and last expiry time;
--          the time for b
--
-- Answers 0 if it is too late, else the case (1 to 4) times two, plus one if the effect was applied, the
-- remaining TTL, and the value if it is another string. TTLs stay strings: a
-- Lua number would not hold all of them.
local key, shape, token = KEYS[1], ARGV[1], ARGV[2]
local last = #ARGV

local function now()
  if redis.replicate_commands then redis.replicate_commands() end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

if #KEYS > 1 then return several(now) end

if string.sub(shape, 7, 7) == 'b' then
  if now() > tonumber(ARGV[last]) then return {0, 0} end
  last = last - 1
end

local window, from, to = string.sub(shape, 6, 6), 0, 0
if window ~= '-' then
  from, to = tonumber(ARGV[last - 1]), tonumber(ARGV[last])
  last = last - 2
end

local held = redis.pcall('GET', key)
local case = 3
if not held then
  case = 1
elseif type(held) == 'table' then
  if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then return held end
  case = 4
elseif string.sub(shape, 5, 5) ~= '-' and held == token then
  case = 2
end
local ttl = 0
if case ~= 1 then ttl = redis.call('PTTL', key) end
if case == 2 and string.sub(shape, 5, 5) == '<' then
  if ttl < 0 or ttl > tonumber(ARGV[last]) then case = 3 end
end

local effect, arg = string.sub(shape, case, case), 3
for i = 1, case - 1 do
  local before = string.sub(shape, i, i)
  if before == 's' then
    arg = arg + 2
  elseif before == 'e' or before == 'r' then
    arg = arg + 1
  end
end

if case == 2 and window ~= '-' then
  local expiry = -1
  if window == 'p' then
    expiry = redis.call('PEXPIRETIME', key)
  elseif ttl >= 0 then
    expiry = now() + ttl
    from, to = from - 2, to + 2
  end
  if expiry < from or expiry > to then effect = 'k' end
end

local applied = 1
if effect == 's' then
  redis.call('SET', key, ARGV[arg], 'PX', ARGV[arg + 1])
elseif effect == 'r' then
  local keep = '86400000'
  if case ~= 1 and ttl >= 0 then keep = string.format('%.0f', math.max(ttl, 1)) end
  redis.call('SET', key, ARGV[arg], 'PX', keep)
elseif effect == 'e' then
  applied = redis.call('PEXPIRE', key, ARGV[arg])
elseif effect == 'd' then
  applied = redis.call('DEL', key)
else
  applied = 0
end

if case == 3 then return {case * 2 + applied, ttl, held} end
return {case * 2 + applied, ttl}
