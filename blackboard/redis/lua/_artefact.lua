-- Artefacts, their gates, and the counts of their workflow. See _lib.lua.

-- The reply to a move that stores an artefact under a taken id: 'already' for the same
-- artefact, 'refused' for another one. nil when the id is free.
local function stored(a, payload)
  local before = call('HMGET', artifact_key(a.id), 'claim_id', 'produced_by_agent', 'type')
  if not before[3] then
    return nil
  end
  if (before[1] or '') == a.claim and (before[2] or '') == a.agent and before[3] == a.type and
    call('HGET', artifact_key(a.id), 'payload') == payload then
    return { 'already' }
  end
  return { 'refused', 'there is another artefact of this id' }
end

-- Whether a text fits a pattern. The pattern is given as its parts between the
-- wildcards. The earliest fit of a part leaves most for the parts that follow.
-- blackboard.Match says the same.
local function fits(parts, text)
  local n, first, last = #parts, parts[1], parts[#parts]
  if n == 1 then
    return text == first
  end
  if string.sub(text, 1, #first) ~= first then
    return false
  end
  local at = #first + 1
  for i = 2, n - 1 do
    local from, to = string.find(text, parts[i], at, true)
    if not from then
      return false
    end
    at = to + 1
  end
  return #text - #last + 1 >= at and string.sub(text, #text - #last + 1) == last
end

-- Whether artefacts of this type wait for a person's approval. The patterns of
-- sett.yml are kept with the instance.
local function gated(kind)
  local types = call('HGET', instance_key, 'approve')
  for _, parts in ipairs(types and cjson.decode(types) or {}) do
    if fits(parts, kind) then
      return true
    end
  end
  return false
end

-- Counts work of a workflow that is held in some way. Nothing is no field.
local function hold(workflow, field, by)
  if call('HINCRBY', workflow_key(workflow), field, by) == 0 then
    call('HDEL', workflow_key(workflow), field)
  end
end

-- Counts work of a workflow that only people can take on.
local function suspend(workflow, by) hold(workflow, 'suspended', by) end

-- The fields, as names and values, that do not have their usual value, of names, values and usual values.
local function unusual(all)
  local fields, n = {}, 0
  for i = 1, #all, 3 do
    if all[i + 1] ~= all[i + 2] then
      fields[n + 1], fields[n + 2] = all[i], all[i + 1]
      n = n + 2
    end
  end
  return fields
end

-- The usual role: the agent's name, or that of people.
local function usual_role(agent) return agent ~= '' and agent or 'user' end

-- Puts an artefact in a thread behind its last version, which it returns one up. The first version is
-- not in the thread before there is a second one.
local function next_version(a)
  local key = thread_key(a.logical_id)
  local last = tonumber(call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2])
  if not last and call('EXISTS', artifact_key(a.logical_id)) == 1 then
    call('ZADD', key, 1, a.logical_id, 2, a.id)
    return 2
  end
  call('ZADD', key, (last or 0) + 1, a.id)
  return (last or 0) + 1
end

-- The latest version of a thread.
local function latest_of(thread)
  return call('ZREVRANGE', thread_key(thread), 0, 0)[1] or thread
end

-- How many artefacts of a workflow count towards the most that it may have: the Standard and Terminal ones. A goal
-- of an older Sett does not know how many `others` it had.
local function size_of(workflow)
  return call('LLEN', artefacts_by_workflow_key(workflow)) - (tonumber(call('HGET', workflow_key(workflow), 'others') or 0) or 0)
end

-- Whether more artefacts of a workflow count than a number. Most workflows have fewer of any kind.
local function has_more(workflow, most)
  return call('LLEN', artefacts_by_workflow_key(workflow)) > most and size_of(workflow) > most
end

-- Stores an artefact once and accounts for it. `a` is its description, decoded:
-- id logical_id structural_type type sources role agent claim workflow summary
-- metadata record, and commit where there is one. An id of another thread as logical_id takes the next version there.
-- Its claim is opened by the orchestrator, or by the caller: `opens`, see _course.lua. The caller may have
-- counted it as outstanding: `counted`. One with a claim that ends at once is not counted at all.
-- Returns the version, and 'held' when it waits for approval, else ''.
local function put_artefact(a, payload, at, opens, counted)
  local version = a.logical_id == a.id and 1 or next_version(a)
  call('HSET', artifact_key(a.id), 'type', a.type, 'payload', payload, 'workflow_id', a.workflow,
    'created_at', at, unpack(unusual({ 'produced_by_role', a.role, usual_role(a.agent), 'logical_id', a.logical_id, a.id, 'version', tostring(version), '1', 'structural_type',
      a.structural_type, 'Standard', 'source_artefacts', a.sources_json, '[]', 'produced_by_agent', a.agent, '', 'claim_id', a.claim, '',
      'summary', a.summary, '', 'metadata', a.metadata, '{}', 'commit', a.commit or '', '' })))
  for _, source in ipairs(a.sources) do
    call('ZADD', children_key(source), at, a.id)
  end
  -- An index that only grows is a list, in the order of time: a quarter of a sorted
  -- set's memory, and its end is found at once at any size.
  call('RPUSH', artefacts_key, a.id)
  call('RPUSH', artefacts_by_type_key(a.type), a.id)
  if a.agent ~= '' then
    call('RPUSH', artefacts_by_agent_key(a.agent), a.id)
  end
  call('RPUSH', artefacts_by_workflow_key(a.workflow), a.id)
  index_id(a.id)
  local workflow, gate = workflow_key(a.workflow), ''
  if a.structural_type ~= 'Standard' and a.structural_type ~= 'Terminal' then
    call('HINCRBY', workflow, 'others', 1)
  end
  if (a.structural_type == 'Standard' or a.structural_type == 'Terminal') and gated(a.type) then
    gate = 'held'
    call('ZADD', gates_key, at, a.id)
    if not counted then
      call('HINCRBY', workflow, 'outstanding', 1)
    end
    call('HINCRBY', workflow, 'gates', 1)
    suspend(a.workflow, 1)
  elseif a.structural_type == 'Standard' then
    if not counted and opens and opens.passes then
      opens.uncounted = true
    elseif not counted then
      call('HINCRBY', workflow, 'outstanding', 1)
    end
    if not opens then
      call('ZADD', unclaimed_key, at, a.id)
      publish(orchestrator_events, '+' .. a.id)
    end
  elseif a.structural_type == 'Terminal' then
    call('HINCRBY', workflow, 'terminals', 1)
    call('HSET', workflow, 'terminal_id', a.id)
  elseif a.structural_type == 'Failure' then
    call('HINCRBY', workflow, 'failures', 1)
    call('HSET', workflow, 'failure_id', a.id)
    if a.claim ~= '' then
      call('HINCRBY', claim_key(a.claim), 'failures', 1)
    end
  end
  publish(artefact_events, a.id)
  stored_record = a.record
  return version, gate
end

-- The word of the retry of a Failure that belongs to no claim; nil: it was not tried again. A workflow has these
-- as FAILURE=WORD, with spaces between.
local function retried_word(workflow, failure)
  return string.match(' ' .. (call('HGET', workflow_key(workflow), 'retried') or ''), ' ' .. failure .. '=(%S+)')
end

-- Whether an artefact is a Failure that was not tried again.
local function is_failure(id, workflow)
  local a = call('HMGET', artifact_key(id), 'structural_type', 'claim_id')
  if a[1] ~= 'Failure' then
    return false
  elseif a[2] and a[2] ~= '' then
    return not call('HGET', claim_key(a[2]), 'retried_as')
  end
  return not retried_word(workflow, id)
end

-- Has a workflow go on after some of its Failures were tried again, which no longer count: the latest of the others
-- is its Failure now. It was posted then.
local function go_on(workflow, failures, posted)
  local w = workflow_key(workflow)
  if call('HINCRBY', w, 'failures', -failures) <= 0 then
    call('HDEL', w, 'failure_id')
  else
    local ids = call('LRANGE', artefacts_by_workflow_key(workflow), 0, -1)
    for i = #ids, 1, -1 do
      if is_failure(ids[i], workflow) then
        call('HSET', w, 'failure_id', ids[i])
        break
      end
    end
  end
  call('HSET', w, 'status', 'active')
  call('HDEL', w, 'ended_at')
  call('ZADD', active_workflows_key, posted, workflow)
end

-- The reply to a move that would bring a count of a workflow below zero, before it
-- writes: half of a transaction was replayed. The caller counts anew (recount.lua)
-- and repeats the move. nil when the count suffices, or the workflow is lost.
local function miscounted(workflow, field)
  local w = call('HMGET', workflow_key(workflow or ''), 'status', field)
  if w[1] and (tonumber(w[2] or 0) or 0) < 1 then
    return { 'miscounted', workflow }
  end
end

-- Whether the landing of a goal is open, and waits for people alone.
local function barred(workflow)
  return call('ZSCORE', landings_key, workflow) and (decoded(call('HGET', workflow_key(workflow), 'landing')) or {}).people
end

-- Ends a workflow without work outstanding (`left`, which it writes). Returns its status. Where sett.yml has `land`, an
-- achieved one that has not landed goes on: '' then, and its landing is outstanding.
local function end_workflow(workflow, at, left, landed)
  local key = workflow_key(workflow)
  local counts = call('HMGET', key, 'failures', 'terminals')
  local status = 'stalled'
  if tonumber(counts[1] or 0) > 0 then
    status = 'failed'
  elseif tonumber(counts[2] or 0) > 0 then
    status = 'achieved'
  end
  if status == 'achieved' and not landed and (call('HGET', instance_key, 'land') or '') ~= '' then
    call('ZADD', landings_key, at, workflow)
    call('HSET', key, 'landing', '{"state":"queued"}', 'landing_since', at, 'outstanding', left + 1)
    publish(orchestrator_events, '')
    return ''
  end
  call('HSET', key, 'status', status, 'ended_at', at, 'outstanding', left)
  call('ZREM', active_workflows_key, workflow)
  return status
end

-- Counts one piece of work of a workflow as over, which may be `uncounted` (see put_artefact).
-- At zero the workflow ends; returns its status then, else ''.
local function settle(workflow, at, uncounted)
  local w = call('HMGET', workflow_key(workflow), 'outstanding', 'landing', 'conflicts')
  local left = (tonumber(w[1] or 0) or 0) - (uncounted and 0 or 1)
  if left <= 0 then
    return end_workflow(workflow, at, left)
  end
  if not uncounted then
    call('HSET', workflow_key(workflow), 'outstanding', left)
  end
  if left == 1 and w[2] or w[3] then -- a verification may be over, or a conflict settled
    publish(orchestrator_events, '')
  end
  return ''
end

-- Says in the entry of a move whether from here only people can take its workflow
-- on: all work outstanding is suspended. A landing that is being verified waits for the rest,
-- and so do claims that are blocked by a Conflict. blackboard.OnlyPeople says the same. Says `turn`
-- where its turn to land is all that is left, as blackboard.WaitsForTurn does.
local function waits_for(workflow)
  local w = call('HMGET', workflow_key(workflow), 'outstanding', 'suspended', 'landing', 'blocked')
  local outstanding, suspended = (tonumber(w[1] or 0) or 0) - (tonumber(w[4] or 0) or 0), tonumber(w[2] or 0) or 0
  local verifying = w[3] and string.find(w[3], '"state":"verifying"', 1, true)
  if w[1] == '1' and (verifying or w[3] and string.find(w[3], '"state":"queued"', 1, true)) then
    return 'turn'
  end
  if verifying then
    outstanding = outstanding - 1
  end
  return outstanding > 0 and suspended == outstanding and 'people' or ''
end

-- Takes an artefact out of those that wait for approval, with the Review that
-- decides about it. Returns nil, or the reply to give instead: 'already' for the same
-- decision of the same person again, 'refused' for another one.
local function decide_gate(id, review, payload, at)
  local before = call('HMGET', artifact_key(review.id), 'metadata', 'payload', 'type')
  if before[3] then
    if before[1] == review.metadata and before[2] == payload then
      return { 'already' }
    end
    local how = before[2] == '{}' and 'approved' or 'rejected'
    return { 'refused', 'it was ' .. how .. ' by ' .. tostring(cjson.decode(before[1]).by) }
  end
  local workflow = call('HGET', artifact_key(id), 'workflow_id')
  if not workflow then
    return { 'refused', 'it is lost' }
  end
  if not call('ZSCORE', gates_key, id) then
    if call('HGET', workflow_key(workflow), 'cancelled') then
      return { 'refused', 'its goal was cancelled' }
    end
    return { 'refused', 'it does not wait for approval' }
  end
  local off = miscounted(workflow, 'gates') or miscounted(workflow, 'outstanding')
  if off then
    return off
  end
  call('ZREM', gates_key, id)
  call('HINCRBY', workflow_key(workflow), 'gates', -1)
  suspend(workflow, -1)
  put_artefact(review, payload, at)
end
