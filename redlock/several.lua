-- Applies one decision table to several keys, to all of them or to none.
--
-- KEYS     the keys
-- ARGV[1]  'b' if nothing is to be done after a certain time, '-' if not; then
--          three letters for each key: what is expected there
--            =  the token   <  the token, with a remaining TTL of at most …
--            -  nothing: no such key
--          what to do to it if all keys are absent, and what if all are as
--          expected: the letters of swap.lua
-- ARGV[2]… for each key in turn: the token for = and <, the TTL for <, then
--          what the letters need, as in swap.lua
-- at last  the time for b
--
-- Answers 0 if it is too late, else the case (1 if all are absent, 2 if all are
-- as expected, 3 otherwise) times two, plus one if anything was changed; then
-- for each key what it is (0 absent, 1 a string, 2 no string, 3 the token), the
-- remaining TTL, and the string unless it is the token.
--
-- All keys are read before the first is changed, so what a server refuses in
-- general (READONLY, OOM, …) it refuses before anything was changed.
local function several(now)
  local shape, at = ARGV[1], 2
  if string.sub(shape, 1, 1) == 'b' and now() > tonumber(ARGV[#ARGV]) then return {0} end

  -- argument takes the next one.
  local function argument()
    at = at + 1
    return ARGV[at - 1]
  end

  -- leaf is an effect with its arguments.
  local function leaf(letter)
    local l = {effect = letter}
    if letter == 's' or letter == 'r' then l.value = argument() end
    if letter == 's' or letter == 'e' then l.ttl = argument() end
    return l
  end

  local answer, leaves = {0}, {{}, {}}
  local absent, expected = true, true
  for i, key in ipairs(KEYS) do
    local expects = string.sub(shape, 3 * i - 1, 3 * i - 1)
    local token, longest
    if expects ~= '-' then token = argument() end
    if expects == '<' then longest = tonumber(argument()) end
    leaves[1][i] = leaf(string.sub(shape, 3 * i, 3 * i))
    leaves[2][i] = leaf(string.sub(shape, 3 * i + 1, 3 * i + 1))

    local held, kind, ttl = redis.pcall('GET', key), 1, 0
    if not held then
      kind, held = 0, ''
    elseif type(held) == 'table' then
      if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then return held end
      kind, held = 2, ''
    elseif held == token then
      kind, held = 3, ''
    end
    if kind ~= 0 then ttl = redis.call('PTTL', key) end
    absent = absent and kind == 0
    if expects == '-' then
      expected = expected and kind == 0
    else
      expected = expected and kind == 3 and (not longest or ttl >= 0 and ttl <= longest)
    end
    answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = kind, ttl, held
  end

  local case, applied = 3, 0
  if absent then
    case = 1
  elseif expected then
    case = 2
  end
  for i, l in ipairs(leaves[case] or {}) do
    local key, ttl, done = KEYS[i], answer[3 * i], 1
    if l.effect == 's' then
      redis.call('SET', key, l.value, 'PX', l.ttl)
    elseif l.effect == 'r' then
      local keep = '86400000'
      if answer[3 * i - 1] ~= 0 and ttl >= 0 then keep = string.format('%.0f', math.max(ttl, 1)) end
      redis.call('SET', key, l.value, 'PX', keep)
    elseif l.effect == 'e' then
      done = redis.call('PEXPIRE', key, l.ttl)
    elseif l.effect == 'd' then
      done = redis.call('DEL', key)
    else
      done = 0
    end
    if done == 1 then applied = 1 end
  end
  answer[1] = case * 2 + applied
  return answer
end

