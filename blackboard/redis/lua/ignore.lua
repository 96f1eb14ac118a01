-- Turns the silence of agents into ignore bids. Details: {agents, reason}.
-- KEYS[1] the ledger. ARGV: 1 epoch, 2 claim, 3 the revision it was decided on, 4 details (JSON), 5 the bids it relies on (may be
-- empty).
-- Replies ok, entry | stale leader | stale revision.
local claim, d = ARGV[2], cjson.decode(ARGV[4])
local c, stale = decidable(ARGV[1], claim, ARGV[3], ARGV[5])
if not c then
  return stale
end
local names, bids = read_bids(claim, c[5], c[6], c[7])
for _, agent in ipairs(d.agents) do
  if not bids[agent] then
    call('HSET', bids_key(claim), agent, 'ignore')
    names[#names + 1], bids[agent] = agent, 'ignore'
  end
  call('ZREM', agent_due_key(agent), claim)
end
call('HSET', claim_key(claim), 'revision', c[1] + 1, unpack(unusual({ 'bid_order', order_field(names), '' })))
weigh(claim, c[3])
local entry = emit('bid', 'workflow', c[3], 'claim', claim, 'agent', table.concat(d.agents, ','), 'to', 'ignore',
  'reason', d.reason, 'waits_for', waits_for(c[3]))
publish(orchestrator_events, claim)
return { 'ok', entry }
