-- Claims: decided about, opened, closed. See _lib.lua.

-- Whether a name comes before another in the order of their bytes, whatever the server's language is.
local function by_bytes(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- The names of the agents that have bid on a claim, in the order their bids came in, and the bids by agent. Three
-- fields of the claim are given: bid_order has the order where it is not that of the names, ignored the agents
-- that ignore it by its course, `*` for all of expected_bidders that have not bid. store/claim.go says the same.
local function read_bids(claim, order, ignored, bidders)
  local all, bids, names, rest, known = call('HGETALL', bids_key(claim)), {}, {}, {}, {}
  if ignored == '*' then
    for _, name in ipairs(decoded(bidders) or {}) do
      bids[name] = 'ignore'
    end
  end
  for name in string.gmatch(ignored ~= '*' and ignored or '', '%S+') do
    bids[name] = 'ignore'
  end
  for i = 1, #all, 2 do
    bids[all[i]] = all[i + 1]
  end
  for name in string.gmatch(order or '', '%S+') do
    if bids[name] and not known[name] then
      names[#names + 1], known[name] = name, true
    end
  end
  for name in pairs(bids) do
    if not known[name] then
      rest[#rest + 1] = name
    end
  end
  table.sort(rest, by_bytes)
  for _, name in ipairs(rest) do
    names[#names + 1] = name
  end
  return names, bids
end

-- The field bid_order for names in an order; empty: there is none.
local function order_field(names)
  for i = 2, #names do
    if not by_bytes(names[i - 1], names[i]) then
      return table.concat(names, ' ')
    end
  end
  return ''
end

-- Bids as the scripts and Go compare them: agent=bid agent=bid …
local function format_bids(names, bids)
  local all = {}
  for i, agent in ipairs(names) do
    all[i] = agent .. '=' .. tostring(bids[agent])
  end
  return table.concat(all, ' ')
end

-- The thread of the artefact that a claim is on.
local function thread_of(claim)
  local c = call('HMGET', claim_key(claim), 'target_logical_id', 'artefact_id')
  return c[1] or c[2]
end

-- Checks a decision on a claim: the epoch it was taken under, the revision it was
-- taken on, and the bids if they come from a notice ('' if not). A notice knows of no
-- grants, so a claim that a person has reviewed already has to be read. Returns the
-- claim's revision, status, workflow and artefact, or nil and the reply to give.
local function decidable(epoch, claim, revision, bids)
  if not leads(epoch) then
    return nil, { 'stale', 'leader' }
  end
  local c = call('HMGET', claim_key(claim), 'revision', 'status', 'workflow_id', 'artefact_id', 'bid_order', 'ignored', 'expected_bidders')
  if c[1] ~= revision or (bids ~= '' and (c[2] ~= 'pending_review' or format_bids(read_bids(claim, c[5], c[6], c[7])) ~= bids
    or #grants_of(claim) > 0)) then
    return nil, { 'stale', 'revision' }
  end
  if c[2] == 'complete' or c[2] == 'terminated' then
    return nil, { 'refused', 'the claim is ' .. c[2] }
  end
  return c
end

-- Closes a claim at a revision, and writes further fields of it (nil: none). The caller accounts for its workflow's
-- outstanding work.
local function end_claim(claim, revision, status, reason, at, fields)
  local key = claim_key(claim)
  if status == 'terminated' then -- else all have bid
    for _, agent in ipairs(decoded(call('HGET', key, 'expected_bidders')) or {}) do
      call('ZREM', agent_due_key(agent), claim)
    end
  end
  fields = fields or {}
  for _, value in ipairs(unusual({ 'reason', reason, '' })) do
    fields[#fields + 1] = value
  end
  call('HSET', key, 'status', status, 'closed_at', at, 'revision', (tonumber(revision) or 0) + 1, unpack(fields))
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
  local t = call('HMGET', artifact_key(artefact), 'logical_id', 'version', 'type', 'produced_by_agent',
    'produced_by_role', 'workflow_id')
  if t[3] then
    t[1], t[2], t[4] = t[1] or artefact, t[2] or '1', t[4] or ''
    t[5] = t[5] or usual_role(t[4])
  end
  return t
end

-- Opens a claim on an artefact (c.target: see target_of; c.course: see _course.lua, nil:
-- none; c.revision: nil: the first; c.more: further fields; c.order and c.ignored: see read_bids; c.step: the step that is taken at once, nil: none, see _course.lua).
-- The caller accounts for its workflow's outstanding work.
local function put_claim(c, at)
  local t, s = c.target, c.step or {}
  local usual = { 'granted_review_agents', s.granted_review_agents or '[]', '[]', 'granted_parallel_agents',
    s.granted_parallel_agents or '[]', '[]', 'granted_exclusive_agent', s.granted_exclusive_agent or '', '', 'origin', c.origin, 'artefact',
    'additional_context_ids', c.context, '[]', 'course', c.course or '', '', 'reason', s.reason or '', '', 'target_logical_id', t[1],
    c.artefact, 'target_version', tostring(t[2]), '1', 'target_agent', t[4], '', 'closed_at', s.closes and at or '', '',
    'target_role', t[5], usual_role(t[4]), 'bid_order', c.order or '', '', 'ignored', c.ignored or '', '' }
  for _, field in ipairs(c.more or {}) do
    usual[#usual + 1] = field
  end
  for i = 1, #(s.fields or {}), 2 do
    usual[#usual + 1], usual[#usual + 2], usual[#usual + 3] = s.fields[i], s.fields[i + 1], ''
  end
  call('HSET', claim_key(c.id), 'artefact_id', c.artefact, 'status', s.status or c.status, 'workflow_id', t[6], 'expected_bidders', c.bidders,
    'revision', c.revision or 1, 'opened_at', at, 'target_type', t[3], unpack(unusual(usual)))
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
    context = rework.context, target = target_of(artefact), more = { 'granted_exclusive_agent', rework.agent, '' } }, at)
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
-- no such count. A bid or a grant that waits for a model on such a board is counted when its agent says so again.
local function count_suspended()
  local counted = call('ZRANGE', suspended_claims_key, 0, -1)
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
  for _, claim in ipairs(counted) do
    if call('HGET', claim_key(claim), 'withheld') and call('ZSCORE', open_claims_key, claim) then
      weigh(claim, call('HGET', claim_key(claim), 'workflow_id'))
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
