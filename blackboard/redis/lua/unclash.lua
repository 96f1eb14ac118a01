-- A grant that waited for a Conflict goes on: an artefact takes the place of both sides.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 agent, 4 the Conflict, 5 the artefact.
-- Replies ok, entry | already | stale.
if not leads(ARGV[1]) then
  return { 'stale' }
end
local claim, agent = ARGV[2], ARGV[3]
local g = grant_of(claim, agent)
if not g or g.state ~= 'queued' or g.conflict ~= ARGV[4] then
  return { 'already' }
end
local at, workflow = clock(), call('HGET', claim_key(claim), 'workflow_id')
g.settled = g.settled or {}
g.settled[#g.settled + 1] = ARGV[5]
queue_grant(claim, agent, g, at)
weigh(claim, workflow)
call('HINCRBY', claim_key(claim), 'revision', 1)
local entry = emit('conflict', 'workflow', workflow, 'claim', claim, 'agent', agent, 'phase', g.phase, 'attempt', g.attempt, 'to', 'settled',
  'conflict', ARGV[4], 'settled', ARGV[5])
publish(orchestrator_events, claim)
return { 'ok', entry }
