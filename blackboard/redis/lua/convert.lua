-- Converts the records of schema 1, some at a time. Nobody else may write meanwhile: the first call
-- waits for a leader, agents and workers of before, and the lead is taken until the end. A conversion
-- that was interrupted goes on where it was. Nothing is in the ledger.
-- KEYS[1] the ledger. ARGV: 1 the schema that the records get, 2 most records of one call.
-- Replies ok, number of artefacts, of claims | more | already | wait, for whom | refused why.
local most, at = tonumber(ARGV[2]), clock()
local known = call('HGET', instance_key, 'schema')
local under_way = '1 to ' .. ARGV[1]
if not known or known == ARGV[1] then
  return { 'already' }
end
if known ~= '1' and known ~= under_way then
  return { 'refused', 'its records have schema ' .. known .. ', this sett converts schema 1 to ' .. ARGV[1] }
end
local importing = call('HMGET', staging_key('mark'), 'until', 'by')
if importing[1] and tonumber(importing[1]) > tonumber(at) then
  return { 'wait', 'an import of ' .. (importing[2] or '') }
end
local holder, deadline = string.match(call('GET', leader_key) or '', '^(%S+) (%d+)$')
if holder and holder ~= 'conversion' and tonumber(deadline) > tonumber(at) then
  return { 'wait', 'the orchestrator ' .. holder }
end
if known == '1' then
  for _, agent in ipairs(call('HKEYS', agents_key)) do
    local who, until_ = string.match(call('GET', alive_key(agent)) or '', '^(%S+) (%d+)$')
    if who and tonumber(until_) > tonumber(at) then
      return { 'wait', 'agent ' .. agent }
    end
    local workers = call('HGETALL', workers_key(agent))
    for i = 2, #workers, 2 do
      local w = worker_of(workers[i])
      if w and w.alive > tonumber(at) then
        return { 'wait', 'a worker of agent ' .. agent }
      end
    end
  end
  call('HSET', instance_key, 'schema', under_way, 'converts', 'artefacts 0')
end
call('SET', leader_key, 'conversion ' .. string.format('%.0f', tonumber(at) + 60e6))
local number = tonumber(string.match(call('GET', epoch_key) or '', '^%d+') or 0)
call('SET', epoch_key, string.format('%.0f', math.max(tonumber(at), number + 1)) .. ' conversion')

-- Removes the fields that have their usual values: names and values.
local function without(key, usual)
  local names, gone = {}, {}
  for i = 1, #usual, 2 do
    names[#names + 1] = usual[i]
  end
  local values = call('HMGET', key, unpack(names))
  for i, name in ipairs(names) do
    if values[i] == usual[2 * i] then
      gone[#gone + 1] = name
    end
  end
  if #gone > 0 then
    call('HDEL', key, unpack(gone))
  end
end

local function artefact(id)
  local a = call('HMGET', artifact_key(id), 'logical_id', 'version', 'produced_by_agent')
  without(artifact_key(id), { 'id', id, 'logical_id', id, 'version', '1', 'structural_type', 'Standard', 'source_artefacts', '[]',
    'produced_by_agent', '', 'claim_id', '', 'summary', '', 'metadata', '{}', 'commit', '', 'produced_by_role', usual_role(a[3] or '') })
  if a[1] == id and a[2] == '1' and call('ZCARD', thread_key(id)) == 1 and call('ZSCORE', thread_key(id), id) then
    call('DEL', thread_key(id))
  end
  index_id(id)
end

local function claim(id)
  local key = claim_key(id)
  local c = call('HMGET', key, 'artefact_id', 'retry_of', 'target_agent')
  without(key, { 'id', id, 'granted_review_agents', '[]', 'granted_parallel_agents', '[]', 'granted_exclusive_agent', '', 'origin', 'artefact',
    'additional_context_ids', '[]', 'reason', '', 'course', '', 'target_logical_id', c[1] or '', 'target_version', '1', 'target_agent', '',
    'target_role', usual_role(c[3] or '') })
  if c[2] and c[2] ~= '' then
    without(key, { 'rework', '' })
  end
  local grants = call('HGETALL', key .. ':grants')
  for i = 1, #grants, 2 do
    local g = decoded(grants[i + 1])
    if g then
      save_grant(id, grants[i], g)
    else
      call('HSET', key, 'grant:' .. grants[i], grants[i + 1])
    end
  end
  local order = order_field(call('LRANGE', key .. ':bid_order', 0, -1))
  if order ~= '' then
    call('HSET', key, 'bid_order', order)
  end
  call('DEL', key .. ':grants', key .. ':bid_order')
  index_id(id)
end

local what, from = string.match(call('HGET', instance_key, 'converts') or '', '^(%a+) (%d+)$')
what, from = what or 'artefacts', tonumber(from or 0)
local left, behind = 0, 'done'
if what == 'endings' then
  local letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  for n = from, math.min(from + most, 1024) - 1 do
    local high, low = math.floor(n / 32) + 1, n % 32 + 1
    call('DEL', P .. 'ids:' .. string.sub(letters, high, high) .. string.sub(letters, low, low))
  end
  left = math.max(0, 1024 - from - most)
else
  local index = what == 'artefacts' and artefacts_key or claims_key
  behind = what == 'artefacts' and 'claims' or 'endings'
  for _, id in ipairs(call('LRANGE', index, from, from + most - 1)) do
    if what == 'artefacts' then
      artefact(id)
    else
      claim(id)
    end
  end
  left = call('LLEN', index) - from - most
end
if left > 0 then
  call('HSET', instance_key, 'converts', what .. ' ' .. from + most)
  return { 'more' }
elseif behind ~= 'done' then
  call('HSET', instance_key, 'converts', behind .. ' 0')
  return { 'more' }
end
call('HSET', instance_key, 'schema', ARGV[1])
call('HDEL', instance_key, 'converts')
call('DEL', leader_key)
return { 'ok', tostring(call('LLEN', artefacts_key)), tostring(call('LLEN', claims_key)) }
