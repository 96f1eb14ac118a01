-- A running grant waits for the role repository before its tool can begin or its result
-- counts, for a person who lets its tool call models, or for the blackboard to take its result; or it waits no longer.
-- A new reason for the same wait is in no ledger.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 attempt, 4 holder, 5 repository, model or blackboard (empty: it waits no longer),
-- 6 why (empty: for nothing else).
-- Replies ok | already | refused why.
local claim, agent = ARGV[1], ARGV[2]
local g = grant_of(claim, agent)
if not g or g.state ~= 'running' or tostring(g.attempt) ~= ARGV[3] or g.holder ~= ARGV[4] then
  return { 'refused', 'the grant does not run, or belongs to another holder' }
end
local over, was = ARGV[5] == '', g.waits_since and (g.waits_for or 'repository')
local what = over and was or ARGV[5]
if over and not was or was == ARGV[5] and (g.waits_why or '') == ARGV[6] then
  return { 'already' }
end
local at = clock()
local since = was == ARGV[5] and g.waits_since or not over and at or nil
if was == 'model' and was ~= ARGV[5] then
  g.waited_us = string.format('%.0f', (g.waited_us or 0) + math.max(0, at - g.waits_since))
end
waits_no_more(g)
g.waits_since, g.waits_for = since, not over and what ~= 'repository' and what or nil
g.waits_why = ARGV[6] ~= '' and ARGV[6] or nil
save_grant(claim, agent, g)
mark_waiting(claim, agent, what ~= 'model' and since or nil)
if was ~= ARGV[5] then
  local workflow, alone = call('HGET', claim_key(claim), 'workflow_id'), ''
  if what == 'model' or was == 'model' then
    call('HSET', claim_key(claim), 'withheld', '1')
    weigh(claim, workflow)
    alone = waits_for(workflow)
  end
  emit('wait', 'workflow', workflow, 'claim', claim, 'agent', agent, 'attempt', g.attempt,
    'reason', what, 'to', over and 'over' or '', 'waits_for', alone)
end
return { 'ok' }
