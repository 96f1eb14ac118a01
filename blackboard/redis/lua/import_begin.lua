-- An import into an empty instance begins. Until it has ended no goal can be posted and
-- no other import begins. An import without a sign of life for a while has died, and
-- its records are to be cleared first.
-- KEYS[1] the ledger. ARGV: 1 token of the import, 2 the person, 3 schema version, 4 lease in microseconds.
-- Replies ok | already | wait, end of the lease, its person | stopping | refused why.
local mark, now = staging_key('mark'), clock()
local m = call('HMGET', mark, 'token', 'until', 'by')
if m[1] == ARGV[1] then
  return { 'already' }
end
local known = call('HGET', instance_key, 'schema')
if known and known ~= ARGV[3] then
  return { 'refused', 'its records have schema ' .. known .. ', this sett writes ' .. ARGV[3] }
end
local artefacts, claims = call('LLEN', artefacts_key), call('LLEN', claims_key)
if artefacts + claims > 0 then
  return { 'refused', 'it is not empty, it has ' .. artefacts .. ' artefacts and ' .. claims .. ' claims' }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
if m[1] and tonumber(m[2]) > tonumber(now) then
  return { 'wait', m[2], m[3] }
end
call('HSET', mark, 'token', ARGV[1], 'by', ARGV[2], 'part', '0', 'until',
  string.format('%.0f', tonumber(now) + tonumber(ARGV[4])))
return { 'ok' }
