-- A running grant waits for the role repository before its tool can begin or its result
-- counts; or it waits no longer.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 repository (empty: it waits no longer).
-- Replies ok | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local g = grant_of(claim, agent)
if not g or g.state ~= 'running' or tostring(g.attempt) ~= ARGV[3] or g.holder ~= ARGV[4] then
  return { 'refused', 'the grant does not run, or belongs to another holder' }
end
local over = ARGV[5] == ''
if over == not g.waits_since then
  return { 'already' }
end
g.waits_since = not over and clock() or nil
save_grant(claim, agent, g)
mark_waiting(claim, agent, g.waits_since)
emit('wait', 'workflow', call('HGET', claim_key(claim), 'workflow_id'), 'claim', claim, 'agent', agent, 'attempt', g.attempt,
  'reason', 'repository', 'to', over and 'over' or '')
return { 'ok' }
