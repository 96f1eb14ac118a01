-- Turns the silence of agents into ignore bids. Details: {agents, reason}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty).
-- Replies ok, entry | stale leader | stale revision.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
if not c then
  return stale
end
for _, agent in ipairs(d.agents) do
  if call('HSETNX', bids_key(claim), agent, 'ignore') == 1 then
    call('RPUSH', bid_order_key(claim), agent)
  end
  call('ZREM', agent_due_key(agent), claim)
end
call('HINCRBY', claim_key(claim), 'revision', 1)
local entry = emit('bid', 'workflow', c[3], 'claim', claim, 'agent', table.concat(d.agents, ','), 'to', 'ignore',
  'reason', d.reason)
call('PUBLISH', orchestrator_events, claim)
return { 'ok', entry }
