-- Applies the orchestrator's decision on a claim.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 kind, 5 details (JSON),
-- 6 payload of the Failure that goes with it, 7 size, 8 hash.
-- Kinds: ignore {agents, reason}; grant {phase, status, field, agents}; complete {reason};
-- terminate {reason, failure?, rework? {id, agent, context, bidders}}.
-- Replies ok | stale.
if not leads(ARGV[1]) then
  return { 'stale', 'leader' }
end
local claim, kind, d = ARGV[2], ARGV[4], cjson.decode(ARGV[5])
local key = claim_key(claim)
local c = call('HMGET', key, 'revision', 'status', 'workflow_id', 'artefact_id')
if c[1] ~= ARGV[3] then
  return { 'stale', 'revision' }
end
local at, workflow = clock(), c[3]

if kind == 'ignore' then
  for _, agent in ipairs(d.agents) do
    if call('HSETNX', bids_key(claim), agent, 'ignore') == 1 then
      call('RPUSH', bid_order_key(claim), agent)
    end
    call('ZREM', agent_due_key(agent), claim)
  end
  call('HINCRBY', key, 'revision', 1)
  emit('bid', 'workflow', workflow, 'claim', claim, 'agent', table.concat(d.agents, ','), 'to', 'ignore',
    'reason', d.reason)
  call('PUBLISH', orchestrator_events, claim)
  return { 'ok' }
end

if kind == 'grant' then
  call('HSET', key, 'status', d.status, d.field, d.granted)
  call('HINCRBY', key, 'revision', 1)
  for _, agent in ipairs(d.agents) do
    queue_grant(claim, agent, { phase = d.phase, attempt = 1 }, at)
  end
  emit('grant', 'workflow', workflow, 'claim', claim, 'phase', d.phase, 'from', c[2], 'to', d.status,
    'agent', table.concat(d.agents, ','))
  return { 'ok' }
end

if kind == 'complete' then
  local ended = close_claim(claim, 'complete', d.reason, at)
  emit('complete', 'workflow', workflow, 'claim', claim, 'from', c[2], 'to', 'complete', 'reason', d.reason,
    'workflow_status', ended)
  return { 'ok' }
end

-- terminate
local cancelled = cancel_grants(claim, at)
local result, result_type, rework, reworker = '', '', '', ''
if d.failure then
  result, result_type = d.failure.id, d.failure.type
  put_artefact(d.failure, ARGV[6], at)
end
if d.rework then
  rework, reworker = d.rework.id, d.rework.agent
  put_claim({ id = rework, artefact = c[4], status = 'pending_exclusive', origin = 'rework',
    bidders = '[]', context = d.rework.context }, at)
  call('HSET', claim_key(rework), 'granted_exclusive_agent', reworker)
  call('HINCRBY', workflow_key(workflow), 'outstanding', 1)
  queue_grant(rework, reworker, { phase = 'exclusive', attempt = 1 }, at)
end
local ended = close_claim(claim, 'terminated', d.reason, at)
emit('terminate', 'workflow', workflow, 'claim', claim, 'from', c[2], 'to', 'terminated', 'reason', d.reason,
  'result', result, 'result_type', result_type, 'size', ARGV[7], 'sha256', ARGV[8], 'rework', rework, 'agent', reworker,
  'cancelled', table.concat(cancelled, ','), 'workflow_status', ended)
if rework ~= '' then
  call('PUBLISH', orchestrator_events, rework)
end
return { 'ok' }
