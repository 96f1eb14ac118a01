-- An agent's bid waits, because a call of its model is withheld; or it waits for that no longer. It is no bid, and no
-- silence that becomes one. Another reason of the same kind is in no ledger.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 budget or paused (empty: nothing is withheld), 4 why.
-- Replies ok | already | refused why.
local claim, agent, kind = ARGV[1], ARGV[2], ARGV[3]
local key, field = claim_key(claim), 'withheld:' .. agent
local c = call('HMGET', key, 'status', 'expected_bidders', 'workflow_id', 'revision', 'bid_order', 'ignored', field)
local _, bids = read_bids(claim, c[5], c[6], c[2])
local known = false
for _, name in ipairs(decoded(c[2]) or {}) do
  known = known or name == agent
end
if c[1] ~= 'pending_review' or bids[agent] or not known then
  return { 'refused', 'no bid of the agent is due on the claim' }
end
local since, was, why = string.match(c[7] or '', '^(%S+) (%S+) (.*)$')
if (was or '') == kind and (why or '') == ARGV[4] then
  weigh(claim, c[3])
  return { 'already' }
end
if kind == '' then
  call('HDEL', key, field)
else
  call('HSET', key, 'withheld', '1', field, (was and since or clock()) .. ' ' .. kind .. ' ' .. ARGV[4])
end
weigh(claim, c[3])
-- A decision about the agent's silence relies on the revision.
call('HSET', key, 'revision', (tonumber(c[4]) or 0) + 1)
if (was or '') ~= kind then
  emit('wait', 'workflow', c[3], 'claim', claim, 'agent', agent, 'reason', kind ~= '' and kind or was, 'to', kind == '' and 'over' or '',
    'waits_for', waits_for(c[3]))
end
return { 'ok' }
