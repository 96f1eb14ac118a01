-- A person reviews an artefact while its claim is in review, beside the agents.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 the person, as grants name them, 3 Review (JSON), 4 payload, 5 size, 6 hash,
-- 7 verdict, 8 the person.
-- Replies ok | already | refused why.
local claim, person, a = ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local known = stored(a, ARGV[4])
if known then
  return known
end
local c = call('HMGET', claim_key(claim), 'status', 'reason', 'artefact_id')
if not c[1] then
  return { 'refused', 'no such claim' }
end
if c[1] ~= 'pending_review' then
  local why = c[2] and c[2] ~= '' and ': ' .. c[2] or ''
  return { 'refused', 'it is not in review any more, its claim is ' .. c[1] .. why }
end
local before = grant_of(claim, person)
if before then
  return { 'refused', 'you have reviewed it: ' .. before.verdict }
end
local at = clock()
put_artefact(a, ARGV[4], at)
save_grant(claim, person, { phase = 'review', attempt = 1, state = 'done', verdict = ARGV[7], result_id = a.id,
  queued_at = at, ended_at = at })
call('HINCRBY', claim_key(claim), 'revision', 1)
weigh(claim, a.workflow)
emit('review', 'workflow', a.workflow, 'claim', claim, 'artefact', c[3], 'result', a.id, 'verdict', ARGV[7],
  'by', ARGV[8], 'size', ARGV[5], 'sha256', ARGV[6])
publish(orchestrator_events, claim)
return { 'ok' }
