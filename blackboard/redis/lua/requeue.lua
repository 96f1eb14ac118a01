-- A holder hands its running grant back, unfinished: it is being stopped. The grant keeps its place in its
-- agent's queue, so that others do not overtake it with each stop. How often counts, unless it is the whole
-- instance that stops: a tool that stops its own holder holds up the others that often at most.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 reason, 6 how often it may,
-- 7 commit that the tool's tree started from.
-- Replies ok | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local g = grant_of(claim, agent)
if not g then
  return { 'refused', 'no such grant' }
end
if g.state ~= 'running' or g.holder ~= ARGV[4] or tostring(g.attempt) ~= ARGV[3] then
  return { 'already' }
end
if call('HGET', instance_key, 'state') ~= 'stopping' then
  g.handed_back = (g.handed_back or 0) + 1
  if g.handed_back > tonumber(ARGV[6]) then
    return { 'refused', 'it was handed back ' .. ARGV[6] .. ' times before' }
  end
end
local at, withheld, workflow = clock(), waits_for_model(g), call('HGET', claim_key(claim), 'workflow_id')
g.attempt = g.attempt + 1
queue_grant(claim, agent, g, at, g.line_since or g.queued_at)
if withheld then
  weigh(claim, workflow)
end
call('HINCRBY', claim_key(claim), 'revision', 1)
emit('requeue', 'workflow', workflow, 'claim', claim, 'agent', agent,
  'phase', g.phase, 'attempt', g.attempt, 'reason', ARGV[5], 'base', ARGV[7])
publish(orchestrator_events, claim)
return { 'ok' }
