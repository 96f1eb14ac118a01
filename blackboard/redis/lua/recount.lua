-- Counts the work of a goal anew from its artefacts and claims: a server that replayed
-- half of a transaction has counts, lists and indexes that contradict each other.
-- KEYS[1] the ledger. ARGV: 1 workflow, 2 why.
-- Replies ok | already (the counts are right) | refused why.
local workflow, at = ARGV[1], clock()
local key = workflow_key(workflow)
local w = call('HMGET', key, 'status', 'created_at', 'cancelled')
if not w[1] then
  return { 'refused', 'no such goal' }
end
local fields = { 'outstanding', 'gates', 'questions', 'suspended', 'blocked', 'failures' }
local n = { outstanding = 0, gates = 0, questions = 0, suspended = 0, blocked = 0, failures = 0 }
local function add(field, is)
  n[field] = n[field] + (is and 1 or 0)
end

local others = 0 -- no fault by itself: a goal of an older Sett has fewer
local seen, changed = {}, false -- a list can name an id twice
local function once(id)
  local new = not seen[id]
  seen[id] = true
  return new
end
for _, id in ipairs(call('LRANGE', artefacts_by_workflow_key(workflow), 0, -1)) do
  if once(id) then
    local gate = call('ZSCORE', gates_key, id)
    add('gates', gate)
    add('suspended', gate)
    add('outstanding', gate or call('ZSCORE', unclaimed_key, id))
    add('questions', call('ZSCORE', questions_key, id))
    add('failures', is_failure(id, workflow))
    local structural = call('HGET', artifact_key(id), 'structural_type')
    others = others + (structural and structural ~= 'Standard' and structural ~= 'Terminal' and 1 or 0)
  end
end
for _, id in ipairs(call('LRANGE', claims_by_workflow_key(workflow), 0, -1)) do
  if once(id) then
    local c = call('HMGET', claim_key(id), 'status', 'opened_at')
    local open = call('ZSCORE', open_claims_key, id)
    if c[1] == 'complete' or c[1] == 'terminated' then
      changed = call('ZREM', open_claims_key, id) + call('ZREM', suspended_claims_key, id) +
        call('ZREM', suspended_claims_key, blocked_name(id)) > 0 or changed
    elseif c[1] or open then
      if not open then
        call('ZADD', open_claims_key, c[2] or at, id)
        changed = true
      end
      add('outstanding', true)
      add('suspended', call('ZSCORE', suspended_claims_key, id))
      add('blocked', call('ZSCORE', suspended_claims_key, blocked_name(id)))
    end
  end
end

add('outstanding', not w[3] and call('ZSCORE', landings_key, workflow))
add('suspended', barred(workflow))

local from, to = {}, {}
for _, field in ipairs(fields) do
  local before = call('HGET', key, field)
  if tonumber(before or 0) ~= n[field] then
    from[#from + 1], to[#to + 1] = field .. ' ' .. tostring(before or 0), field .. ' ' .. n[field]
    call('HSET', key, field, n[field])
    if n[field] == 0 and (field == 'suspended' or field == 'blocked') then
      call('HDEL', key, field)
    end
  end
end
local ended = ''
if n.outstanding > 0 and w[1] ~= 'active' and not w[3] then
  call('HSET', key, 'status', 'active')
  call('HDEL', key, 'ended_at')
  call('ZADD', active_workflows_key, w[2] or at, workflow)
  from[#from + 1], to[#to + 1] = w[1], 'active'
elseif n.outstanding == 0 and w[1] == 'active' then
  ended = end_workflow(workflow, at, 0)
  from[#from + 1], to[#to + 1] = 'active', ended
end
if #from == 0 and not changed then
  return { 'already' }
end
if others > 0 then
  call('HSET', key, 'others', others)
end
emit('recount', 'workflow', workflow, 'from', table.concat(from, ', '), 'to', table.concat(to, ', '), 'reason', ARGV[2],
  'workflow_status', ended, 'waits_for', waits_for(workflow))
publish(orchestrator_events, '')
return { 'ok' }
