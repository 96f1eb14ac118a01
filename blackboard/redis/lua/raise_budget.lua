-- A person raises the budget of a goal, once for each of their words.
-- KEYS[1] the ledger. ARGV: 1 id of the word, 2 workflow, 3 cost, 4 tokens, 5 calls, 6 microseconds,
-- 7 the person (empty: the word is their Answer, an artefact of the goal).
-- Replies ok | already | refused why.
local id, workflow, by = ARGV[1], ARGV[2], ARGV[7]
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
local key = spending_key(workflow)
if call('HGET', key, 'said:' .. id) then
  return { 'already' }
end
call('HSET', key, 'said:' .. id, '1')
add_numbers(key, 'more', { tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]) })
emit('budget', 'workflow', workflow, 'by', by, 'cost', ARGV[3], 'tokens', ARGV[4], 'calls', ARGV[5], 'time_us', ARGV[6])
return { 'ok' }
