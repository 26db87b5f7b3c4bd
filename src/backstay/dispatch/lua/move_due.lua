-- One pass over the jobs that are due: out of the delayed set and into their lines, in one step, so that two who do it
-- at the same time never move an id twice. ARGV: prefix, longest list, now in ms, how many.
local prefix, longest, now, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local delayed = prefix .. 'queue:delayed'
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, most)
for _, id in ipairs(due) do
  redis.call('ZREM', delayed, id)
  local job = prefix .. 'job:' .. id
  local data = redis.call('HMGET', job .. ':data', 'queue', 'kind', 'rank', 'tenant', 'fair')
  if data[1] and data[2] and data[3] then
    put_in_line(prefix, longest, id, data[1], data[2], data[3], data[4] or '', data[5] or '0')
    redis.call('ZADD', prefix .. 'queue:pending', now, id)
    redis.call('SET', job .. ':status', 'queued', 'KEEPTTL')
  end
end
return #due
