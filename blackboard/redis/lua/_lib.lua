-- What every move shares. This file is put in front of each script, behind the
-- key functions that keys.go writes (artifact_key, claim_key, …).
--
-- A script checks what it assumes, writes, appends ONE entry to the ledger and
-- publishes its notices. It decides nothing: policy is Go.
--
-- Replies are arrays. Their first element says how it went:
--   ok        done now
--   already   the same move was made before; nothing was written
--   refused   contradicts what is stored (second element: why)
--   stale     the caller's epoch or revision is old
--   stopping  the instance takes no new work
--   wait      the workspace is taken (further elements: by whom)
local call = redis.call

-- The server's time in microseconds since 1970, as a string: exact as a sorted
-- set's score, and safe from cjson, which prints 14 digits only.
local function clock()
  local t = call('TIME')
  return t[1] .. string.format('%06d', tonumber(t[2]))
end

local function leads(epoch)
  return call('GET', epoch_key) == epoch
end

-- A claim's bids in the order they came in: agent=bid agent=bid …
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

-- What a decision on a claim is checked against: the lead it was taken under, the
-- revision it was taken on, and the bids where it relies on a notice for them
-- ('' where it does not). Such a notice knows of no grants: where a person has
-- reviewed already, the claim has to be read. Returns the claim's revision,
-- status, workflow and artefact, or nil and the reply to give.
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

local function emit(kind, ...)
  call('XADD', events_key, '*', 'kind', kind, ...)
end

-- Reads a grant; nil when there is none.
local function grant_of(claim, agent)
  local s = call('HGET', grants_key(claim), agent)
  return s and cjson.decode(s)
end

local function save_grant(claim, agent, g)
  call('HSET', grants_key(claim), agent, cjson.encode(g))
end

-- Reads a worker's entry: until when it lives (microseconds since 1970), the claim
-- it has ('-': it waits for one) and that one's attempt. nil when there is none, or
-- a broken one.
local function worker_of(s)
  local alive, claim, attempt = string.match(s or '', '^(%d+) (%S+) (%d+)$')
  return alive and { alive = tonumber(alive), claim = claim, attempt = attempt }
end

-- What to reply to who stores an artefact whose id is taken: the same artefact
-- again was stored already, another one is refused. nil when the id is free.
local function stored(a, payload)
  local before = call('HMGET', artifact_key(a.id), 'claim_id', 'produced_by_agent', 'type')
  if not before[1] then
    return nil
  end
  if before[1] == a.claim and before[2] == a.agent and before[3] == a.type and
    call('HGET', artifact_key(a.id), 'payload') == payload then
    return { 'already' }
  end
  return { 'refused', 'there is another artefact of this id' }
end

-- Whether a text fits a pattern, which is given as what stands between its
-- wildcards. The earliest fit of a part leaves most for what follows.
local function fits(parts, text)
  local n, first, last = #parts, parts[1], parts[#parts]
  if n == 1 then
    return text == first
  end
  if string.sub(text, 1, #first) ~= first then
    return false
  end
  local at = #first + 1
  for i = 2, n - 1 do
    local from, to = string.find(text, parts[i], at, true)
    if not from then
      return false
    end
    at = to + 1
  end
  return #text - #last + 1 >= at and string.sub(text, #text - #last + 1) == last
end

-- Whether artefacts of this type wait for a person's approval before they count.
-- What sett.yml says of it is kept with the instance.
local function gated(kind)
  local types = call('HGET', instance_key, 'approve')
  for _, parts in ipairs(types and cjson.decode(types) or {}) do
    if fits(parts, kind) then
      return true
    end
  end
  return false
end

-- Stores an artefact once and accounts for it. `a` is its description, decoded:
-- id logical_id structural_type type sources role agent claim workflow summary
-- metadata. An id of another thread as logical_id takes the next version there.
-- Returns the version, and 'held' when it waits for approval, else ''.
local function put_artefact(a, payload, at)
  local version = 1
  if a.logical_id ~= a.id then
    local last = call('ZREVRANGE', thread_key(a.logical_id), 0, 0, 'WITHSCORES')
    version = (tonumber(last[2]) or 0) + 1
  end
  call('HSET', artifact_key(a.id), 'id', a.id, 'logical_id', a.logical_id, 'version', version,
    'structural_type', a.structural_type, 'type', a.type, 'payload', payload,
    'source_artefacts', a.sources_json, 'produced_by_role', a.role, 'produced_by_agent', a.agent,
    'claim_id', a.claim, 'workflow_id', a.workflow, 'summary', a.summary, 'metadata', a.metadata,
    'created_at', at)
  call('ZADD', thread_key(a.logical_id), version, a.id)
  for _, source in ipairs(a.sources) do
    call('ZADD', children_key(source), at, a.id)
  end
  -- What only grows is a list, in the order of time: a quarter of a sorted set's
  -- memory, and its end is found at once at any size.
  call('RPUSH', artefacts_key, a.id)
  call('RPUSH', artefacts_by_type_key(a.type), a.id)
  if a.agent ~= '' then
    call('RPUSH', artefacts_by_agent_key(a.agent), a.id)
  end
  call('RPUSH', artefacts_by_workflow_key(a.workflow), a.id)
  index_id(a.id)
  local workflow, gate = workflow_key(a.workflow), ''
  if (a.structural_type == 'Standard' or a.structural_type == 'Terminal') and gated(a.type) then
    gate = 'held'
    call('ZADD', gates_key, at, a.id)
    call('HINCRBY', workflow, 'outstanding', 1)
    call('HINCRBY', workflow, 'gates', 1)
  elseif a.structural_type == 'Standard' then
    call('ZADD', unclaimed_key, at, a.id)
    call('HINCRBY', workflow, 'outstanding', 1)
    call('PUBLISH', orchestrator_events, '+' .. a.id)
  elseif a.structural_type == 'Terminal' then
    call('HINCRBY', workflow, 'terminals', 1)
    call('HSET', workflow, 'terminal_id', a.id)
  elseif a.structural_type == 'Failure' then
    call('HINCRBY', workflow, 'failures', 1)
    call('HSET', workflow, 'failure_id', a.id)
    if a.claim ~= '' then
      call('HINCRBY', claim_key(a.claim), 'failures', 1)
    end
  end
  call('PUBLISH', artefact_events, a.id)
  return version, gate
end

-- One piece of work of this workflow is over. At zero the workflow ends; returns
-- its status then, else ''.
local function settle(workflow, at)
  local key = workflow_key(workflow)
  if call('HINCRBY', key, 'outstanding', -1) > 0 then
    return ''
  end
  local counts = call('HMGET', key, 'failures', 'terminals')
  local status = 'stalled'
  if tonumber(counts[1] or 0) > 0 then
    status = 'failed'
  elseif tonumber(counts[2] or 0) > 0 then
    status = 'achieved'
  end
  call('HSET', key, 'status', status, 'ended_at', at)
  call('ZREM', active_workflows_key, workflow)
  return status
end

-- Takes an artefact out of those that wait for approval, with the Review that
-- decides about it. Returns nil, or the reply to give instead: a person's same
-- word again was heard already, another one is refused.
local function decide_gate(id, review, payload, at)
  local before = call('HMGET', artifact_key(review.id), 'metadata', 'payload', 'produced_by_role')
  if before[1] then
    if before[1] == review.metadata and before[2] == payload then
      return { 'already' }
    end
    local how = before[2] == '{}' and 'approved' or 'rejected'
    return { 'refused', 'it was ' .. how .. ' by ' .. tostring(cjson.decode(before[1]).by) }
  end
  local workflow = call('HGET', artifact_key(id), 'workflow_id')
  if not workflow then
    return { 'refused', 'it is lost' }
  end
  if call('ZREM', gates_key, id) == 0 then
    if call('HGET', workflow_key(workflow), 'cancelled') then
      return { 'refused', 'its goal was cancelled' }
    end
    return { 'refused', 'it does not wait for approval' }
  end
  call('HINCRBY', workflow_key(workflow), 'gates', -1)
  put_artefact(review, payload, at)
end

-- Tells those who wait for the workspace that something changed, longest wait
-- first.
local function wake_workspace()
  local all, waiting = call('HGETALL', workspace_key), {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 5) == 'wait:' then
      waiting[#waiting + 1] = cjson.decode(all[i + 1])
    end
  end
  table.sort(waiting, function(a, b) return a.since < b.since end)
  for _, w in ipairs(waiting) do
    call('PUBLISH', agent_events(w.agent), w.claim)
  end
end

-- Lets go of the workspace on behalf of a grant that holds it: one that runs.
local function release_workspace(claim, agent)
  if call('HDEL', workspace_key, 'hold:' .. claim .. ':' .. agent) > 0 and call('EXISTS', workspace_key) == 1 then
    wake_workspace()
  end
end

-- Takes a grant that is queued out of the line for the workspace. What its attempt
-- before may have left there is still to be put back, so a hold stays.
local function leave_line(claim, agent)
  if call('HDEL', workspace_key, 'wait:' .. claim .. ':' .. agent) > 0 then
    wake_workspace()
  end
end

-- Ends a grant in the given state. The caller has decided what that means for
-- the claim.
local function end_grant(claim, agent, g, state, at)
  g.state = state
  g.ended_at = at
  save_grant(claim, agent, g)
  call('ZREM', agent_grants_key(agent), claim)
end

-- Puts a grant in its agent's queue: a new one, or one that is to be run again.
local function queue_grant(claim, agent, g, at)
  g.state = 'queued'
  g.queued_at = at
  g.holder = nil
  save_grant(claim, agent, g)
  call('ZADD', agent_grants_key(agent), at, claim)
  call('PUBLISH', agent_events(agent), claim)
end

-- Suspends a grant with a question.
local function ask(claim, agent, g, question, workflow, at)
  g.asked = g.asked or {}
  g.asked[#g.asked + 1] = question
  g.result_id = question
  call('ZADD', questions_key, at, question)
  call('HINCRBY', workflow_key(workflow), 'questions', 1)
  end_grant(claim, agent, g, 'awaiting_answer', at)
end

-- The question that a suspended grant asked is no longer open.
local function close_question(claim, question)
  local workflow = call('HGET', claim_key(claim), 'workflow_id')
  if call('ZREM', questions_key, question or '') == 1 and workflow then
    call('HINCRBY', workflow_key(workflow), 'questions', -1)
  end
end

-- Whose grant a question suspends: claim and agent, nil when it is no question. What
-- the orchestrator asked on behalf of who has to go on goes with the claims that try
-- again the one for which it did.
local function asker_of(question)
  local q = call('HMGET', artifact_key(question), 'structural_type', 'claim_id', 'produced_by_agent')
  if q[1] ~= 'Question' then
    return nil
  end
  local claim, agent = q[2], q[3]
  if agent ~= '' then
    return claim, agent
  end
  local again = call('HGET', claim_key(claim), 'retried_as')
  while again do
    claim, again = again, call('HGET', claim_key(again), 'retried_as')
  end
  return claim, call('HGET', claim_key(claim), 'granted_exclusive_agent')
end

-- A part of a record; nil when it is broken. What ends a claim must not itself fail
-- for that, half done and at every attempt.
local function decoded(s)
  local fine, v = pcall(cjson.decode, s or '')
  return fine and type(v) == 'table' and v or nil
end

-- Cancels what has not ended among a claim's grants and closes their questions.
-- A running tool keeps the workspace until its cub has stopped it and let go.
local function cancel_grants(claim, at)
  local all, cancelled = call('HGETALL', grants_key(claim)), {}
  for i = 1, #all, 2 do
    local agent, g = all[i], decoded(all[i + 1])
    if not g then -- nobody can work on it, nor be told what it asked
      call('ZREM', agent_grants_key(agent), claim)
      for _, question in ipairs(call('ZRANGE', questions_key, 0, -1)) do
        local of, by = asker_of(question)
        if of == claim and by == agent then
          close_question(claim, question)
        end
      end
    elseif g.state == 'queued' or g.state == 'running' or g.state == 'awaiting_answer' then
      if g.state == 'awaiting_answer' then
        close_question(claim, g.result_id)
      elseif g.state == 'queued' then
        leave_line(claim, agent)
      end
      end_grant(claim, agent, g, 'cancelled', at)
      call('PUBLISH', agent_events(agent), claim)
      cancelled[#cancelled + 1] = agent
    end
  end
  table.sort(cancelled)
  return cancelled
end

-- Closes a claim at a revision. Its workflow's outstanding work is the caller's to
-- account for.
local function end_claim(claim, revision, status, reason, at)
  local key = claim_key(claim)
  if status == 'terminated' then -- else all have bid
    for _, agent in ipairs(decoded(call('HGET', key, 'expected_bidders')) or {}) do
      call('ZREM', agent_due_key(agent), claim)
    end
  end
  call('HSET', key, 'status', status, 'reason', reason, 'closed_at', at, 'revision', (tonumber(revision) or 0) + 1)
  call('ZREM', open_claims_key, claim)
end

-- Closes a claim that is decided about (c: see decidable) and accounts for it.
-- Returns the workflow's status when that was its last work, else ''.
local function close_claim(claim, c, status, reason, at)
  end_claim(claim, c[1], status, reason, at)
  return settle(c[3], at)
end

-- What a claim needs to know of its artefact.
local function target_of(artefact)
  return call('HMGET', artifact_key(artefact), 'logical_id', 'version', 'type', 'produced_by_agent',
    'produced_by_role', 'workflow_id')
end

-- Opens a claim on an artefact (c.target: see target_of). Its workflow's
-- outstanding work is the caller's to account for.
local function put_claim(c, at)
  local t = c.target
  call('HSET', claim_key(c.id), 'id', c.id, 'artefact_id', c.artefact, 'status', c.status,
    'granted_review_agents', '[]', 'granted_parallel_agents', '[]', 'granted_exclusive_agent', '',
    'workflow_id', t[6], 'origin', c.origin, 'expected_bidders', c.bidders,
    'additional_context_ids', c.context, 'revision', 1, 'reason', '', 'opened_at', at,
    'target_logical_id', t[1], 'target_version', t[2], 'target_type', t[3],
    'target_agent', t[4], 'target_role', t[5])
  call('RPUSH', claims_key, c.id)
  call('RPUSH', claims_by_workflow_key(t[6]), c.id)
  call('ZADD', open_claims_key, at, c.id)
  index_id(c.id)
end
