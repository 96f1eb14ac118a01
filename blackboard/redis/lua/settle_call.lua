-- Ends a call of a model: it took that much, and its reservation goes.
-- KEYS[1] the ledger. ARGV: 1 call, 2 claim, tokens: 3 input, 4 cached, 5 cache write, 6 output,
-- 7 reasoning, 8 cost, 9 has a price (1 or 0), 10 is an estimate (1 or 0), 11 microseconds, 12 status of the answer,
-- 13 SHA-256 of the answer, 14 reason of a failure, 15 the model that was asked, as its provider calls it, 16 the one that
-- answered, where its provider names another, 17 and 18 the goal's budget: cost, tokens (0: no bound), 19 and 20 the grant's.
-- Replies ok | already | refused why.
local id = ARGV[1]
local text = call('HGET', pending_calls_key, id)
if not text then
  local workflow = call('HGET', claim_key(ARGV[2]), 'workflow_id') or ''
  if call('SISMEMBER', spending_key(workflow .. ':settled'), id) == 1 then
    return { 'already' }
  end
  return { 'refused', 'no such call is under way' }
end
local p, n = cjson.decode(text), {}
for i = 3, 11 do
  n[i] = tonumber(ARGV[i])
end
local bid, tokens = p.attempt == '0', n[3] + n[4] + n[5] + n[6]
spend(p.workflow, p.claim, p.agent, bid, { n[8], tokens, 1, -tonumber(p.cost), -tonumber(p.tokens), -1 })
local run = { 1, n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11] }
add_numbers(spending_key(p.workflow), 'run:' .. p.claim .. ':' .. p.agent .. ':' .. p.model, run)
add_numbers(spending_key('models'), p.model, run)
call('HDEL', pending_calls_key, id)

-- What was reserved is an estimate: calls side by side may take more than a budget has.
local function beyond(of, account, more, first)
  local used, added = numbers_of(spending_key(p.workflow), account, 2), numbers_of(spending_key(p.workflow), more, 2)
  for i, unit in ipairs({ 'cost', 'tokens' }) do
    local limit = tonumber(ARGV[first + i - 1])
    if limit > 0 and used[i] > limit + added[i] then
      return string.format('%s %s %.0f %.0f', of, unit, limit + added[i], used[i])
    end
  end
end
local grant = p.claim .. ':' .. p.agent
local over = beyond('goal', 'goal', 'more', 17) or not bid and beyond('grant', 'grant:' .. grant, 'more:' .. grant, 19) or nil
if over then
  call('HSET', spending_key(p.workflow), 'over', over)
end
call('SADD', spending_key(p.workflow .. ':settled'), id)
emit('call', 'workflow', p.workflow, 'claim', p.claim, 'agent', p.agent, 'attempt', p.attempt, 'call', id, 'model', p.model,
  'input', ARGV[3], 'cached', ARGV[4], 'cache_write', ARGV[5], 'output', ARGV[6], 'reasoning', ARGV[7],
  'cost', ARGV[9] == '1' and ARGV[8] or '', 'estimated', ARGV[10] == '1' and 'yes' or '', 'took_us', ARGV[11], 'status', ARGV[12],
  'request', p.request, 'answer', ARGV[13], 'reason', ARGV[14], 'provider_model', ARGV[15], 'answer_model', ARGV[16], 'over', over or '')
return { 'ok' }
