-- A person's Answer to a Question: the grant that asked is queued again.
-- KEYS[1] the ledger. ARGV: 1 question id, 2 artefact (JSON), 3 payload, 4 size, 5 hash, 6 the person.
-- Replies ok agent | already agent | refused why | miscounted workflow.
local question = ARGV[1]
local a = cjson.decode(ARGV[2])
local claim, agent = asker_of(question)
if not claim then
  return { 'refused', 'it is not a question' }
end
local known = stored(a, ARGV[3])
if known then
  return { known[1], known[2] or agent }
end
if not call('ZSCORE', questions_key, question) then
  local c = call('HMGET', claim_key(claim), 'status', 'reason')
  if c[1] == 'terminated' then
    return { 'refused', 'its claim was terminated: ' .. (c[2] or '') }
  end
  return { 'refused', 'it has been answered' }
end
local g = grant_of(claim, agent)
if not g or g.state ~= 'awaiting_answer' then
  return { 'refused', 'nobody waits for the answer' }
end
local off = miscounted(a.workflow, 'questions')
if off then
  return off
end
local at = clock()
put_artefact(a, ARGV[3], at)
call('ZREM', questions_key, question)
call('HINCRBY', workflow_key(a.workflow), 'questions', -1)
g.asked[#g.asked + 1] = a.id
g.attempt = g.attempt + 1
g.result_id, g.ended_at = nil, nil
queue_grant(claim, agent, g, at)
weigh(claim, a.workflow)
call('HINCRBY', claim_key(claim), 'revision', 1)
emit('answer', 'workflow', a.workflow, 'claim', claim, 'agent', agent, 'artefact', a.id, 'question', question,
  'by', ARGV[6], 'size', ARGV[4], 'sha256', ARGV[5])
publish(orchestrator_events, claim)
return { 'ok', agent }
