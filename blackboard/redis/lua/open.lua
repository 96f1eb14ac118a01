-- Opens the one bidding claim of an artefact.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 artefact id, 3 claim id, 4 expected bidders (JSON array),
-- 5 the most artefacts that count a workflow may have (0: any number).
-- Replies ok, logical id, version, type, producer and role of the target, workflow, entry | already | stale |
-- refused not_claimable | refused limit.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local artefact, claim, limit = ARGV[2], ARGV[3], tonumber(ARGV[5])
if not call('ZSCORE', unclaimed_key, artefact) then
  if call('EXISTS', claim_key(claim)) == 1 then
    return { 'already' }
  end
  return { 'refused', 'not_claimable' }
end
local at, target = clock(), target_of(artefact)
for field = 1, 6 do
  if not target[field] then -- lost; it stays in its place, until its goal is cancelled
    return { 'refused', 'not_claimable' }
  end
end
local workflow = target[6]
if limit > 0 and has_more(workflow, limit) then
  return { 'refused', 'limit' } -- in its place, until it is refused with a reason
end
call('ZREM', unclaimed_key, artefact)
put_claim({ id = claim, artefact = artefact, status = 'pending_review', origin = 'artefact', bidders = ARGV[4],
  context = '[]', target = target, course = call('HGET', courses_key, 'revision') or '' }, at)
for _, agent in ipairs(cjson.decode(ARGV[4])) do
  call('ZADD', agent_due_key(agent), at, claim)
end
local entry = emit('open', 'workflow', workflow, 'claim', claim, 'artefact', artefact, 'type', target[3],
  'to', 'pending_review', 'bidders', ARGV[4])
-- With the facts for a bid by rule, so that the agents need not read them. A bid that
-- relies on them says so, and is checked.
publish(claim_targets, claim .. ' ' .. target[4] .. ' ' .. target[3])
publish(claim_events, claim)
target[#target + 1] = entry
return { 'ok', unpack(target) }
