-- Puts ids that were taken in vain where they were, at the front of their lines; the last one named comes to stand
-- foremost. ARGV: prefix, then for each job: id, queue, kind, rank, tenant, is fair.
local prefix = ARGV[1]
for at = 2, #ARGV, 6 do
  local id, queue, kind, rank, tenant, is_fair = unpack(ARGV, at, at + 5)
  local pair = queue .. ':' .. kind
  local line = prefix .. 'queue:pending:' .. pair .. ':' .. rank
  if is_fair == '1' then
    local turns = prefix .. 'queue:turns:' .. pair
    redis.call('ZADD', turns, 'NX', redis.call('GET', turns .. ':now') or '0', tenant)
    line = line .. ':' .. tenant
  end
  redis.call('RPUSH', line, id)
end
