-- A person raises the budget of a goal, or of one grant, once for each of their words.
-- KEYS[1] the ledger. ARGV: 1 id of the word, 2 workflow, 3 cost, 4 tokens, 5 calls, 6 microseconds,
-- 7 the person (empty: the word is their Answer, an artefact of the goal), 8 claim and 9 agent of the grant (empty: the goal).
-- Replies ok | already | refused why.
local id, workflow, by, claim, agent = ARGV[1], ARGV[2], ARGV[7], ARGV[8], ARGV[9]
if call('EXISTS', workflow_key(workflow)) == 0 then
  return { 'refused', 'no such goal' }
end
if by == '' then
  local a = call('HMGET', artifact_key(id), 'structural_type', 'workflow_id', 'produced_by_agent')
  if a[1] ~= 'Answer' or a[2] ~= workflow then
    return { 'refused', 'it is no answer of the goal' }
  end
  by = a[3] or ''
end
local key, field = spending_key(workflow), 'more'
if claim ~= '' then
  if call('HGET', claim_key(claim), 'workflow_id') ~= workflow or not grant_of(claim, agent) then
    return { 'refused', 'the goal has no such grant' }
  end
  field = 'more:' .. claim .. ':' .. agent
end
if call('HGET', key, 'said:' .. id) then
  return { 'already' }
end
call('HSET', key, 'said:' .. id, '1')
add_numbers(key, field, { tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]) })
emit('budget', 'workflow', workflow, 'claim', claim, 'agent', agent, 'by', by, 'cost', ARGV[3], 'tokens', ARGV[4], 'calls', ARGV[5], 'time_us', ARGV[6])
return { 'ok' }
