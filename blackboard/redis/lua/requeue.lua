-- A holder hands its running grant back, unfinished: it is being stopped.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 reason.
-- Replies ok | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local g = grant_of(claim, agent)
if not g then
  return { 'refused', 'no such grant' }
end
if g.state ~= 'running' or g.holder ~= ARGV[4] or tostring(g.attempt) ~= ARGV[3] then
  return { 'already' }
end
local at = clock()
g.attempt = g.attempt + 1
release_workspace(claim, agent)
queue_grant(claim, agent, g, at)
call('HINCRBY', claim_key(claim), 'revision', 1)
emit('requeue', 'workflow', call('HGET', claim_key(claim), 'workflow_id'), 'claim', claim, 'agent', agent,
  'phase', g.phase, 'attempt', g.attempt, 'reason', ARGV[5])
call('PUBLISH', orchestrator_events, claim)
return { 'ok' }
