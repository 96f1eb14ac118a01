-- A person ends a claim: its running grants are stopped, and a Failure is written.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 Failure (JSON), 3 payload, 4 size, 5 hash, 6 the person, 7 why.
-- Replies ok | already | refused why | miscounted workflow.
local claim, failure = ARGV[1], cjson.decode(ARGV[2])
local known = stored(failure, ARGV[3])
if known then
  return known
end
local c = call('HMGET', claim_key(claim), 'revision', 'status', 'workflow_id', 'artefact_id', 'reason',
  'granted_exclusive_agent')
if not c[2] or not c[3] then
  return { 'refused', 'no such claim' }
end
if c[2] == 'complete' or c[2] == 'terminated' then
  local why = c[5] and c[5] ~= '' and ': ' .. c[5] or ''
  return { 'refused', 'it is ' .. c[2] .. why }
end
-- A next version may be there already: cancelled, nobody could go on with either.
local last
for _, one in ipairs(c[2] == 'pending_exclusive' and grants_of(claim) or {}) do
  last = one.agent == c[6] and one.grant or last
end
if last and last.state == 'done' then
  return { 'refused', 'its work is done; the orchestrator completes it' }
end
local off = miscounted(c[3], 'outstanding')
if off then
  return off
end
local at = clock()
local cancelled = cancel_grants(claim, at)
put_artefact(failure, ARGV[3], at)
local ended = close_claim(claim, c, 'terminated', 'cancelled by ' .. ARGV[6] .. ': ' .. ARGV[7], at)
emit('cancel', 'workflow', c[3], 'claim', claim, 'from', c[2], 'to', 'terminated', 'reason', ARGV[7], 'by', ARGV[6],
  'result', failure.id, 'result_type', failure.type, 'size', ARGV[4], 'sha256', ARGV[5], 'cancelled', table.concat(cancelled, ','),
  'workflow_status', ended, 'waits_for', waits_for(c[3]))
publish(claim_events, claim)
return { 'ok' }
