-- Attempts of one worker have ended. ARGV: prefix, longest list, seconds that keys of a job live, seconds that metrics
-- are kept, the worker, then for each: id, state, where people find it, when in ms, how many ms it took, result, error,
-- when it is due again in ms; empty where there is none.
local prefix, longest, kept, counted, worker = unpack(ARGV, 1, 5)
local own = prefix .. 'worker:' .. worker
local changed = {}

local function count(name, member, at)
  redis.call('ZADD', prefix .. 'metrics:' .. name, at, member)
  changed[name] = at
end

for place = 6, #ARGV, 8 do
  local id, state, list, at, took, result, error, due = unpack(ARGV, place, place + 7)
  local job = prefix .. 'job:' .. id
  redis.call('ZREM', prefix .. 'queue:active', id)
  redis.call('ZREM', own .. ':active', id)
  redis.call('SREM', own .. ':jobs', id)
  redis.call('DEL', prefix .. 'lock:job:' .. id)
  redis.call('SET', job .. ':status', state, 'EX', kept)
  if result ~= '' then redis.call('HSET', job .. ':data', 'result', result) end
  if error ~= '' then redis.call('HSET', job .. ':data', 'error', error) end
  redis.call('EXPIRE', job .. ':data', kept)
  if list ~= '' then
    redis.call('ZADD', prefix .. 'queue:' .. list, at, id)
    redis.call('ZREMRANGEBYRANK', prefix .. 'queue:' .. list, 0, -longest - 1)
    count(list == 'completed' and 'completed' or 'failed', id, at)
  end
  if took ~= '' then count('durations', id .. ':' .. took, at) end
  if due ~= '' then redis.call('ZADD', prefix .. 'queue:delayed', due, id) end
end
for name, at in pairs(changed) do
  local metric = prefix .. 'metrics:' .. name
  redis.call('ZREMRANGEBYSCORE', metric, '-inf', at - counted * 1000)
  redis.call('EXPIRE', metric, counted)
end
