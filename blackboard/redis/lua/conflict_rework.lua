-- Nobody settles a Conflict: a Review sends its later side back to the agent that made it. While a
-- claim on that thread is open, or another version is there, nothing is done. With a question to a
-- person the first move writes the Review, the second opens the rework.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 artefact to rework, 3 Review (JSON), 4 its payload, 5 size, 6 hash,
-- 7 rework {id, agent, context, question?} (JSON), 8 payload of the question, 9 its size, 10 its hash.
-- Replies ok refused or reworked, entry | already | refused why | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local artefact, review, rework = ARGV[2], cjson.decode(ARGV[3]), cjson.decode(ARGV[7])
if call('EXISTS', claim_key(rework.id)) == 1 then
  return { 'already' }
end
local target = target_of(artefact)
if not target[1] or latest_of(target[1]) ~= artefact then
  return { 'refused', 'there is a newer version of it' }
end
if call('HGET', workflow_key(review.workflow), 'status') ~= 'active' then
  return { 'refused', 'its goal has ended' }
end
if call('ZSCORE', unclaimed_key, artefact) or call('ZSCORE', gates_key, artefact) then
  return { 'refused', 'its claim is not open yet' }
end
for _, id in ipairs(call('ZRANGE', open_claims_key, 0, -1)) do
  if thread_of(id) == target[1] then
    return { 'refused', 'claim ' .. id .. ' on the same thread is open' }
  end
end
local at, written, asks = clock(), call('EXISTS', artifact_key(review.id)) == 1, rework.question
local result, kind, size, sum, to = review.id, review.type, ARGV[5], ARGV[6], 'refused'
if not written then
  put_artefact(review, ARGV[4], at)
end
if written or not asks then -- an entry tells of one artefact: the question comes with the next move
  open_rework(rework, artefact, review.workflow, ARGV[8], at)
  to = 'reworked'
  if written then
    result, kind, size, sum = asks and asks.id or '', asks and asks.type or '', asks and ARGV[9] or '', asks and ARGV[10] or ''
  end
end
local entry = emit('conflict', 'workflow', review.workflow, 'claim', to == 'reworked' and rework.id or '', 'agent', rework.agent, 'artefact', artefact,
  'to', to, 'reason', review.summary, 'result', result, 'result_type', kind, 'size', size, 'sha256', sum,
  'waits_for', waits_for(review.workflow))
publish(orchestrator_events, to == 'reworked' and rework.id or '')
return { 'ok', to, entry }
