-- A person has a failed claim tried again: a new claim on the same artefact, with
-- its bids and with the grants that are done; the others are queued anew. Its
-- Failures no longer count.
-- KEYS[1] the ledger. ARGV: 1 the failed claim, 2 id of the new one, 3 the person, 4 why (may be empty),
-- 5 id of the rework that feedback in the failed claim leads to.
-- Replies ok status | already | refused why | stopping | miscounted workflow.
local old, new = ARGV[1], ARGV[2]
local key = claim_key(old)
local c = call('HMGET', key, 'status', 'artefact_id', 'workflow_id', 'retried_as', 'origin', 'expected_bidders',
  'additional_context_ids', 'rework', 'failures', 'bid_order', 'ignored')
if not c[1] then
  return { 'refused', 'no such claim' }
end
if c[4] == new then
  return { 'already' }
end
if c[4] then
  return { 'refused', 'it is tried again as claim ' .. c[4] }
end
if c[1] ~= 'terminated' then
  return { 'refused', 'it has not failed, it is ' .. c[1] }
end

-- The parts that the new claim takes over are checked first: half a retry could not be
-- repeated.
local granted = call('HMGET', key, 'granted_review_agents', 'granted_parallel_agents', 'granted_exclusive_agent')
local bidders = decoded(c[6])
local grants, last = {}, 1
local feedback, undone = false, false
local corrupt = not (c[2] and c[3] and bidders and decoded(c[7] or '[]'))
local places = { review = 1, parallel = 2, exclusive = 3 }
for _, one in ipairs(grants_of(old)) do
  local g = one.grant
  if not g or not places[g.phase] then
    corrupt = true
    break
  end
  feedback = feedback or g.phase == 'review' and g.state == 'done' and g.verdict ~= 'approve'
  undone = undone or g.state ~= 'done'
  grants[#grants + 1] = one
  last = math.max(last, places[g.phase])
end
if corrupt then
  return { 'refused', 'the claim is corrupt' }
end
local workflow, target = c[3], target_of(c[2])
for _, field in ipairs({ 1, 2, 3, 4, 5, 6 }) do
  if not target[field] then
    return { 'refused', 'its artefact is lost or corrupt' }
  end
end
local w = workflow_key(workflow)
local posted = call('HGET', w, 'created_at')
if not posted then
  return { 'refused', 'its goal is lost or corrupt' }
end

if call('HGET', w, 'cancelled') then
  return { 'refused', 'its goal was cancelled' }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
-- Feedback without a rework, because a review failed besides, or there was no agent to
-- rework it, or it was not decided about yet, counts in the new claim.
if call('EXISTS', claim_key(ARGV[5])) == 1 then
  return { 'refused', 'it ended with feedback, for which its artefact is reworked in claim ' .. ARGV[5] }
end
if feedback and not undone and target[4] == '' then
  return { 'refused', 'it ended with feedback, and nobody can rework what a person made' }
end
local failures = tonumber(c[9])
if not failures then -- before they were counted, or none
  failures = 0
  for _, id in ipairs(call('LRANGE', artefacts_by_workflow_key(workflow), 0, -1)) do
    local a = call('HMGET', artifact_key(id), 'claim_id', 'structural_type')
    failures = failures + (a[1] == old and a[2] == 'Failure' and 1 or 0)
  end
end
if failures == 0 then
  return { 'refused', 'nothing of it failed' }
end
for _, id in ipairs(call('ZRANGE', open_claims_key, 0, -1)) do
  if thread_of(id) == target[1] then
    return { 'refused', 'claim ' .. id .. ' on the same thread is open' }
  end
end
if latest_of(target[1]) ~= c[2] then
  return { 'refused', 'there is a newer version of its artefact' }
end

local counted = tonumber(call('HGET', w, 'failures') or 0)
if not counted or counted < failures then
  return { 'miscounted', workflow }
end
local at, status = clock(), ({ 'pending_review', 'pending_parallel', 'pending_exclusive' })[last]
local order, bid = read_bids(old, c[10], c[11], c[6])
local names, kept, question = {}, {}, ''
for _, agent in ipairs(order) do
  if bid[agent] then
    names[#names + 1] = agent
    kept[#kept + 1] = agent
    kept[#kept + 1] = bid[agent]
  end
end
put_claim({ id = new, artefact = c[2], status = status, origin = 'retry', bidders = c[6], context = c[7] or '[]', target = target,
  order = order_field(names), more = { 'retry_of', old, '', 'rework', (c[5] == 'rework' or c[8] == '1') and '1' or '', '',
    'granted_review_agents', granted[1] or '[]', '[]', 'granted_parallel_agents', granted[2] or '[]', '[]',
    'granted_exclusive_agent', granted[3] or '', '' } }, at)
call('HSET', key, 'retried_as', new)
if #kept > 0 then
  call('HSET', bids_key(new), unpack(kept))
end
for _, g in ipairs(grants) do
  if g.grant.state == 'done' then
    save_grant(new, g.agent, g.grant)
  else
    local asked = g.grant.asked or {}
    local unanswered = #asked % 2 == 1 and table.remove(asked)
    local count = tonumber(g.grant.attempt) or 1
    local resumes = #asked > 0 and tonumber(g.grant.asked_in) or nil -- its tree starts as it was left at the question
    local anew = { phase = g.grant.phase, attempt = g.grant.started_at and count + 1 or count, asked = #asked > 0 and asked or nil,
      asked_in = resumes, asked_of = resumes and (g.grant.asked_of or old),
      settled = g.grant.settled, failure = g.grant.state == 'failed' and g.grant.result_id or nil, why = ARGV[4] ~= '' and ARGV[4] or nil }
    local asker = unanswered and call('HMGET', artifact_key(unanswered), 'produced_by_agent', 'type')
    if asker and asker[2] and not asker[1] then
      question, anew.queued_at = unanswered, at -- the orchestrator's: nobody but a person can go on
      ask(new, g.agent, anew, question, workflow, at)
    else
      queue_grant(new, g.agent, anew, at)
    end
    go_on_spending(workflow, old, new, g.agent)
  end
end
if last == 1 then
  for _, agent in ipairs(bidders) do
    if not bid[agent] then
      call('ZADD', agent_due_key(agent), at, new)
    end
  end
  publish(claim_targets, new .. ' ' .. target[4] .. ' ' .. target[3])
end

go_on(workflow, failures, posted)
call('HINCRBY', w, 'outstanding', 1)
emit('retry', 'workflow', workflow, 'claim', new, 'artefact', c[2], 'retry_of', old, 'to', status, 'by', ARGV[3],
  'reason', ARGV[4], 'result', question, 'result_type', question ~= '' and 'Question' or '',
  'waits_for', waits_for(workflow))
publish(claim_events, new)
publish(orchestrator_events, new)
return { 'ok', status }
