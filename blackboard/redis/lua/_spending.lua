-- The accounts of models' calls: one hash for each goal. Its fields are numbers, those
-- of the first four joined by spaces:
--   goal               cost tokens calls held_cost held_tokens held_calls
--   grant:CLAIM:AGENT  the same, of one grant
--   more, more:CLAIM:AGENT  cost tokens calls time_us, by which people raised the budget of the goal, of a grant
--   run:CLAIM:AGENT:MODEL  calls input cached cache_write output reasoning cost priced estimated took_us
--   time, time:CLAIM:AGENT  microseconds that agents with a model ran, the last call included
--   over               of what unit limit used: the newest call after which a budget, of the goal or of a grant, was exceeded
--   said:ID            a person's word that raised the budget, so that it counts once
-- The hash spending:models has the sums of all goals by model, in the form of a run.
-- Costs are billionths of the currency. `held` is reserved by calls under way, which the
-- index `spending` has. All numbers are below 2^53, up to which Lua counts exactly.

-- The time since a running grant was counted last, or since its start without its wait for its model.
local function uncounted_time(g, at)
  return math.max(0, at - (g.spends or g.started_at + (g.waited_us or 0)))
end

-- Adds that time. A later call, or its end, counts on from there.
local function count_time(claim, agent, g, workflow, at)
  local took = string.format('%.0f', uncounted_time(g, at))
  call('HINCRBY', spending_key(workflow), 'time', took)
  call('HINCRBY', spending_key(workflow), 'time:' .. claim .. ':' .. agent, took)
end

-- Ends the running time of a grant, which counts where it called a model.
local function stop_spending(claim, agent, g, at)
  if g.spends then
    count_time(claim, agent, g, call('HGET', claim_key(claim), 'workflow_id') or '', at)
    g.spends = nil
  end
  g.waited_us = nil
end

-- Reads the numbers of a field; zeros where there are none.
local function numbers_of(key, field, n)
  local all = {}
  for v in string.gmatch(call('HGET', key, field) or '', '%S+') do
    all[#all + 1] = tonumber(v)
  end
  for i = #all + 1, n do
    all[i] = 0
  end
  return all
end

-- Adds to the numbers of a field. A sum that is too high to be counted exactly stays where that begins.
local function add_numbers(key, field, more)
  local all, text = numbers_of(key, field, #more), {}
  for i, v in ipairs(more) do
    text[i] = string.format('%.0f', math.min(9e15, math.max(0, all[i] + v)))
  end
  call('HSET', key, field, table.concat(text, ' '))
end

-- Lets a grant that is tried again in another claim go on with the account of before.
local function go_on_spending(workflow, old, new, agent)
  local key, from, to = spending_key(workflow), old .. ':' .. agent, new .. ':' .. agent
  for field, n in pairs({ grant = 3, time = 1, more = 4 }) do -- what calls under way hold stays where it is
    local all = numbers_of(key, field .. ':' .. from, n)
    if math.max(unpack(all)) > 0 then
      for i = n + 1, #all do
        all[i] = nil
      end
      add_numbers(key, field .. ':' .. to, all)
    end
  end
end

-- Adds to the accounts of a goal and, but for a bid's call, of a grant.
local function spend(workflow, claim, agent, bid, more)
  add_numbers(spending_key(workflow), 'goal', more)
  if not bid then
    add_numbers(spending_key(workflow), 'grant:' .. claim .. ':' .. agent, more)
  end
end
