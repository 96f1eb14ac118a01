-- Releases the workspace of a grant that ended without doing so itself: its cancelled
-- tool has been stopped, or its dead writer's tree has been restored.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 holder (empty: any), 4 ref of the leftovers.
-- Replies ok | already.
local claim, agent = ARGV[1], ARGV[2]
local s = call('HGET', workspace_key, 'hold:' .. claim .. ':' .. agent)
local w = s and cjson.decode(s)
if not w or (ARGV[3] ~= '' and w.holder ~= ARGV[3]) then
  return { 'already' }
end
-- Only the hold: the grant's next attempt may be in line already.
call('HDEL', workspace_key, 'hold:' .. claim .. ':' .. agent)
wake_workspace()
if w.state == 'restore' or ARGV[4] ~= '' then
  emit('restore', 'workflow', call('HGET', claim_key(claim), 'workflow_id') or '', 'claim', claim, 'agent', agent,
    'to', w.base, 'leftovers', ARGV[4])
end
return { 'ok' }
