-- Moves a claim to a phase and queues its grants. Details: {phase, status, field, granted, agents}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty).
-- Replies ok, entry | stale leader | stale revision.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
if not c then
  return stale
end
local at = clock()
call('HSET', claim_key(claim), 'status', d.status, d.field, d.granted, 'revision', c[1] + 1)
for _, agent in ipairs(d.agents) do
  queue_grant(claim, agent, { phase = d.phase, attempt = 1 }, at)
end
local entry = emit('grant', 'workflow', c[3], 'claim', claim, 'phase', d.phase, 'from', c[2], 'to', d.status,
  'agent', table.concat(d.agents, ','))
return { 'ok', entry }
