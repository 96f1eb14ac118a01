-- Grants: their holders, their questions, their end. See _lib.lua.

-- Reads a grant; nil when there is none.
local function grant_of(claim, agent)
  local s = call('HGET', grants_key(claim), agent)
  return s and cjson.decode(s)
end

-- Writes a grant.
local function save_grant(claim, agent, g)
  call('HSET', grants_key(claim), agent, cjson.encode(g))
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

-- Notes in the index `running` since when a grant waits for the repository; nil: it does not.
local function mark_waiting(claim, agent, since)
  local r = decoded(call('HGET', running_key, run_field(claim, agent)) or '')
  if r then
    r.waits_since = since
    call('HSET', running_key, run_field(claim, agent), cjson.encode(r))
  end
end

-- Ends a grant in the given state. The caller accounts for the claim.
local function end_grant(claim, agent, g, state, at)
  g.state = state
  g.waits_since = nil
  g.ended_at = at
  stop_spending(claim, agent, g, at)
  save_grant(claim, agent, g)
  call('ZREM', agent_grants_key(agent), claim)
  stop_running(claim, agent)
end

-- Puts a grant in its agent's queue: a new one, or one that is to be run again.
local function queue_grant(claim, agent, g, at)
  g.state = 'queued'
  g.conflict = nil
  g.waits_since = nil
  stop_spending(claim, agent, g, at)
  g.queued_at = at
  g.holder = nil
  save_grant(claim, agent, g)
  stop_running(claim, agent)
  call('ZADD', agent_grants_key(agent), at, claim)
  call('PUBLISH', agent_events(agent), claim)
end

-- The name in the index claims:suspended of a claim that is blocked.
local function blocked_name(claim) return '+' .. claim end

-- Counts a claim as suspended or as blocked, or no longer, after its grants changed. It is suspended where
-- one awaits an answer, and none can be started, is running or failed (blackboard.Snapshot.Suspended); it
-- is blocked where one waits for a Conflict, and all others are over (blackboard.Snapshot.Blocked).
local function weigh(claim, workflow)
  local all, suspended, blocked = call('HGETALL', grants_key(claim)), false, false
  for i = 2, #all, 2 do
    local g = decoded(all[i])
    if g and g.state == 'queued' and g.conflict then
      blocked = true
    elseif not g or g.state == 'queued' or g.state == 'running' or g.state == 'failed' then
      suspended, blocked = false, false
      break
    else
      suspended = suspended or g.state == 'awaiting_answer'
    end
  end
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
  g.queued_at, g.holder, g.waits_since = at, nil, nil
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
  local claim, agent = q[2], q[3]
  if agent ~= '' then
    return claim, agent
  end
  local again = call('HGET', claim_key(claim), 'retried_as')
  while again do
    claim, again = again, call('HGET', claim_key(again), 'retried_as')
  end
  return claim, call('HGET', claim_key(claim), 'granted_exclusive_agent')
end

-- Cancels the grants of a claim that have not ended and closes their questions. A cub
-- whose tool runs stops it when it hears of that.
local function cancel_grants(claim, at)
  local all, cancelled = call('HGETALL', grants_key(claim)), {}
  for i = 1, #all, 2 do
    local agent, g = all[i], decoded(all[i + 1])
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
      call('PUBLISH', agent_events(agent), claim)
      cancelled[#cancelled + 1] = agent
    end
  end
  table.sort(cancelled)
  return cancelled
end
