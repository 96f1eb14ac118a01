--!readonly
-- The changing records of an instance at one moment: the claims and workflows in the
-- entries after a position, the open work, and models' calls under way with the accounts
-- of their goals. All others are written once, so that their number is enough.
-- KEYS[1] the ledger. ARGV: 1 position, 2 most entries, 3 workflow (empty: all of them).
-- Replies ok, position, number of artefacts, of claims, of goals, claims {id, fields, bids},
-- workflows {id, fields, account}, open work {index, agent, ids with scores}, calls by id | more.
local most, workflow = tonumber(ARGV[2]), ARGV[3]
local entries = call('XRANGE', events_key, '(' .. ARGV[1], '+', 'COUNT', most + 1)
if #entries > most then
  return { 'more' }
end
local position, claims, workflows, seen = ARGV[1], {}, {}, {}
local function add_workflow(id)
  local fields = call('HGETALL', workflow_key(id))
  if #fields > 0 then
    workflows[#workflows + 1] = { id, fields, call('HGETALL', spending_key(id)) }
  end
end
for _, entry in ipairs(entries) do
  position = entry[1]
  for i = 2, #entry[2], 2 do
    for id in string.gmatch(entry[2][i], '%w+') do
      if #id == 26 and not seen[id] then
        seen[id] = true
        local fields = call('HGETALL', claim_key(id))
        if #fields > 0 then
          claims[#claims + 1] = { id, fields, call('HGETALL', bids_key(id)) }
        end
        add_workflow(id)
      end
    end
  end
end
local calls = call('HGETALL', pending_calls_key) -- no entry tells of a reservation
for i = 2, #calls, 2 do
  local p = decoded(calls[i])
  if p and p.workflow and not seen[p.workflow] then
    seen[p.workflow] = true
    add_workflow(p.workflow)
  end
end
local open, agents, names = {}, {}, {}
local function add(index, agent, key)
  local ids = call('ZRANGE', key, 0, -1, 'WITHSCORES')
  if #ids > 0 then
    open[#open + 1] = { index, agent, ids }
  end
  return ids
end
local function known(agent)
  if not agents[agent] then
    agents[agent] = true
    names[#names + 1] = agent
  end
end
for _, agent in ipairs(call('HKEYS', agents_key)) do
  known(agent)
end
add('unclaimed', '', unclaimed_key)
local ids = add('claims', '', open_claims_key)
add('questions', '', questions_key)
add('gates', '', gates_key)
add('landings', '', landings_key)
add('workflows', '', active_workflows_key)
for i = 1, #ids, 2 do
  local readable, bidders = pcall(cjson.decode, call('HGET', claim_key(ids[i]), 'expected_bidders') or '')
  for _, agent in ipairs(readable and type(bidders) == 'table' and bidders or {}) do
    known(agent)
  end
  for _, one in ipairs(grants_of(ids[i])) do
    known(one.agent)
  end
end
table.sort(names)
for _, agent in ipairs(names) do
  add('due', agent, agent_due_key(agent))
  add('grants', agent, agent_grants_key(agent))
end
local counts = { call('LLEN', artefacts_key), call('LLEN', claims_key), call('LLEN', artefacts_by_type_key('GoalDefined')) }
if workflow ~= '' then
  counts = { call('LLEN', artefacts_by_workflow_key(workflow)), call('LLEN', claims_by_workflow_key(workflow)), 1 }
end
return { 'ok', position, tostring(counts[1]), tostring(counts[2]), tostring(counts[3]), claims, workflows, open, calls }
