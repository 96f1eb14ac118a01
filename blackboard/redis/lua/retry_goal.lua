-- A person has a goal go on after a Failure that belongs to no claim. The Failure no longer counts. `landing`: its
-- result takes its turn to land anew. `limit`: its artefacts that got no claim, since there were too many, wait for one
-- again; where there are none, and the landing ended the goal, it is as `landing`.
-- KEYS[1] the ledger. ARGV: 1 workflow, 2 the Failure, 3 the word of this retry, 4 the person, 5 why (may be empty),
-- 6 how, 7 limit: the most artefacts that count it may have (0: any number).
-- Replies ok | already | refused why | stopping | miscounted workflow.
local workflow, failure, word = ARGV[1], ARGV[2], ARGV[3]
local key = workflow_key(workflow)
local w = call('HMGET', key, 'status', 'created_at', 'cancelled', 'landing', 'retried')
if not w[1] or not w[2] then
  return { 'refused', 'its goal is lost or corrupt' }
end
local before = retried_word(workflow, failure)
if before then
  return before == word and { 'already' } or { 'refused', 'it is tried again' }
end
local f = call('HMGET', artifact_key(failure), 'structural_type', 'workflow_id', 'claim_id', 'type')
if f[1] ~= 'Failure' or f[2] ~= workflow or (f[3] or '') ~= '' then
  return { 'refused', 'it did not end the goal' }
end
if w[3] then
  return { 'refused', 'its goal was cancelled' }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
local how, waiting = ARGV[6], {}
if how == 'landing' then
  if w[1] == 'active' or call('ZSCORE', landings_key, workflow) then
    return { 'refused', 'its goal has not ended' }
  end
  if (decoded(w[4]) or {}).state ~= 'none' then
    return { 'refused', 'its result was not to land' }
  end
else
  local limit, has = tonumber(ARGV[7]), size_of(workflow)
  if limit > 0 and has > limit then
    return { 'refused', 'its goal has ' .. has .. ' artefacts that count, and max_artefacts is ' .. limit }
  end
  local claimed = {}
  for _, claim in ipairs(call('LRANGE', claims_by_workflow_key(workflow), 0, -1)) do
    claimed[call('HGET', claim_key(claim), 'artefact_id') or ''] = true
  end
  for _, id in ipairs(call('LRANGE', artefacts_by_workflow_key(workflow), 0, -1)) do
    local a = call('HMGET', artifact_key(id), 'type', 'structural_type')
    if a[1] and not a[2] and not claimed[id] and not call('ZSCORE', unclaimed_key, id) and not call('ZSCORE', gates_key, id) then
      waiting[#waiting + 1] = id
    end
  end
  if #waiting == 0 and (decoded(w[4]) or {}).state == 'none' then -- there were too many for one more rework of its result
    how = 'landing'
  end
end
local off = miscounted(workflow, 'failures')
if off then
  return off
end
local at, to = clock(), 'unclaimed'
call('HSET', key, 'retried', (w[5] and w[5] .. ' ' or '') .. failure .. '=' .. word)
go_on(workflow, 1, w[2])
for _, id in ipairs(waiting) do
  call('ZADD', unclaimed_key, at, id)
  publish(orchestrator_events, '+' .. id)
end
if how == 'landing' then
  to = 'queued'
  call('ZADD', landings_key, at, workflow)
  call('HSET', key, 'landing', '{"state":"queued"}', 'landing_since', at)
  call('HINCRBY', key, 'outstanding', 1)
  publish(orchestrator_events, '')
elseif #waiting > 0 then
  call('HINCRBY', key, 'outstanding', #waiting)
end
local ended = ''
if tonumber(call('HGET', key, 'outstanding') or 0) == 0 then -- nothing of it waited
  ended = end_workflow(workflow, at, 0)
end
emit('retry', 'workflow', workflow, 'artefact', failure, 'type', f[4], 'to', to, 'by', ARGV[4], 'reason', ARGV[5],
  'workflow_status', ended, 'waits_for', waits_for(workflow))
return { 'ok' }
