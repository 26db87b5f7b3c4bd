-- A worker has these jobs now. ARGV: prefix, longest list, now in ms, seconds that keys of a job live, those of a lock,
-- those of a worker, the worker, then the ids.
local prefix, longest, now, kept, locked, alive, worker = unpack(ARGV, 1, 7)
local own = prefix .. 'worker:' .. worker
for at = 8, #ARGV do
  local id = ARGV[at]
  for _, name in ipairs({'pending', 'failed', 'dlq'}) do
    redis.call('ZREM', prefix .. 'queue:' .. name, id)
  end
  redis.call('ZADD', prefix .. 'queue:active', now, id)
  redis.call('ZADD', own .. ':active', now, id)
  redis.call('SADD', own .. ':jobs', id)
  redis.call('SET', prefix .. 'job:' .. id .. ':status', 'running', 'EX', kept)
  redis.call('SET', prefix .. 'lock:job:' .. id, worker, 'NX', 'EX', locked)
end
redis.call('ZREMRANGEBYRANK', prefix .. 'queue:active', 0, -longest - 1)
redis.call('EXPIRE', own .. ':active', alive)
redis.call('EXPIRE', own .. ':jobs', alive)
