-- Grants: their holders, their questions, their end. See _lib.lua.

-- A grant is in four fields of its claim at most, so that a write is short. Their names end with the agent:
--   grant:   phase, state, attempt, then result_id and verdict if there are some (result_id may be `.`: none)
--   times:   queued_at, then started_at and ended_at as differences to it, and tool_us; `.`: none, and nothing behind the last
--   holder:  holder
--   more:    all else, as JSON
-- One that has no such form is JSON as a whole, in the first field. store/claim.go says the same.
local grant_fields = { 'grant:', 'times:', 'holder:', 'more:' }

-- The claims that grants were read from or written to, and their fields as they are there.
local stored_grants = {}

-- Reads the times of a grant into it; nil: they are broken.
local function read_times(g, text)
  local t = {}
  for word in string.gmatch(text, '%S+') do
    t[#t + 1] = word ~= '.' and word or false
  end
  local base = t[1] and tonumber(t[1]) or 0
  if t[1] and not string.match(t[1], '^%d+$') then
    return nil
  end
  g.queued_at = t[1] or nil
  for i, name in ipairs({ 'started_at', 'ended_at' }) do
    local after = t[i + 1]
    if after then
      if not string.match(after, '^%-?%d+$') then
        return nil
      end
      g[name] = string.format('%.0f', base + tonumber(after))
    end
  end
  g.tool_us = t[4] or nil
  return g
end

-- Reads a grant from its fields; nil: they are broken.
local function read_grant(claim, fields)
  local text, g = fields[1], nil
  if string.sub(text, 1, 1) == '{' then
    g = decoded(text)
  else
    local phase, state, attempt, rest = string.match(text, '^(%a+) ([%a_]+) (%d+)(.*)$')
    g = phase and (not fields[4] and {} or decoded(fields[4]))
    local result, verdict = string.match(rest or '', '^ (%S+) ?(%S*)$')
    if not g or (rest ~= '' and not result) then
      return nil
    end
    g.phase, g.state, g.attempt, g.holder = phase, state, tonumber(attempt), fields[3] or nil
    g.result_id = result ~= '.' and result or nil
    g.verdict = verdict ~= '' and verdict or nil
    g = read_times(g, fields[2] or '')
  end
  if g then
    stored_grants[g] = { claim = claim, fields = fields }
  end
  return g or nil
end

-- The forms of those parts of a grant that have a place in its fields.
local grant_forms = { phase = '^%a+$', state = '^[%a_]+$', result_id = '^[^%s%.]+$', verdict = '^%S+$', queued_at = '^%d+$',
  started_at = '^%d+$', ended_at = '^%d+$', tool_us = '^%d+$', holder = '' }

-- The fields of a grant (see grant_fields); false: there is none.
local function write_grant(g)
  local more, plain = {}, g.phase and g.state and string.find(tostring(g.attempt), '^%d+$')
  for name, value in pairs(g) do
    local form = grant_forms[name]
    if form then
      plain = plain and type(value) == 'string' and string.find(value, form)
    elseif name ~= 'attempt' then
      more[name] = value
    end
  end
  if not plain then
    return { cjson.encode(g), false, false, false }
  end
  local base, text = g.queued_at or '0', g.phase .. ' ' .. g.state .. ' ' .. g.attempt
  if g.result_id or g.verdict then
    text = text .. ' ' .. (g.result_id or '.') .. (g.verdict and ' ' .. g.verdict or '')
  end
  local times = g.queued_at or '.'
  for _, at in ipairs({ g.started_at or false, g.ended_at or false }) do
    times = times .. ' ' .. (at and string.format('%.0f', at - base) or '.')
  end
  times = string.gsub(times .. ' ' .. (g.tool_us or '.'), '[ .]+$', '')
  return { text, times ~= '' and times, g.holder or false, next(more) ~= nil and cjson.encode(more) }
end

-- Reads a grant, and returns it with further fields of its claim: up to four. Nil when there is none.
local function grant_of(claim, agent, ...)
  local fields = call('HMGET', claim_key(claim), 'grant:' .. agent, 'times:' .. agent, 'holder:' .. agent, 'more:' .. agent, ...)
  if not fields[1] then
    return nil
  end
  return read_grant(claim, fields) or error('the grant of claim ' .. claim .. ' to ' .. agent .. ' is broken'),
    fields[5], fields[6], fields[7], fields[8]
end

-- Reads all grants of a claim: {agent, grant}. One that is broken has no grant, nor has that of the agent `but`.
local function grants_of(claim, but)
  local all, found, agents, list = call('HGETALL', claim_key(claim)), {}, {}, {}
  for i = 1, #all, 2 do
    found[all[i]] = all[i + 1]
    if string.sub(all[i], 1, 6) == 'grant:' then
      agents[#agents + 1] = string.sub(all[i], 7)
    end
  end
  for i, agent in ipairs(agents) do
    list[i] = { agent = agent }
    if agent ~= but then
      list[i].grant = read_grant(claim, { found['grant:' .. agent], found['times:' .. agent] or false,
        found['holder:' .. agent] or false, found['more:' .. agent] or false })
    end
  end
  return list
end

-- Adds those fields of a grant that have changed to fields of its claim, which the caller writes.
local function add_grant(fields, claim, agent, g)
  local now, before = write_grant(g), stored_grants[g]
  local was, gone = before and before.claim == claim and before.fields or {}, {}
  for i, name in ipairs(grant_fields) do
    if now[i] and now[i] ~= was[i] then
      fields[#fields + 1] = name .. agent
      fields[#fields + 1] = now[i]
    elseif was[i] and not now[i] then
      gone[#gone + 1] = name .. agent
    end
  end
  if #gone > 0 then
    call('HDEL', claim_key(claim), unpack(gone))
  end
  stored_grants[g] = { claim = claim, fields = now }
end

-- Writes those fields of a grant that have changed, with other fields of its claim.
local function save_grant(claim, agent, g, ...)
  local fields = { ... }
  add_grant(fields, claim, agent, g)
  if #fields > 0 then
    call('HSET', claim_key(claim), unpack(fields))
  end
end

-- Reads the entry of a worker: the end of its life (microseconds since 1970), its
-- claim ('-': it waits for one) and the claim's attempt. nil when there is none, or
-- a broken one.
local function worker_of(s)
  local alive, claim, attempt = string.match(s or '', '^(%d+) (%S+) (%d+)$')
  return alive and { alive = tonumber(alive), claim = claim, attempt = attempt }
end

-- The field of a grant in the index `running`.
local function run_field(claim, agent) return claim .. ':' .. agent end

-- Takes a grant out of the index `running`.
local function stop_running(claim, agent) call('HDEL', running_key, run_field(claim, agent)) end

-- Takes from a grant that it waits for the repository, for its model or for the blackboard.
local function waits_no_more(g)
  g.waits_since, g.waits_for, g.waits_why = nil, nil, nil
end

-- Whether a running grant waits for a person, who lets its tool call models.
local function waits_for_model(g) return g.state == 'running' and g.waits_since and g.waits_for == 'model' end

-- Notes in the index `running` since when a grant waits for the repository, or for the blackboard; nil: it does not.
local function mark_waiting(claim, agent, since)
  local r = decoded(call('HGET', running_key, run_field(claim, agent)) or '')
  if r then
    r.waits_since = since
    call('HSET', running_key, run_field(claim, agent), cjson.encode(r))
  end
end

-- Ends a grant in the given state. The caller accounts for the claim, and writes the grant's fields if it gives a
-- list for them.
local function end_grant(claim, agent, g, state, at, fields)
  g.state = state
  waits_no_more(g)
  g.ended_at, g.line_since = at, nil
  stop_spending(claim, agent, g, at)
  if fields then
    add_grant(fields, claim, agent, g)
  else
    save_grant(claim, agent, g)
  end
  call('ZREM', agent_grants_key(agent), claim)
  stop_running(claim, agent)
end

-- Puts a grant, which is written as queued, in its agent's queue.
local function put_in_queue(claim, agent, at)
  call('ZADD', agent_grants_key(agent), at, claim)
  publish(agent_events(agent), claim)
end

-- Queues a grant: a new one, or one that is to be run again. Place is the time by which it stands in line; nil: behind all
-- others.
local function queue_grant(claim, agent, g, at, place)
  g.state = 'queued'
  g.line_since = place
  g.conflict = nil
  waits_no_more(g)
  stop_spending(claim, agent, g, at)
  g.queued_at = at
  g.holder = nil
  save_grant(claim, agent, g)
  stop_running(claim, agent)
  put_in_queue(claim, agent, place or at)
end

-- The name in the index claims:suspended of a claim that is blocked.
local function blocked_name(claim) return '+' .. claim end

-- Whether bids are all that a claim waits for, and each that is missing waits for a person, since a call of its
-- agent's model is withheld.
local function bids_withheld(claim)
  local c = call('HMGET', claim_key(claim), 'status', 'expected_bidders', 'ignored', 'withheld')
  if c[1] ~= 'pending_review' or not c[4] or c[3] == '*' then
    return false
  end
  local withheld, ignored = false, ' ' .. (c[3] or '') .. ' '
  for _, name in ipairs(decoded(c[2]) or {}) do
    if not call('HGET', bids_key(claim), name) and not string.find(ignored, ' ' .. name .. ' ', 1, true) then
      if not call('HGET', claim_key(claim), 'withheld:' .. name) then
        return false
      end
      withheld = true
    end
  end
  return withheld
end

-- Counts a claim as suspended or as blocked, or no longer, after its bids or grants changed. It is suspended where
-- one awaits an answer or waits for its model, and no other can be started, is running or failed, or where bids that wait
-- for a person are all that is left (blackboard.Snapshot.Suspended); it is blocked where one waits for a Conflict, and all
-- others are over (blackboard.Snapshot.Blocked). A claim with bids or grants that waited for a model has the field `withheld`.
local function weigh(claim, workflow)
  local suspended, blocked, acts = false, false, false
  for _, one in ipairs(grants_of(claim)) do
    local g = one.grant
    if g and g.state == 'queued' and g.conflict then
      blocked = true
    elseif g and waits_for_model(g) then
      suspended = true
    elseif not g or g.state == 'queued' or g.state == 'running' or g.state == 'failed' then
      suspended, blocked, acts = false, false, true
      break
    else
      suspended = suspended or g.state == 'awaiting_answer'
      acts = acts or g.phase == 'review' and g.verdict ~= 'approve' -- the orchestrator does, on feedback
    end
  end
  suspended = suspended or not acts and not blocked and bids_withheld(claim)
  blocked = blocked and not suspended
  if blocked and call('ZADD', suspended_claims_key, 0, blocked_name(claim)) == 1 then
    hold(workflow, 'blocked', 1)
  elseif not blocked and call('ZREM', suspended_claims_key, blocked_name(claim)) == 1 then
    hold(workflow, 'blocked', -1)
  end
  if suspended and call('ZADD', suspended_claims_key, 0, claim) == 1 then
    suspend(workflow, 1)
  elseif not suspended and call('ZREM', suspended_claims_key, claim) == 1 then
    suspend(workflow, -1)
  end
end

-- Queues a running grant that its agent cannot start before a Conflict is settled.
local function block_grant(claim, agent, g, conflict, at)
  stop_spending(claim, agent, g, at)
  g.state, g.conflict, g.attempt = 'queued', conflict, g.attempt + 1
  g.queued_at, g.holder = at, nil
  waits_no_more(g)
  save_grant(claim, agent, g)
  call('ZREM', agent_grants_key(agent), claim)
  stop_running(claim, agent)
end

-- Suspends a grant with a question.
local function ask(claim, agent, g, question, workflow, at)
  g.asked = g.asked or {}
  g.asked[#g.asked + 1] = question
  g.asked_in, g.asked_of = g.attempt, nil
  g.result_id = question
  call('ZADD', questions_key, at, question)
  call('HINCRBY', workflow_key(workflow), 'questions', 1)
  end_grant(claim, agent, g, 'awaiting_answer', at)
  weigh(claim, workflow)
end

-- Closes the question of a suspended grant.
local function close_question(claim, question)
  local workflow = call('HGET', claim_key(claim), 'workflow_id')
  if call('ZREM', questions_key, question or '') == 1 and workflow and not miscounted(workflow, 'questions') then
    call('HINCRBY', workflow_key(workflow), 'questions', -1)
  end
end

-- The grant that a question suspends: claim and agent, nil when it is no question. A
-- question that the orchestrator asked before a rework goes with the retries of the
-- rework.
local function asker_of(question)
  local q = call('HMGET', artifact_key(question), 'structural_type', 'claim_id', 'produced_by_agent')
  if q[1] ~= 'Question' then
    return nil
  end
  local claim, agent = q[2] or '', q[3] or ''
  if agent ~= '' then
    return claim, agent
  end
  local again = call('HGET', claim_key(claim), 'retried_as')
  while again do
    claim, again = again, call('HGET', claim_key(again), 'retried_as')
  end
  return claim, call('HGET', claim_key(claim), 'granted_exclusive_agent') or ''
end

-- Cancels the grants of a claim that have not ended and closes their questions. A cub
-- whose tool runs stops it when it hears of that.
local function cancel_grants(claim, at)
  local cancelled = {}
  for _, one in ipairs(grants_of(claim)) do
    local agent, g = one.agent, one.grant
    if not g then -- no agent can work on it, and its question is unknown
      call('ZREM', agent_grants_key(agent), claim)
      for _, question in ipairs(call('ZRANGE', questions_key, 0, -1)) do
        local of, by = asker_of(question)
        if of == claim and by == agent then
          close_question(claim, question)
        end
      end
    elseif g.state == 'queued' or g.state == 'running' or g.state == 'awaiting_answer' then
      if g.state == 'awaiting_answer' then
        close_question(claim, g.result_id)
      end
      end_grant(claim, agent, g, 'cancelled', at)
      publish(agent_events(agent), claim)
      cancelled[#cancelled + 1] = agent
    end
  end
  table.sort(cancelled)
  return cancelled
end
