-- Claims: decided about, opened, closed. See _lib.lua.

-- The bids on a claim in the order they came in: agent=bid agent=bid …
local function bids_of(claim)
  local order = call('LRANGE', bid_order_key(claim), 0, -1)
  if #order == 0 then
    return ''
  end
  local bids = call('HMGET', bids_key(claim), unpack(order))
  for i, agent in ipairs(order) do
    order[i] = agent .. '=' .. tostring(bids[i])
  end
  return table.concat(order, ' ')
end

-- Checks a decision on a claim: the epoch it was taken under, the revision it was
-- taken on, and the bids if they come from a notice ('' if not). A notice knows of no
-- grants, so a claim that a person has reviewed already has to be read. Returns the
-- claim's revision, status, workflow and artefact, or nil and the reply to give.
local function decidable(epoch, claim, revision, bids)
  if not leads(epoch) then
    return nil, { 'stale', 'leader' }
  end
  local c = call('HMGET', claim_key(claim), 'revision', 'status', 'workflow_id', 'artefact_id')
  if c[1] ~= revision or (bids ~= '' and (c[2] ~= 'pending_review' or bids_of(claim) ~= bids
    or call('EXISTS', grants_key(claim)) == 1)) then
    return nil, { 'stale', 'revision' }
  end
  if c[2] == 'complete' or c[2] == 'terminated' then
    return nil, { 'refused', 'the claim is ' .. c[2] }
  end
  return c
end

-- Closes a claim at a revision. The caller accounts for its workflow's outstanding
-- work.
local function end_claim(claim, revision, status, reason, at)
  local key = claim_key(claim)
  if status == 'terminated' then -- else all have bid
    for _, agent in ipairs(decoded(call('HGET', key, 'expected_bidders')) or {}) do
      call('ZREM', agent_due_key(agent), claim)
    end
  end
  call('HSET', key, 'status', status, 'reason', reason, 'closed_at', at, 'revision', (tonumber(revision) or 0) + 1)
  call('ZREM', open_claims_key, claim)
  if call('ZREM', suspended_claims_key, claim) == 1 then
    suspend(call('HGET', key, 'workflow_id') or '', -1)
  end
  if call('ZREM', suspended_claims_key, blocked_name(claim)) == 1 then
    hold(call('HGET', key, 'workflow_id') or '', 'blocked', -1)
  end
end

-- Closes a claim that is decided about (c: see decidable) and accounts for it.
-- Returns the workflow's status when that was its last work, else ''.
local function close_claim(claim, c, status, reason, at)
  end_claim(claim, c[1], status, reason, at)
  return settle(c[3], at)
end

-- The facts about an artefact that a claim on it keeps.
local function target_of(artefact)
  return call('HMGET', artifact_key(artefact), 'logical_id', 'version', 'type', 'produced_by_agent',
    'produced_by_role', 'workflow_id')
end

-- Opens a claim on an artefact (c.target: see target_of; c.course: see _course.lua, nil:
-- none; c.revision: nil: the first; c.step: the step that is taken at once, nil: none, see _course.lua).
-- The caller accounts for its workflow's outstanding work.
local function put_claim(c, at)
  local t, s = c.target, c.step or {}
  call('HSET', claim_key(c.id), 'id', c.id, 'artefact_id', c.artefact, 'status', s.status or c.status,
    'granted_review_agents', s.granted_review_agents or '[]', 'granted_parallel_agents', s.granted_parallel_agents or '[]',
    'granted_exclusive_agent', s.granted_exclusive_agent or '', 'workflow_id', t[6], 'origin', c.origin, 'expected_bidders', c.bidders,
    'additional_context_ids', c.context, 'revision', c.revision or 1, 'course', c.course or '', 'reason', s.reason or '', 'opened_at', at,
    'target_logical_id', t[1], 'target_version', t[2], 'target_type', t[3],
    'target_agent', t[4], 'target_role', t[5], unpack(s.closes and { 'closed_at', at } or {}))
  call('RPUSH', claims_key, c.id)
  call('RPUSH', claims_by_workflow_key(t[6]), c.id)
  if not s.closes then
    call('ZADD', open_claims_key, at, c.id)
  end
  index_id(c.id)
end

-- Opens the rework of an artefact, granted without bidding: {id, agent, context, question?}. With a
-- question to a person, which is returned, it waits for the answer first.
local function open_rework(rework, artefact, workflow, payload, at)
  put_claim({ id = rework.id, artefact = artefact, status = 'pending_exclusive', origin = 'rework', bidders = '[]',
    context = rework.context, target = target_of(artefact) }, at)
  call('HSET', claim_key(rework.id), 'granted_exclusive_agent', rework.agent)
  call('HINCRBY', workflow_key(workflow), 'outstanding', 1)
  local g = { phase = 'exclusive', attempt = 1 }
  local q = rework.question
  if q then
    put_artefact(q, payload, at)
    g.queued_at = at
    ask(rework.id, rework.agent, g, q.id, workflow, at)
  else
    queue_grant(rework.id, rework.agent, g, at)
  end
  return q
end

-- Counts anew the suspended work of all active workflows: an older board or export has
-- no such count.
local function count_suspended()
  for _, workflow in ipairs(call('ZRANGE', active_workflows_key, 0, -1)) do
    local gates = tonumber(call('HGET', workflow_key(workflow), 'gates') or 0)
    call('HDEL', workflow_key(workflow), 'suspended', 'blocked')
    if barred(workflow) then
      suspend(workflow, 1)
    end
    if gates and gates > 0 then
      suspend(workflow, gates)
    end
  end
  call('DEL', suspended_claims_key)
  for _, workflow in ipairs(call('ZRANGE', active_workflows_key, 0, -1)) do
    if call('HGET', workflow_key(workflow), 'conflicts') then
      for _, claim in ipairs(call('LRANGE', claims_by_workflow_key(workflow), 0, -1)) do
        if call('ZSCORE', open_claims_key, claim) then
          weigh(claim, workflow)
        end
      end
    end
  end
  for _, question in ipairs(call('ZRANGE', questions_key, 0, -1)) do
    local claim = asker_of(question)
    local workflow = claim and call('ZSCORE', open_claims_key, claim) and call('HGET', claim_key(claim), 'workflow_id')
    if workflow then
      weigh(claim, workflow)
    end
  end
end
