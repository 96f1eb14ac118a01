-- Removes the records of an import that will not be finished, some at a time, and its
-- mark at last. After the first of them no late part of the import is written.
-- KEYS[1] the ledger. ARGV: 1 token of the import, 2 most records.
-- Replies ok | already | more | stale | finished: the import is in place.
local mark, records = staging_key('mark'), staging_key('records')
local token = call('HGET', mark, 'token')
if call('HGET', instance_key, 'imported') == ARGV[1] then
  return { 'finished' }
end
if token ~= ARGV[1] then
  return { token and 'stale' or 'already' }
end
call('HSET', mark, 'clearing', '1')
local some = call('LRANGE', records, 0, tonumber(ARGV[2]) - 1)
for _, record in ipairs(some) do
  local kind, id = string.match(record, '^(%a+) (%S+)$')
  if kind == 'artefact' then
    local a = call('HMGET', artifact_key(id), 'logical_id', 'source_artefacts', 'workflow_id')
    local readable, sources = pcall(cjson.decode, a[2] or '')
    for _, source in ipairs(readable and type(sources) == 'table' and sources or {}) do
      call('DEL', children_key(source))
    end
    call('DEL', artifact_key(id), thread_key(a[1] or id), artefacts_by_workflow_key(a[3] or ''))
  elseif kind == 'claim' then
    local workflow = call('HGET', claim_key(id), 'workflow_id') or ''
    call('DEL', claim_key(id), bids_key(id), claims_by_workflow_key(workflow))
  else
    call('DEL', workflow_key(id), artefacts_by_workflow_key(id), claims_by_workflow_key(id), spending_key(id),
      spending_key(id .. ':settled'))
  end
end
if #some > 0 then
  call('LTRIM', records, #some, -1)
  return { 'more' }
end
for _, name in ipairs(call('SMEMBERS', staging_key('names'))) do
  call('UNLINK', staging_key(name))
end
call('DEL', staging_key('names'), records, mark)
return { 'ok' }
