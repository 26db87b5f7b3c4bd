-- Puts one id into the line of its queue, kind and rank; in a fair queue each tenant has lines of its own, and its
-- place among the tenants. A full line takes no more: what is left out waits in PostgreSQL, where it is found.
local function put_in_line(prefix, longest, id, queue, kind, rank, tenant, is_fair)
  local pair = queue .. ':' .. kind
  local line = prefix .. 'queue:pending:' .. pair .. ':' .. rank
  if is_fair == '1' then
    local turns = prefix .. 'queue:turns:' .. pair
    redis.call('ZADD', turns, 'NX', redis.call('GET', turns .. ':now') or '0', tenant)
    line = line .. ':' .. tenant
  end
  if redis.call('LLEN', line) < longest then
    redis.call('LPUSH', line, id)
  end
end
