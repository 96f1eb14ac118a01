-- A person has a goal go on after a Failure that belongs to no claim: its result takes its turn to land
-- anew. The Failure no longer counts.
-- KEYS[1] the ledger. ARGV: 1 workflow, 2 the Failure, 3 the word of this retry, 4 the person, 5 why (may be empty).
-- Replies ok | already | refused why | stopping | miscounted workflow.
local workflow, failure, word = ARGV[1], ARGV[2], ARGV[3]
local key = workflow_key(workflow)
local w = call('HMGET', key, 'status', 'created_at', 'cancelled', 'landing', 'retried')
if not w[1] or not w[2] then
  return { 'refused', 'its goal is lost or corrupt' }
end
local before = retried_word(workflow, failure)
if before then
  return before == word and { 'already' } or { 'refused', 'it is tried again' }
end
local f = call('HMGET', artifact_key(failure), 'structural_type', 'workflow_id', 'claim_id', 'type')
if f[1] ~= 'Failure' or f[2] ~= workflow or (f[3] or '') ~= '' then
  return { 'refused', 'it did not end the goal' }
end
if w[3] then
  return { 'refused', 'its goal was cancelled' }
end
if call('HGET', instance_key, 'state') == 'stopping' then
  return { 'stopping' }
end
if w[1] == 'active' or call('ZSCORE', landings_key, workflow) then
  return { 'refused', 'its goal has not ended' }
end
if (decoded(w[4]) or {}).state ~= 'none' then
  return { 'refused', 'its result was not to land' }
end
local off = miscounted(workflow, 'failures')
if off then
  return off
end
local at = clock()
call('HSET', key, 'retried', (w[5] and w[5] .. ' ' or '') .. failure .. '=' .. word)
go_on(workflow, 1, w[2])
call('ZADD', landings_key, at, workflow)
call('HSET', key, 'landing', '{"state":"queued"}', 'landing_since', at)
call('HINCRBY', key, 'outstanding', 1)
emit('retry', 'workflow', workflow, 'artefact', failure, 'type', f[4], 'to', 'queued', 'by', ARGV[4], 'reason', ARGV[5],
  'waits_for', waits_for(workflow))
call('PUBLISH', orchestrator_events, '')
return { 'ok' }
