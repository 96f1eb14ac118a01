-- An import is complete: all its indexes get their names at once. The ledger's own
-- first entries follow the imported ones, with new ids. So all that know them have to
-- adopt the board anew.
-- KEYS[1] the ledger. ARGV: 1 token of the import, 2 the person, 3 the file, 4 the workflow that alone is in it (empty: an
-- instance), 5 number of artefacts, 6 of claims, 7 of workflows, 8 of entries, 9 SHA-256 of the file.
-- Replies ok | already | stale.
local m = call('HMGET', staging_key('mark'), 'token', 'clearing')
if m[1] ~= ARGV[1] or m[2] then
  return { call('HGET', instance_key, 'imported') == ARGV[1] and 'already' or 'stale' }
end
local own = {}
if call('EXISTS', staging_key('events')) == 1 then
  own = call('XRANGE', events_key, '-', '+')
end
for _, name in ipairs(call('SMEMBERS', staging_key('names'))) do
  call('RENAME', staging_key(name), P .. name)
end
call('DEL', staging_key('names'), staging_key('records'), staging_key('mark'))
for _, entry in ipairs(own) do
  local fields = entry[2]
  fields[#fields + 1] = 'recorded'
  fields[#fields + 1] = entry[1]
  call('XADD', events_key, '*', unpack(fields))
end
pcall(count_suspended)
call('HSET', instance_key, 'imported', ARGV[1])
if call('HGET', instance_key, 'mark') then -- else the caller adopts it
  call('HINCRBY', instance_key, 'adopted', 1)
end
emit('import', 'by', ARGV[2], 'source', ARGV[3], 'source_workflow', ARGV[4], 'artefact_count', ARGV[5],
  'claim_count', ARGV[6], 'workflow_count', ARGV[7], 'event_count', ARGV[8], 'sha256', ARGV[9])
publish(orchestrator_events, '')
return { 'ok' }
