-- Records an agent's bid on a claim, once. The last one follows the claim's course, if there is one.
-- KEYS[1] the ledger. ARGV: 1 claim, 2 agent, 3 bid, 4 reason (may be empty), 5 and 6 type and producer of the
-- target, where the bid relies on a notice for them (5 empty: it does not), 7 the entry of `bids:` that decided (empty: none), 8 its line in sett.yml (empty: unknown).
-- Replies ok | already | stale | refused why.
local claim, agent, bid = ARGV[1], ARGV[2], ARGV[3]
local c = call('HMGET', claim_key(claim), 'status', 'expected_bidders', 'workflow_id', 'target_type', 'target_agent', 'course',
  'revision', 'bid_order', 'ignored', 'withheld')
if not c[1] or not c[2] or not c[3] then
  call('ZREM', agent_due_key(agent), claim)
  return { 'refused', 'no such claim' }
end
if ARGV[5] ~= '' and (c[4] ~= ARGV[5] or (c[5] or '') ~= ARGV[6]) then
  return { 'stale' }
end
local names, bids = read_bids(claim, c[8], c[9], c[2])
local before = bids[agent]
if before then
  call('ZREM', agent_due_key(agent), claim)
  if before == bid then
    return { 'already' }
  end
  return { 'refused', 'it has bid ' .. before }
end
if c[1] ~= 'pending_review' then
  call('ZREM', agent_due_key(agent), claim)
  return { 'refused', 'the claim is ' .. c[1] }
end
local readable, bidders = pcall(cjson.decode, c[2])
if not readable or type(bidders) ~= 'table' then
  return { 'refused', 'the claim is corrupt' }
end
local known = false
for _, name in ipairs(bidders) do
  known = known or name == agent
end
if not known then
  return { 'refused', 'the claim does not expect a bid of ' .. agent }
end
call('HSET', bids_key(claim), agent, bid)
call('ZREM', agent_due_key(agent), claim)
names[#names + 1], bids[agent] = agent, bid
local fields, count = unusual({ 'bid_order', order_field(names), '' }), 0
for _ in pairs(bids) do
  count = count + 1
end
if c[10] then
  weigh(claim, c[3])
end
local revision = (tonumber(c[7]) or 0) + 1
local at = clock()
together(at, function()
  emit('bid', 'workflow', c[3], 'claim', claim, 'agent', agent, 'to', bid, 'reason', ARGV[4], 'rule', ARGV[7] or '',
    'line', ARGV[8] or '', 'waits_for', c[10] and waits_for(c[3]) or '')
  if count >= #bidders then
    local said = format_bids(names, bids)
    local known = call('HMGET', courses_key, 'revision', 'B ' .. said)
    if known[2] and known[1] == c[6] and #grants_of(claim) == 0 and not miscounted(c[3], 'outstanding') then
      fields[#fields + 1] = 'course'
      fields[#fields + 1] = known[1] .. ' ' .. known[2]
      local claimed = { id = claim, workflow = c[3], status = c[1], revision = revision, course = known[1], steps = known[2], fields = fields }
      follow_step(claimed, write_step(claimed, '', at), at)
      return
    end
    -- With the bids, so that the orchestrator need not read them. A decision that relies
    -- on them says so, and is checked.
    call('HSET', claim_key(claim), 'revision', revision, unpack(fields))
    local notice = claim .. ' ' .. revision .. ' ' .. said
    publish(orchestrator_events, #notice <= 256 and notice or claim) -- nobody reads longer ones
  else
    call('HSET', claim_key(claim), 'revision', revision, unpack(fields))
  end
end)
return { 'ok' }
