-- A person ends a goal: its open claims, and its artefacts that wait for a claim or
-- for approval. It cannot be retried.
-- KEYS[1] the ledger. ARGV: 1 workflow, 2 Failure (JSON), 3 payload, 4 size, 5 hash, 6 the person, 7 why.
-- Replies ok | already | refused why.
local workflow, failure = ARGV[1], cjson.decode(ARGV[2])
local known = stored(failure, ARGV[3])
if known then
  return known
end
local status = call('HGET', workflow_key(workflow), 'status')
if not status then
  return { 'refused', 'no such goal' }
end
if status ~= 'active' then
  return { 'refused', 'it has ended: ' .. status }
end
local at, claims, agents = clock(), {}, {}
put_artefact(failure, ARGV[3], at)
call('HSET', workflow_key(workflow), 'cancelled', '1')
local own -- the goal's artefacts, for those whose record is lost
local function is_own(id)
  if not own then
    own = {}
    for _, artefact in ipairs(call('LRANGE', artefacts_by_workflow_key(workflow), 0, -1)) do
      own[artefact] = true
    end
  end
  return own[id]
end
for _, waiting in ipairs({ unclaimed_key, gates_key }) do
  for _, id in ipairs(call('ZRANGE', waiting, 0, -1)) do
    local of = call('HGET', artifact_key(id), 'workflow_id')
    if of == workflow or not of and is_own(id) then
      call('ZREM', waiting, id)
    end
  end
end
for _, claim in ipairs(call('LRANGE', claims_by_workflow_key(workflow), 0, -1)) do
  if call('ZSCORE', open_claims_key, claim) then -- also a corrupt one, which no other move ends
    for _, agent in ipairs(cancel_grants(claim, at)) do
      agents[#agents + 1] = agent
    end
    end_claim(claim, call('HGET', claim_key(claim), 'revision'), 'terminated',
      'goal cancelled by ' .. ARGV[6] .. ': ' .. ARGV[7], at)
    claims[#claims + 1] = claim
    publish(claim_events, claim)
  end
end
-- This is the last resort: it does not depend on the counts of outstanding work.
call('HSET', workflow_key(workflow), 'outstanding', 0, 'status', 'failed', 'ended_at', at)
-- A branch that is being moved may have the result by then: the landing goes on until that is known (land.lua).
if (decoded(call('HGET', workflow_key(workflow), 'landing')) or {}).state ~= 'moving' then
  call('ZREM', landings_key, workflow)
end
publish(orchestrator_events, '') -- the next goal's turn, or a look at the branch
call('HDEL', workflow_key(workflow), 'gates', 'questions', 'suspended', 'blocked')
call('ZREM', active_workflows_key, workflow)
emit('cancel', 'workflow', workflow, 'reason', ARGV[7], 'by', ARGV[6], 'claims', table.concat(claims, ','),
  'result', failure.id, 'result_type', failure.type, 'size', ARGV[4], 'sha256', ARGV[5], 'cancelled', table.concat(agents, ','),
  'workflow_status', 'failed')
return { 'ok' }
