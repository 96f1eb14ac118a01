-- A part of an import: records under their own names, which no index leads to
-- yet, and indexes and ledger under names of their own. A part that was put before,
-- such as number 0, says that the import lives.
-- KEYS[1] the ledger. ARGV: 1 token of the import, 2 number of the part, 3 lease in microseconds; then commands, each as the
-- number of its words and its words.
-- Replies ok | already | stale | refused why.
local mark = staging_key('mark')
local m = call('HMGET', mark, 'token', 'part', 'clearing')
if m[1] ~= ARGV[1] or m[3] then
  return { 'stale' }
end
local part = tonumber(ARGV[2])
call('HSET', mark, 'until', string.format('%.0f', tonumber(clock()) + tonumber(ARGV[3])))
if tonumber(m[2]) >= part then
  return { 'already' }
end
if tonumber(m[2]) ~= part - 1 then
  return { 'refused', 'part ' .. m[2] + 1 .. ' comes first' }
end
local allowed, first = { HSET = true, RPUSH = true, ZADD = true, SADD = true, XADD = true }, 4
while ARGV[first] do
  local words = tonumber(ARGV[first])
  if not allowed[ARGV[first + 1]] or string.sub(ARGV[first + 2], 1, #P) ~= P then
    return { 'refused', 'an import does not ' .. ARGV[first + 1] .. ' ' .. ARGV[first + 2] }
  end
  call(unpack(ARGV, first + 1, first + words))
  first = first + words + 1
end
call('HSET', mark, 'part', ARGV[2])
return { 'ok' }
