-- Reserves the most that a call of a model may use, in the budgets of its goal and of
-- its grant. Nothing is in the ledger until the call is settled.
-- KEYS[1] the ledger. ARGV: 1 call, 2 claim, 3 agent, 4 attempt of the running grant (0: of a bid that is due),
-- 5 holder, 6 model, 7 SHA-256 of the request, 8 tokens, 9 cost, 10 to 13 the goal's budget: cost, tokens,
-- calls, microseconds (0: no bound), 14 to 17 the grant's, 18 the try of the call,
-- 19 of the tokens, those of the answer.
-- Replies ok again (another try of the call reserved it; else empty) | settled | paused by why | refused why | wait, less or none: tokens left, cost left (negative: no
-- bound), then of the narrowest budget: whose, unit, limit, used.
local id, claim, agent, bid = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '0'
local under = decoded(call('HGET', pending_calls_key, id))
if under then
  return { 'ok', under.try == ARGV[18] and '' or 'again' }
end
local workflow = call('HGET', claim_key(claim), 'workflow_id')
if not workflow then
  return { 'refused', 'no such claim' }
end
if call('SISMEMBER', spending_key(workflow .. ':settled'), id) == 1 then
  return { 'settled' }
end
local models = call('HMGET', instance_key, 'models', 'models_by', 'models_why')
if models[1] == 'paused' then
  return { 'paused', models[2] or '', models[3] or '' }
end
local at, g = clock(), nil
if bid then
  if not call('ZSCORE', agent_due_key(agent), claim) then
    return { 'refused', 'no bid of the agent is due on the claim' }
  end
else
  g = grant_of(claim, agent)
  if not g or g.state ~= 'running' or tostring(g.attempt) ~= ARGV[4] or g.holder ~= ARGV[5] then
    return { 'refused', 'the grant does not run, or belongs to another holder' }
  end
end

local key = spending_key(workflow)
local want = { cost = tonumber(ARGV[9]), tokens = tonumber(ARGV[8]), calls = 1, time = 0 }
local left, answer, short = { cost = -1, tokens = -1 }, nil, nil
local function weigh_budget(of, account, field, first, more)
  local running = g and uncounted_time(g, at) or 0
  local n, time = numbers_of(key, account, 6), tonumber(call('HGET', key, field) or '0') + running
  local units = { { 'cost', n[1], n[4] }, { 'tokens', n[2], n[5] }, { 'calls', n[3], n[6] }, { 'time', time, 0 } }
  for i, u in ipairs(units) do
    local unit, used, held = u[1], u[2], u[3]
    local limit = tonumber(ARGV[first + i - 1])
    if limit > 0 then
      limit = limit + (more[i] or 0)
      local free = math.max(0, limit - used - held)
      if left[unit] and (left[unit] < 0 or free < left[unit]) then
        left[unit] = free
      end
      local fits = want[unit] <= free
      if unit == 'time' then
        fits = used < limit
      end
      if not fits then
        local how = 'none' -- calls and time do not come back
        if left[unit] then
          how = held > 0 and 'wait' or free > 0 and 'less' or 'none'
        end
        if not answer or how == 'none' or (how == 'wait' and answer == 'less') then
          answer, short = how, { of, unit, string.format('%.0f', limit), string.format('%.0f', used + held) }
        end
      end
    end
  end
end
weigh_budget('goal', 'goal', 'time', 10, numbers_of(key, 'more', 4))
if g then
  weigh_budget('grant', 'grant:' .. claim .. ':' .. agent, 'time:' .. claim .. ':' .. agent, 14,
    numbers_of(key, 'more:' .. claim .. ':' .. agent, 4))
end
if answer then
  return { answer, string.format('%.0f', left.tokens), string.format('%.0f', left.cost), unpack(short) }
end

spend(workflow, claim, agent, bid, { 0, 0, 0, want.cost, want.tokens, 1 })
if g then
  count_time(claim, agent, g, workflow, at)
  g.spends = at
  save_grant(claim, agent, g)
end
call('HSET', pending_calls_key, id, cjson.encode({ workflow = workflow, claim = claim, agent = agent, attempt = ARGV[4], holder = ARGV[5],
  model = ARGV[6], request = ARGV[7], tokens = ARGV[8], output = ARGV[19], cost = ARGV[9], since = at, try = ARGV[18] }))
return { 'ok', '' }
