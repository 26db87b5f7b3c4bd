-- ARGV: prefix, longest list, seconds that a job's keys live, then for each job: id, queue, kind, rank, tenant, is fair.
local prefix, longest, kept = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for at = 4, #ARGV, 6 do
  local id, queue, kind, rank, tenant, is_fair = unpack(ARGV, at, at + 5)
  local data = prefix .. 'job:' .. id .. ':data'
  redis.call('HSET', data, 'queue', queue, 'kind', kind, 'rank', rank, 'tenant', tenant, 'fair', is_fair)
  redis.call('EXPIRE', data, kept)
  redis.call('SET', prefix .. 'job:' .. id .. ':status', 'queued', 'EX', kept)
  redis.call('ZADD', prefix .. 'queue:pending', now, id)
  put_in_line(prefix, longest, id, queue, kind, rank, tenant, is_fair)
end
redis.call('ZREMRANGEBYRANK', prefix .. 'queue:pending', 0, -longest - 1)
return (#ARGV - 3) / 6
