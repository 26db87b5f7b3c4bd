-- Moves ids from the lines of the wanted pairs to what the worker has taken: the best rank first, and in fair queues the
-- tenant whose turn it is. ARGV: prefix, the key of what it has taken, its seconds, how many, then for each pair: queue, kind, and
-- the weights of its tenants as JSON where it is fair, else nothing.
local prefix, own, kept, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local taken = {}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function move(line)
  local id = redis.call('RPOP', line)
  if id then
    redis.call('ZADD', own, now, id)
    taken[#taken + 1] = id
  end
  return id
end

local function best_of(line, suffix)
  for rank = 1, 10 do
    if move(line .. rank .. suffix) then return true end
  end
  return false
end

local function take_in_turns(pair, line, weights)
  local turns = prefix .. 'queue:turns:' .. pair
  while #taken < most do
    local first = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')
    if #first == 0 then return end
    if best_of(line, ':' .. first[1]) then
      redis.call('SET', turns .. ':now', first[2])
      redis.call('ZADD', turns, first[2] + 1 / (weights[first[1]] or 1), first[1])
    else
      redis.call('ZREM', turns, first[1])
    end
  end
end

local plain = {}
for at = 5, #ARGV, 3 do
  local pair = ARGV[at] .. ':' .. ARGV[at + 1]
  local line = prefix .. 'queue:pending:' .. pair .. ':'
  if ARGV[at + 2] == '' then
    plain[#plain + 1] = line
  else
    take_in_turns(pair, line, cjson.decode(ARGV[at + 2]))
  end
end
for rank = 1, 10 do
  for _, line in ipairs(plain) do
    while #taken < most and move(line .. rank) do end
  end
end
if #taken > 0 then redis.call('EXPIRE', own, kept) end
return taken
